//! Stores in the journal how far the proof has come, so that a start or a resume does not look at every
//! transfer, or add up every row, before it says anything.
//!
//! A stored proof is believed where the key of the audit's seals made its MAC. Anything else proves
//! nothing: then a proof begins with the first transfer and counts all rows itself. Someone may change a
//! row behind the stored proof: the window comes by every row, and the background task counts all of them
//! after each start and resume.

use crate::reconciliation::lines::Lines;
use crate::reconciliation::operation_matcher::OperationMatcher;
use crate::reconciliation::running::{Counted, Counts, Running};
use crate::reconciliation::{Checker, lesser};
use kernel::audit::seal::SealKey;
use kernel::audit::{hex, unhex};
use kernel::ids::{AssetId, LedgerId};
use kernel::operation::Identity;
use kernel::ports::journal::Sums;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The name of the resource that stores the proof, for which the MAC is made.
pub const PROVEN: &str = "proven";

/// The version of the text's format.
const VERSION: u64 = 2;

/// How far a proof has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Proven {
    /// Every transfer up to this number has ended and was in order.
    transfers: u64,
    /// The identity of each remote ledger, and the number up to which all its operations were matched.
    ledgers: BTreeMap<LedgerId, (Identity, u64)>,
    /// The sums of all rows at the last count; `None` where something was not in order since.
    counts: Option<Counts>,
}

impl Proven {
    /// The stored text: the MAC, a space, and the document that it covers.
    pub(crate) fn text(&self, key: &SealKey) -> String {
        let ledger = |(ledger, (identity, operations)): (&LedgerId, &(Identity, u64))| {
            let identity = format!("{:032x}", identity.0);
            json!({ "ledger": ledger.0, "identity": identity, "operations": operations })
        };
        let ledgers: Vec<Value> = self.ledgers.iter().map(ledger).collect();
        let counted = |((ledger, asset), counted): (&(LedgerId, AssetId), &Counted)| {
            let (rows, running) = (sums_text(&counted.rows), sums_text(&counted.running));
            json!({ "ledger": ledger.0, "asset": asset.0, "rows": rows, "running": running })
        };
        let counts = self.counts.as_ref();
        let counts: Option<Vec<Value>> = counts.map(|all| all.iter().map(counted).collect());
        let (version, transfers) = (VERSION, self.transfers);
        let body = json!({
            "version": version, "transfers": transfers, "ledgers": ledgers, "counts": counts,
        });
        let body = body.to_string();
        format!("{} {body}", hex(&key.certify(PROVEN, &body)))
    }

    /// Reads the stored text; nothing is proven where its MAC or its format is not ours.
    pub(crate) fn read(text: Option<&str>, key: &SealKey) -> Self {
        let Some(text) = text else { return Self::default() };
        let own = |(mac, body): (&str, &str)| {
            let mac = unhex(mac)?;
            key.certifies(PROVEN, body, &mac).then(|| Self::parsed(body))?
        };
        text.split_once(' ').and_then(own).unwrap_or_else(|| {
            tracing::error!(
                "how far conservation was proven is stored in a form, or with a MAC, that is not ours: \
                 it is not believed, and every transfer and every row is proven anew. Every process of \
                 one database needs the same audit.mac_secret"
            );
            Self::default()
        })
    }

    fn parsed(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        if number(&value, "version")? != VERSION {
            return None;
        }
        let ledger = |value: &Value| {
            let identity = value.get("identity")?.as_str()?;
            let identity = Identity(u128::from_str_radix(identity, 16).ok()?);
            let ledger = LedgerId(u8::try_from(number(value, "ledger")?).ok()?);
            Some((ledger, (identity, number(value, "operations")?)))
        };
        let ledgers = value.get("ledgers")?.as_array()?.iter().map(ledger);
        let counted = |value: &Value| {
            let ledger = LedgerId(u8::try_from(number(value, "ledger")?).ok()?);
            let asset = AssetId(u32::try_from(number(value, "asset")?).ok()?);
            let (rows, running) = (sums(value.get("rows")?)?, sums(value.get("running")?)?);
            Some(((ledger, asset), Counted { rows, running }))
        };
        let counts = value.get("counts")?;
        let counts = match counts.as_array() {
            Some(all) => Some(all.iter().map(counted).collect::<Option<_>>()?),
            None if counts.is_null() => None,
            None => return None,
        };
        Some(Self {
            transfers: number(&value, "transfers")?,
            ledgers: ledgers.collect::<Option<_>>()?,
            counts,
        })
    }

    /// The same proof without the count of all rows: the next proof counts them itself.
    pub(crate) fn uncounted(self) -> Self {
        Self { counts: None, ..self }
    }

    /// The same proof without remote ledgers and without the count of all rows: the next proof lists all
    /// operations.
    pub(crate) fn relisted(self) -> Self {
        Self { ledgers: BTreeMap::new(), ..self.uncounted() }
    }

    /// Whether a write is worth it where another proof is stored: it spares a start that many transfers, or
    /// their count.
    pub(crate) fn worth_storing(&self, stored: &Self, by: u64) -> bool {
        let counted = self.counts.is_some() && self.counts != stored.counts;
        self.transfers >= by && counted || self.exceeds(stored, by)
    }

    /// True where it has come that many transfers further than another one.
    pub(crate) const fn exceeds(&self, other: &Self, by: u64) -> bool {
        self.transfers >= other.transfers.saturating_add(by)
    }

