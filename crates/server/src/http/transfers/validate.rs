//! Validates a create in memory (steps 4 to 6 of the order of checks), and compares it with the request that its
//! key is bound to.

use super::create::RequestedTransfer;
use crate::http::middleware::error::Refusal;
use crate::http::{App, format, name_errors};
use api::transfers::CreateTransfer;
use kernel::code::Code;
use kernel::ids::{FlowId, LedgerId, UserId};
use kernel::money::{Amount, Asset};
use kernel::owner::TransferOwner;
use kernel::record::{Binding, Party, Record, Terms};
use std::sync::Arc;

/// How a request spells account types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountNames {
    /// `FUNDING`, `SPOT`, `FUTURE`, `MARGIN`.
    Plain,
    /// The v2 source's: `funding`, `trading`; `future` and `margin` after their manner.
    V2,
}

impl AccountNames {
    const SPELT: [(LedgerId, &'static str); 4] = [
        (LedgerId::FUNDING, "funding"),
        (LedgerId::SPOT, "trading"),
        (LedgerId::FUTURE, "future"),
        (LedgerId::MARGIN, "margin"),
    ];

    /// Every account type that there is, with its name.
    pub fn all(self) -> impl Iterator<Item = (LedgerId, &'static str)> {
        Self::SPELT.into_iter().map(move |(ledger, v2)| match self {
            Self::Plain => (ledger, ledger.name()),
            Self::V2 => (ledger, v2),
        })
    }

    /// The ledger of that name.
    pub fn ledger(self, name: &str) -> Option<LedgerId> {
        match self {
            Self::Plain => LedgerId::parse(name).filter(|ledger| ledger.is_of_users()),
            Self::V2 => {
                Self::SPELT.into_iter().find(|(_, v2)| *v2 == name).map(|(ledger, _)| ledger)
            }
        }
    }

    /// The name of one end of a transfer.
    pub fn of(self, party: &Party) -> &'static str {
        let v2 = Self::SPELT.into_iter().find(|(ledger, _)| format::is_at(party, *ledger));
        match (self, v2) {
            (Self::V2, Some((_, name))) => name,
            (Self::V2, None) | (Self::Plain, _) => format::account(party),
        }
    }
}

/// A well-formed create of an internal transfer.
#[derive(Debug)]
pub struct TransferRequest {
    /// The principal who asks: `issuer|sub`.
    pub principal: Arc<str>,
    /// The user whose money moves.
    pub user: UserId,
    /// The client's key; `None` where the request names none.
    pub key: Option<Arc<str>>,
    /// How the body spells account types.
    pub names: AccountNames,
    pub body: CreateTransfer,
}

impl RequestedTransfer for TransferRequest {
    fn flow(&self, app: &App) -> FlowId {
        app.internal
    }

    fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    fn owner(&self) -> TransferOwner {
        self.user.into()
    }

