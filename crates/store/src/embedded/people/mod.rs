//! What people are asked, decide and do: how it is written, and read by the journal.

mod put;
mod read;

use super::text;
use kernel::ids::{AssetId, ChainId, LedgerId, UserId};
use kernel::people::Scope;
use kernel::table::Flows;
pub(super) use put::Said;
pub(super) use read::{
    ACTED, APPROVAL, accepted, acted, action, approval, open_cases, paused, proposal,
};

/// What a pause stops, as it is stored beside the scope's kind.
fn subject(flows: &Flows, scope: Scope) -> String {
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
fn scope(flows: &Flows, kind: &str, subject: &str) -> rusqlite::Result<Option<Scope>> {
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
    scope.map(Some).ok_or_else(|| text::damaged(2, "not a scope"))
}