    /// The part that both have proven.
    pub(crate) fn least(&self, other: &Self) -> Self {
        let both = |(ledger, (identity, operations)): (&LedgerId, &(Identity, u64))| {
            let (theirs, upto) = other.ledgers.get(ledger)?;
            (theirs == identity).then(|| (*ledger, (*identity, lesser(*operations, *upto))))
        };
        let transfers = lesser(self.transfers, other.transfers);
        let ledgers = self.ledgers.iter().filter_map(both).collect();
        // where one of them knows of a break, none of them counts
        let counts = other.counts.as_ref().and_then(|_| self.counts.clone());
        Self { transfers, ledgers, counts }
    }
}

fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name)?.as_u64()
}

/// Writes amounts as texts: JSON has no such large numbers.
fn sums_text(sums: &Sums) -> Value {
    let Sums { withdraw, deposit, settle, refund, external, count } = sums;
    let amounts = [withdraw, deposit, settle, refund, external].map(ToString::to_string);
    json!({ "amounts": amounts, "count": count })
}

fn sums(value: &Value) -> Option<Sums> {
    let amount = |value: &Value| value.as_str()?.parse::<i128>().ok();
    let amounts = value.get("amounts")?.as_array()?.iter().map(amount);
    let amounts: Vec<i128> = amounts.collect::<Option<_>>()?;
    let [withdraw, deposit, settle, refund, external] = amounts.try_into().ok()?;
    let count = number(value, "count")?;
    Some(Sums { withdraw, deposit, settle, refund, external, count })
}

impl Checker {
    /// How far the checker has come.
    pub(crate) fn proven(&self) -> Proven {
        let of =
            |(ledger, outside): (&LedgerId, &OperationMatcher)| Some((*ledger, outside.proven()?));
        let ledgers = self.outside.iter().filter_map(of).collect();
        let counts = self.running.counts().cloned();
        Proven { transfers: self.lines.proven(), ledgers, counts }
    }

    /// A checker that goes on from there.
    pub(crate) fn behind(proven: Proven) -> Self {
        let of = |(ledger, (identity, upto))| (ledger, OperationMatcher::behind(identity, upto));
        let outside = proven.ledgers.clone().into_iter().map(of).collect();
        let stored = (None, proven.clone());
        let lines = Lines::behind(proven.transfers);
        let running = Running::behind(proven.counts);
        Self { lines, outside, running, stored, ..Self::default() }
    }

    /// Forgets what was not in order, after persons accepted it: a later proof need not begin there.
    pub(crate) fn forgive(&mut self) {
        self.lines.forgive();
        self.outside.values_mut().for_each(OperationMatcher::forgive);
    }
}

#[cfg(test)]
mod tests {
    use super::{Checker, Counted, Proven};
    use kernel::audit::seal::SealKey;
    use kernel::ids::{AssetId, LedgerId};
    use kernel::operation::Identity;
    use kernel::ports::journal::Sums;

    fn proven(transfers: u64, identity: u128, operations: u64) -> Proven {
        let running = Sums { deposit: i128::MAX, external: -7, count: 3, ..Sums::default() };
        let counted = Counted { rows: Sums { deposit: 5, ..running }, running };
        let counts = Some([((LedgerId::SPOT, AssetId(3)), counted)].into());
        let ledgers = [(LedgerId::SPOT, (Identity(identity), operations))].into();
        Proven { transfers, ledgers, counts }
    }

    /// Turns red where a cursor whose MAC is wrong is believed.
    #[test]
    fn what_is_stored_is_read_and_any_other_text_proves_nothing() {
        let key = SealKey::new(b"ours");
        let one = proven(7, 0xab, 12);
        assert_eq!(Proven::read(Some(&one.text(&key)), &key), one);
        let uncounted = one.clone().uncounted();
        assert_eq!(Proven::read(Some(&uncounted.text(&key)), &key), uncounted);
        let text = one.text(&key);
        let (mac, body) = text.split_once(' ').expect("a MAC and what it is of");
        let changed = text.replace("\"transfers\":7", "\"transfers\":8");
        let of_another = one.text(&SealKey::new(b"another"));
        for text in ["", "{}", body, mac, &format!("{mac} "), &changed, &of_another] {
            assert_eq!(Proven::read(Some(text), &key), Proven::default(), "{text:?}");
        }
        let older = body.replace("\"version\":2", "\"version\":1");
        let mac = kernel::audit::hex(&key.certify(super::PROVEN, &older));
        assert_eq!(Proven::read(Some(&format!("{mac} {older}")), &key), Proven::default());
        assert_eq!(Proven::read(None, &key), Proven::default());
        assert_eq!(Checker::default().proven(), Proven::default());
    }

    #[test]
    fn what_two_have_proven_is_the_least_of_the_same_ledger() {
        assert_eq!(proven(7, 1, 12).least(&proven(9, 1, 5)), proven(7, 1, 5));
        let (transfers, ledgers) = (7, Default::default());
        let counts = proven(7, 1, 12).counts;
        assert_eq!(proven(7, 1, 12).least(&proven(9, 2, 5)), Proven { transfers, ledgers, counts });
        let broken = proven(9, 1, 5).uncounted();
        assert_eq!(proven(7, 1, 12).least(&broken), proven(7, 1, 5).uncounted());
        assert_eq!(broken.least(&proven(7, 1, 12)), proven(7, 1, 5).uncounted());
    }
}