    fn key_name(&self) -> &'static str {
        "cid"
    }

    fn key(&self) -> Option<&Arc<str>> {
        self.key.as_ref()
    }

    fn refusal(&self, app: &App, code: Code) -> Refusal {
        let Some(asset) = app.engine.asset(&self.body.asset) else {
            return name_errors::refusal(app, self.names, code);
        };
        if [Code::InvalidAccountType, Code::UnsupportedAccountType].contains(&code) {
            return name_errors::refusal(app, self.names, code);
        }
        let lacks = |name: &&String| {
            let ledger = self.names.ledger(name);
            ledger.is_some_and(|ledger| !app.engine.checks.holds(ledger, &asset))
        };
        if code == Code::TransferNotAllowed
            && let Some(name) = [&self.body.from, &self.body.to].into_iter().find(lacks)
        {
            let symbol = &asset.symbol;
            let sentence =
                format!("{name} does not hold {symbol}, or counts it with other decimals");
            return Refusal::because(code, sentence);
        }
        name_errors::of_asset(&asset, code)
    }

    fn terms(&self, app: &App) -> Result<Terms, Code> {
        taken_in(app, app.internal)?;
        let body = &self.body;
        let (source, target) = self.ends(app)?;
        let asset = app.engine.asset(&body.asset).ok_or(Code::InvalidAsset)?;
        if [source, target].iter().any(|ledger| !app.engine.checks.holds(*ledger, &asset)) {
            return Err(Code::TransferNotAllowed);
        }
        let amount = validated_amount(&asset, &body.amount)?;
        let principal = Arc::clone(&self.principal);
        let ends = [source, target];
        let plain = Terms::between_ledgers(principal, self.user, ends, asset.id, amount);
        let (reference, metadata) = (body.reference.clone(), body.metadata.clone());
        // none is the same as an empty one
        let metadata = metadata.unwrap_or_default();
        let mut terms = Terms { reference, metadata, ..plain };
        terms.binding = self.key.clone().map(|key| Binding {
            scope: Arc::clone(&self.principal),
            key,
            fingerprint: terms.fingerprint(),
        });
        Ok(terms)
    }

    fn mismatched(&self, app: &App, bound: &Record) -> Vec<String> {
        let (body, terms) = (&self.body, &bound.terms);
        let at = |party, name: &str| {
            self.names.ledger(name).is_some_and(|ledger| format::is_at(party, ledger))
        };
        let (symbol, precision) = format::asset(&app.engine.assets(), terms.source.asset);
        let amount = plain(&terms.source.amount.decimal(precision));
        let same = [
            ("user_id", terms.owner.user() == Some(self.user)),
            ("from", at(&terms.source, &body.from)),
            ("to", at(&terms.target, &body.to)),
            ("asset", symbol == body.asset),
            ("amount", amount.is_some() && amount == plain(&body.amount)),
            ("reference", terms.reference == body.reference),
            ("metadata", terms.metadata == body.metadata.clone().unwrap_or_default()),
        ];
        let differs = same.into_iter().filter(|(_, same)| !same);
        differs.map(|(name, _)| name.to_owned()).collect()
    }
}

impl TransferRequest {
    /// Step 4: not the same, valid, configured.
    fn ends(&self, app: &App) -> Result<(LedgerId, LedgerId), Code> {
        let CreateTransfer { from, to, .. } = &self.body;
        if from == to {
            return Err(Code::SameAccount);
        }
        let valid = |name| self.names.ledger(name).ok_or(Code::InvalidAccountType);
        let (source, target) = (valid(from)?, valid(to)?);
        for ledger in [source, target] {
            if app.engine.ledger(ledger).is_none() {
                return Err(Code::UnsupportedAccountType);
            }
        }
        Ok((source, target))
    }
}

/// That transfers of a flow are taken in.
///
/// # Errors
/// `HALTED` or `OVERLOADED`.
pub(crate) fn taken_in(app: &App, flow: FlowId) -> Result<(), Code> {
    match app.engine.checks.shut(flow) {
        Some(code) => Err(code),
        None if app.draining() => Err(Code::Overloaded),
        None => Ok(()),
    }
}

/// Steps 5 and 6.
pub(crate) fn validated_amount(asset: &Asset, text: &str) -> Result<Amount, Code> {
    asset.usable()?;
    let amount = asset.amount(text)?;
    asset.limits(amount)?;
    Ok(amount)
}

/// A plain decimal without what does not count; `None` for anything else.
pub(crate) fn plain(text: &str) -> Option<(String, String)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    (digits(whole) && digits(fraction)).then(|| (parts.0.to_owned(), parts.1.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn the_same_amount_in_another_spelling_is_the_same() {
        for same in ["100", "100.0", "0100.000000", "100.00"] {
            assert_eq!(plain(same), plain("100.000000"), "{same}");
        }
        for other in ["10", "100.01", "1000"] {
            assert_ne!(plain(other), plain("100"), "{other}");
        }
        for none in ["1e2", "", ".", "1.", ".5", "-1", "١"] {
            assert_eq!(plain(none), None, "{none}");
        }
    }
}
