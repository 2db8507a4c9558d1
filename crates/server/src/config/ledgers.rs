//! `[ledgers.<name>]`: the place of each ledger, and for a remote one its address, contract and timeouts.

use super::address::Address;
use super::secret::Secret;
use super::section::{Setting, SettingKey, SettingRules, Shape, section};
use kernel::ids::{LedgerId, Millis};
use ledgers::remote;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Where a ledger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerKind {
    /// In the journal's own store.
    Embedded,
    /// A core in this process, in the data folder.
    InProcess,
    /// At the other end of a network.
    Remote,
}

impl Setting for LedgerKind {
    const KIND: &'static str = "`embedded` (funding), `in_process` (spot) or `remote`";
    const SHAPE: Shape = Shape::Text;
}

/// Which contract a remote ledger keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerForm {
    /// Identity, numbers, fences, listing, totals.
    Full,
    /// One operation at a time, and a query.
    Simple,
}

impl Setting for LedgerForm {
    const KIND: &'static str = "`full` or `simple`";
    const SHAPE: Shape = Shape::Text;
}

section! {
    /// Where one ledger is, and how it is called.
    Ledger {
        /// Where it is. Not set: funding is `embedded`, spot `in_process`, the others are no account types.
        kind: Option<LedgerKind> = None,
        /// Where the routes of a remote ledger begin.
        url: Address = Address::default(),
        /// The bearer token for it.
        token: Secret = Secret::default(),
        /// `full`, or `simple` for a service that proves nothing: a standing case says so.
        form: LedgerForm = LedgerForm::Full,
        /// The words by which a ledger of the simple form refuses for ever, beside the source's codes: it must say
        /// them only of operations that it refused and stored.
        refusals: Vec<String> = Vec::new(),
        /// The symbols of the assets that it holds; empty: all. A transfer of another asset is refused before it is
        /// opened. A ledger of the full form may name them, with their decimals, in its answer to `GET /hello`.
        assets: Vec<String> = Vec::new(),
        /// How long one request may take, its answer included; then the outcome is unknown.
        timeout_ms: u64 = 2_000,
        /// How long a connection to it may take to stand.
        connect_timeout_ms: u64 = 1_000,
        /// Maximum number of requests to it at once; the others wait.
        max_in_flight: usize = 32,
        /// The most operations of one request.
        batch: usize = 1_000,
        /// It can give back what it withdrew. Where not, a refusal at the target waits for a person.
        reversible: bool = true,
    }
}

/// The ledgers by name, each an account type.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ledgers(BTreeMap<String, Ledger>);

fn named(id: LedgerId) -> String {
    id.name().to_lowercase()
}

impl Default for Ledgers {
    fn default() -> Self {
        Self(LedgerId::of_users().map(|id| (named(id), Ledger::default())).collect())
    }
}

impl Setting for Ledgers {
    const KIND: &'static str = <BTreeMap<String, Ledger> as Setting>::KIND;
    const SHAPE: Shape = <BTreeMap<String, Ledger> as Setting>::SHAPE;
    const KEYS: &'static [SettingKey] = <BTreeMap<String, Ledger> as Setting>::KEYS;
    const NAMED: bool = true;
}

impl Ledger {
    /// How it is reached, where it is remote.
    pub fn reached(&self) -> remote::Settings {
        remote::Settings {
            url: self.url.to_string(),
            token: remote::Token(self.token.reveal().to_owned()),
            timeout_ms: self.timeout_ms,
            connect_timeout_ms: self.connect_timeout_ms,
            max_in_flight: self.max_in_flight,
            batch: self.batch,
        }
    }

