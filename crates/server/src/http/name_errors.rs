//! Builds refusals that name what they are about: the valid names, an asset and its bounds; formats the scope of a pause.

use super::middleware::error::{Refusal, sentence};
use super::transfers::validate::AccountNames;
use super::{App, format};
use kernel::code::Code;
use kernel::money::{Amount, Asset};
use kernel::operators::Scope;

/// More than these are not listed: a refusal stays short.
const MOST: usize = 50;

/// A refusal, with the names that would have been taken where it is about a name.
/// `spelt` is how the request spells account types.
pub(crate) fn refusal(app: &App, spelt: AccountNames, code: Code) -> Refusal {
    let there_are = if code == Code::InvalidAccountType {
        spelt.all().map(|(_, name)| name.to_owned()).collect()
    } else if code == Code::UnsupportedAccountType {
        let here: Vec<_> = app.user_ledgers().map(|ledger| ledger.id()).collect();
        let here = spelt.all().filter(|(ledger, _)| here.contains(ledger));
        here.map(|(_, name)| name.to_owned()).collect()
    } else if code == Code::InvalidAsset {
        app.engine.assets().iter().map(|asset| asset.symbol.clone()).collect()
    } else {
        Vec::new()
    };
    Refusal::because(code, listed(sentence(code), &there_are))
}

/// A refusal that names the asset, and the bound that the request did not keep.
pub(crate) fn of_asset(asset: &Asset, code: Code) -> Refusal {
    let (symbol, places) = (&asset.symbol, asset.precision);
    if code == Code::TransferNotAllowed && !asset.transferable {
        let sentence =
            format!("{symbol} may not be transferred: its internal_transfer_enabled is off");
        return Refusal::because(code, sentence);
    }
    let bounds = [
        (Code::PrecisionOverflow, Some(format!("{symbol} has {places}"))),
        (Code::Overflow, Some(named(asset, asset.ceiling()))),
        (Code::AmountTooSmall, Some(named(asset, asset.min))),
        (Code::AmountTooLarge, asset.max.map(|max| named(asset, max))),
    ];
    let bound = bounds.into_iter().find(|(about, _)| *about == code).and_then(|(_, bound)| bound);
    match bound {
        Some(bound) => Refusal::because(code, format!("{}: {bound}", sentence(code))),
        None => Refusal::of(code),
    }
}

/// An amount in the asset's unit, with its symbol.
pub(crate) fn named(asset: &Asset, amount: Amount) -> String {
    format!("{} {}", amount.decimal(asset.precision), asset.symbol)
}

/// How people spell something that may be paused: `internal`, `SPOT`, `USDT`, `4001/SPOT`.
pub(crate) fn scope(app: &App, scope: Scope) -> String {
    match scope {
        Scope::Flow(flow) => app.engine.flows().table(flow).flow.to_owned(),
        Scope::Ledger(ledger) => ledger.name().to_owned(),
        Scope::Chain(chain) => chain.name().to_owned(),
        Scope::Asset(asset) => format::asset(&app.engine.assets(), asset).0,
        Scope::Account(user, ledger) => format!("{user}/{}", ledger.name()),
        Scope::Transfer(id) => id.to_string(),
        Scope::Group(name) => name.to_owned(),
    }
}

fn listed(sentence: &str, names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    let more = if names.len() > MOST { ", …" } else { "" };
    match shown.as_slice() {
        [] => sentence.to_owned(),
        shown => format!("{sentence}; there are {}{more}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_list_of_names_has_an_end() {
        assert_eq!(listed("No", &[]), "No");
        assert_eq!(listed("No", &["A".to_owned(), "B".to_owned()]), "No; there are A, B");
        let many: Vec<String> = (0..60).map(|n| format!("A{n}")).collect();
        assert!(listed("No", &many).ends_with("A48, A49, …"));
    }
}
