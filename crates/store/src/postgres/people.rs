//! What a pause stops, as it is stored beside the scope's kind.

use super::fault::Fault;
use kernel::ids::{AssetId, ChainId, LedgerId, UserId};
use kernel::people::Scope;
use kernel::table::Flows;

/// The stored subject.
pub(crate) fn subject(flows: &Flows, scope: Scope) -> String {
    match scope {
        Scope::Flow(flow) => flows.table(flow).flow.to_owned(),
        Scope::Ledger(ledger) => ledger.to_string(),
        Scope::Chain(chain) => chain.to_string(),
        Scope::Asset(asset) => asset.to_string(),
        Scope::Account(user, ledger) => format!("{user}/{ledger}"),
        Scope::Transfer(id) => id.to_string(),
    }
}

/// The way back; `None` for a flow that this build does not know.
pub(crate) fn scope(flows: &Flows, kind: &str, subject: &str) -> Result<Option<Scope>, Fault> {
    let number = |text: &str| text.parse().ok();
    let scope = match kind {
        "flow" => return Ok(flows.named(subject).map(Scope::Flow)),
        "ledger" => number(subject).map(|n| Scope::Ledger(LedgerId(n))),
        "chain" => number(subject).map(|n| Scope::Chain(ChainId(n))),
        "asset" => subject.parse().ok().map(|n| Scope::Asset(AssetId(n))),
        "account" => subject.split_once('/').and_then(|(user, ledger)| {
            let user = UserId(user.parse().ok()?);
            Some(Scope::Account(user, LedgerId(number(ledger)?)))
        }),
        "transfer" => subject.parse().ok().map(Scope::Transfer),
        _ => None,
    };
    scope.map(Some).ok_or(Fault::Damaged("not a scope"))
}