    fn rules(&self, id: LedgerId, rules: &mut SettingRules, lease_ms: Millis) {
        let name = named(id);
        let key = |key: &str| format!("ledgers.{name}.{key}");
        let fits = match self.kind {
            None => true,
            Some(LedgerKind::Remote) => id != LedgerId::FUNDING,
            Some(LedgerKind::Embedded) => id == LedgerId::FUNDING,
            Some(LedgerKind::InProcess) => id == LedgerId::SPOT,
        };
        let may = match id {
            LedgerId::FUNDING => "`embedded` or not set: it lives in the journal's own store",
            LedgerId::SPOT => "`in_process`, `remote` or not set",
            _ => "`remote`, or not set: then it is no account type",
        };
        rules.need(key("kind"), fits, may);
        if self.kind != Some(LedgerKind::Remote) || !fits {
            let only = format!("only for a remote ledger: ledgers.{name}.kind is not `remote`");
            rules.need(key("url"), self.url.is_empty() || !fits, &only);
            rules.need(key("token"), self.token.is_empty() || !fits, &only);
            rules.need(key("form"), self.form == LedgerForm::Full || !fits, &only);
            rules.need(key("refusals"), self.refusals.is_empty() || !fits, &only);
            rules.need(key("assets"), self.assets.is_empty() || !fits, &only);
            return;
        }
        if let Err(why) = remote::address(&self.url) {
            rules.need(key("url"), false, &why.to_string());
        }
        let simple = self.form == LedgerForm::Simple;
        rules.need(
            key("refusals"),
            simple || self.refusals.is_empty(),
            "only for the simple form: in the full form each refusal has a number",
        );
        rules.need(
            key("refusals"),
            self.refusals.iter().all(|words| remote::may_refuse(words)),
            "each from 1 to 256 bytes, without control characters",
        );
        let graphic = self.token.reveal().bytes().all(|byte| byte.is_ascii_graphic());
        rules.need(key("token"), graphic, "visible ASCII characters");
        rules.need(key("timeout_ms"), (10..=60_000).contains(&self.timeout_ms), "from 10 to 60000");
        rules.need(
            key("connect_timeout_ms"),
            (1..=self.timeout_ms).contains(&self.connect_timeout_ms),
            &format!("above 0 and not above ledgers.{name}.timeout_ms"),
        );
        rules.need(
            key("connect_timeout_ms"),
            self.connect_timeout_ms.saturating_add(self.timeout_ms / 2) < lease_ms,
            &format!(
                "with half of ledgers.{name}.timeout_ms below engine.lease_seconds: what waits longer for its \
                 connection may not be sent any more"
            ),
        );
        rules.need(
            key("max_in_flight"),
            (1..=1_024).contains(&self.max_in_flight),
            "from 1 to 1024",
        );
        rules.need(key("batch"), (1..=10_000).contains(&self.batch), "from 1 to 10000");
    }
}

impl Ledgers {
    /// Those of which anything is set, by number.
    fn all(&self) -> impl Iterator<Item = (LedgerId, &Ledger)> {
        LedgerId::of_users().filter_map(|id| Some((id, self.0.get(&named(id))?)))
    }

    /// Those at the other end of a network, by number.
    pub fn remote(&self) -> impl Iterator<Item = (LedgerId, &Ledger)> {
        self.all().filter(|(_, ledger)| ledger.kind == Some(LedgerKind::Remote))
    }

    /// Spot's core runs in this process, on the data folder.
    pub fn has_own_spot(&self) -> bool {
        self.remote().all(|(id, _)| id != LedgerId::SPOT)
    }

    /// The symbols of the assets that each holds, where its settings name some.
    pub fn assets(&self) -> BTreeMap<LedgerId, BTreeSet<String>> {
        let named = self.all().filter(|(_, ledger)| !ledger.assets.is_empty());
        named.map(|(id, ledger)| (id, ledger.assets.iter().cloned().collect())).collect()
    }

    /// Those that cannot give back what they withdrew.
    pub fn irreversible(&self) -> Vec<LedgerId> {
        self.all().filter(|(_, ledger)| !ledger.reversible).map(|(id, _)| id).collect()
    }

    /// One more at the other end of a network, for tests.
    #[must_use]
    pub fn with(mut self, id: LedgerId, ledger: Ledger) -> Self {
        self.0.insert(named(id), ledger);
        self
    }

    /// `lease_ms`: how long others take this process for alive without a word of it.
    pub(super) fn rules(&self, rules: &mut SettingRules, lease_ms: Millis) {
        for name in self.0.keys() {
            let known = LedgerId::of_users().any(|id| named(id) == *name);
            let names = "no such ledger; there may be funding, spot, future, margin";
            rules.need(format!("ledgers.{name}"), known, names);
        }
        for (id, ledger) in self.all() {
            ledger.rules(id, rules, lease_ms);
        }
        let plain = |url: &str| url.trim_end_matches('/').to_owned();
        let mut seen: Vec<(String, LedgerId)> = Vec::new();
        for (id, ledger) in self.remote() {
            let url = plain(&ledger.url);
            if let Some((_, other)) = seen.iter().find(|(known, _)| *known == url) {
                rules.need(
                    format!("ledgers.{}.url", named(id)),
                    false,
                    &format!("one ledger is one account type: {} is there already", other.name()),
                );
            }
            seen.push((url, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledger, LedgerForm, LedgerKind, Ledgers, SettingRules};
    use kernel::ids::LedgerId;

    fn broken(ledgers: &Ledgers) -> Vec<String> {
        let mut rules = SettingRules::default();
        ledgers.rules(&mut rules, 60_000);
        rules.broken().into_iter().map(|broken| broken.key).collect()
    }

    fn remote(url: &str) -> Ledger {
        Ledger { kind: Some(LedgerKind::Remote), url: url.into(), ..Ledger::default() }
    }

    #[test]
    fn what_fits_together() {
        let all = Ledgers::default();
        assert_eq!(broken(&all), [""; 0]);
        let two = all.with(LedgerId::FUTURE, remote("https://a.example/future")).with(
            LedgerId::MARGIN,
            Ledger { form: LedgerForm::Simple, ..remote("http://127.0.0.1:1") },
        );
        assert_eq!(broken(&two), [""; 0]);
        let ids: Vec<_> = two.remote().map(|(id, _)| id).collect();
        assert_eq!(ids, [LedgerId::FUTURE, LedgerId::MARGIN]);
    }

    #[test]
    fn what_does_not() {
        let with = |id, ledger| broken(&Ledgers::default().with(id, ledger));
        let of = |kind| Ledger { kind: Some(kind), ..Ledger::default() };
        assert_eq!(with(LedgerId::FUNDING, remote("http://x")), ["ledgers.funding.kind"]);
        assert_eq!(with(LedgerId::FUTURE, of(LedgerKind::InProcess)), ["ledgers.future.kind"]);
        assert_eq!(with(LedgerId::SPOT, of(LedgerKind::Embedded)), ["ledgers.spot.kind"]);
        assert_eq!(with(LedgerId::SPOT, of(LedgerKind::Remote)), ["ledgers.spot.url"]);
        let address = Ledger { kind: None, ..remote("http://x") };
        assert_eq!(with(LedgerId::MARGIN, address), ["ledgers.margin.url"]);
        let hasty = Ledger { timeout_ms: 20, connect_timeout_ms: 21, ..remote("http://x") };
        assert_eq!(with(LedgerId::SPOT, hasty), ["ledgers.spot.connect_timeout_ms"]);
        let slow = Ledger { timeout_ms: 60_000, connect_timeout_ms: 30_000, ..remote("http://x") };
        assert_eq!(with(LedgerId::SPOT, slow), ["ledgers.spot.connect_timeout_ms"]);
        let none = Ledger { max_in_flight: 0, batch: 0, ..remote("http://x") };
        assert_eq!(
            with(LedgerId::SPOT, none),
            ["ledgers.spot.max_in_flight", "ledgers.spot.batch"]
        );
        let twice = Ledgers::default()
            .with(LedgerId::FUTURE, remote("http://x/a"))
            .with(LedgerId::MARGIN, remote("http://x/a/"));
        assert_eq!(broken(&twice), ["ledgers.margin.url"]);
    }
}
