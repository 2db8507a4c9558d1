//! Converts values to columns and back, for both stores, where they store them alike: statuses,
//! accounts, scopes, and ids and amounts as text.

use kernel::agreed::Agreed;
use kernel::answer::Evidence;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, FlowId, Id, LedgerId, Serial, UserId};
use kernel::money::Amount;
use kernel::operation::StoredOutcome;
use kernel::operators::{ApprovalStatus, Scope, Severity, Subject};
use kernel::owner::TransferOwner;
use kernel::ports::journal::KeyRow;
use kernel::ports::ledger::{AccountStatus, Direction};
use kernel::ports::webhooks::TriedMessage;
use kernel::record::{Account, Origin, Terms, TermsVersion};
use std::collections::BTreeSet;

/// The error of a column whose value this store never writes: what it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrongValue(pub(crate) &'static str);

/// The number of the oldest cases of which one write forgets those that are over: it reads no more of a long history, and few
/// cases stay open for long.
pub(crate) const FORGOTTEN_CASES: i64 = 2_000;

/// Integers of SQL are signed; ours stay below 2^63.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn uint(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(crate) fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// What the table of clients' keys has for a transfer: whether the transfer has a key, and the number that the key's row
/// names.
pub(crate) fn key_row(keyed: bool, named: Option<i64>) -> KeyRow {
    match named {
        _ if !keyed => KeyRow::Keyless,
        Some(number) => KeyRow::Names(Serial(uint(number))),
        None => KeyRow::Missing,
    }
}

/// What the tries of webhooks say of their endpoints, each named behind that text: those that took
/// something, and those that took nothing.
pub(crate) fn failing(prefix: &str, tried: &[TriedMessage]) -> (Vec<String>, Vec<String>) {
    let name = |endpoint: Id| format!("{prefix}{endpoint}");
    let of = |works: bool| -> BTreeSet<Id> {
        let same = tried.iter().filter(|one| one.error.is_none() == works);
        same.map(|one| one.endpoint).collect()
    };
    let works = of(true);
    let fails = of(false).into_iter().filter(|one| !works.contains(one)).map(name).collect();
    (works.iter().copied().map(name).collect(), fails)
}

/// The names of flows as SQL lists them; no flow has the name NULL.
pub(crate) fn flow_names(flows: &Flows, of: &[FlowId]) -> String {
    let names: Vec<String> =
        of.iter().map(|flow| format!("'{}'", flows.table(*flow).flow)).collect();
    if names.is_empty() { "NULL".to_owned() } else { names.join(", ") }
}

pub(crate) fn read_id(text: &str) -> Result<Id, WrongValue> {
    text.parse().map_err(|_| WrongValue("not a transfer's id"))
}

/// An amount, with zeros before it or without.
pub(crate) fn read_amount(text: &str) -> Result<Amount, WrongValue> {
    text.parse().map(Amount).map_err(|_| WrongValue("not an amount"))
}

pub(crate) fn read_signed(text: &str) -> Result<i128, WrongValue> {
    text.parse().map_err(|_| WrongValue("not a sum"))
}

pub(crate) fn read_status(text: &str) -> Result<AccountStatus, WrongValue> {
    AccountStatus::parse(text).ok_or(WrongValue("not an account's status"))
}

pub(crate) fn read_stand(text: &str) -> Result<ApprovalStatus, WrongValue> {
    ApprovalStatus::parse(text).ok_or(WrongValue("not how an approval stands"))
}

pub(crate) fn read_about(text: &str) -> Result<Subject, WrongValue> {
    Subject::parse(text).ok_or(WrongValue("not a subject"))
}

pub(crate) fn read_severity(text: &str) -> Result<Severity, WrongValue> {
    let known = [Severity::Warning, Severity::Critical].into_iter().find(|s| s.name() == text);
    known.ok_or(WrongValue("not a severity"))
}

pub(crate) fn read_account(text: &str) -> Result<Account, WrongValue> {
    Account::parse(text).ok_or(WrongValue("not an account"))
}

/// The column `owner`: nothing for a user, who stands in `user_id`.
pub(crate) fn owner(terms: &Terms) -> Option<String> {
    terms.owner.user().is_none().then(|| terms.owner.to_string())
}

pub(crate) fn read_owner(user: i64, owner: Option<&str>) -> Result<TransferOwner, WrongValue> {
    match owner {
        None => Ok(TransferOwner::User(UserId(uint(user)))),
        Some(text) => text.parse().map_err(|_| WrongValue("not an owner")),
    }
}

/// The column `target_asset`: nothing where it is the source's.
pub(crate) fn target_asset(terms: &Terms) -> Option<u32> {
    (terms.target.asset != terms.source.asset).then_some(terms.target.asset.0)
}

/// The column `target_amount`: nothing where it is the source's less the fee.
pub(crate) fn target_amount(terms: &Terms) -> Option<Amount> {
    let (target, rest) = (terms.target.amount, terms.source.amount.minus(terms.fee));
    (rest != Some(target)).then_some(target)
}

/// What a party has besides its system and its account.
pub(crate) type Holding = (AssetId, Amount);

/// What both parties give and get: `asset_id`, `amount` and `fee`, and the columns of the target.
pub(crate) fn read_holdings(
    source: Holding,
    fee: Amount,
    target_asset: Option<u32>,
    target_amount: Option<Amount>,
) -> [Holding; 2] {
    let rest = || source.1.minus(fee).unwrap_or(Amount::ZERO);
    let asset = target_asset.map_or(source.0, AssetId);
    [source, (asset, target_amount.unwrap_or_else(rest))]
}

pub(crate) fn origin(chain: Option<u8>, key: Option<String>) -> Option<Origin> {
    let (chain, key) = chain.zip(key)?;
    Some(Origin { chain: ChainId(chain), key: key.into() })
}

/// The column `agreed`: nothing where nothing was agreed after the opening.
pub(crate) fn agreed(agreed: Option<&Agreed>) -> Option<String> {
    agreed.map(Agreed::document)
}

pub(crate) fn read_agreed(text: Option<&str>) -> Result<Option<Agreed>, WrongValue> {
    let read = |text| Agreed::parse(text).ok_or(WrongValue("not what was agreed"));
    text.map(read).transpose()
}

/// The column `refund_fee`: nothing where it is zero.
pub(crate) fn refund_fee(terms: &Terms) -> Option<Amount> {
    (terms.refund_fee != Amount::ZERO).then_some(terms.refund_fee)
}

/// The column `terms_version`: nothing for the first.
pub(crate) const fn terms_version(version: TermsVersion) -> Option<u8> {
    match version {
        TermsVersion::V1 => None,
        TermsVersion::V2 => Some(2),
        TermsVersion::V3 => Some(3),
    }
}

pub(crate) fn read_terms_version(version: Option<i64>) -> Result<TermsVersion, WrongValue> {
    match version {
        None => Ok(TermsVersion::V1),
        Some(2) => Ok(TermsVersion::V2),
        Some(3) => Ok(TermsVersion::V3),
        Some(_) => Err(WrongValue("not a version of terms")),
    }
}

/// Result and code of what a ledger stored.
pub(crate) fn outcome(outcome: &StoredOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        StoredOutcome::Done => ("DONE", None),
        StoredOutcome::Rejected(why) => ("REJECTED", Some(&why.code)),
        StoredOutcome::Fenced => ("FENCED", None),
    }
}

pub(crate) fn read_outcome(
    result: &str,
    code: Option<String>,
) -> Result<StoredOutcome, WrongValue> {
    Ok(match result {
        "DONE" => StoredOutcome::Done,
        "REJECTED" => StoredOutcome::Rejected(Evidence::code(code.unwrap_or_default())),
        "FENCED" => StoredOutcome::Fenced,
        _ => return Err(WrongValue("not a result")),
    })
}

/// Which way money went between an account and the world.
pub(crate) const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "IN",
        Direction::Out => "OUT",
    }
}

pub(crate) fn read_direction(text: &str) -> Result<Direction, WrongValue> {
    let known = [Direction::In, Direction::Out].into_iter().find(|known| direction(*known) == text);
    known.ok_or(WrongValue("not a direction"))
}

/// The object of a pause, as its column has it beside the scope's kind.
pub(crate) fn subject(flows: &Flows, scope: Scope) -> String {
    match scope {
        Scope::Flow(flow) => flows.table(flow).flow.to_owned(),
        Scope::Ledger(ledger) => ledger.to_string(),
        Scope::Chain(chain) => chain.to_string(),
        Scope::Asset(asset) => asset.to_string(),
        Scope::Account(user, ledger) => format!("{user}/{ledger}"),
        Scope::Transfer(id) => id.to_string(),
        Scope::Group(name) => name.to_owned(),
    }
}

/// The way back; `None` for a flow or a group that this build does not know.
pub(crate) fn scope(flows: &Flows, kind: &str, subject: &str) -> Result<Option<Scope>, WrongValue> {
    let number = |text: &str| text.parse().ok();
    let scope = match kind {
        "flow" => return Ok(flows.named(subject).map(Scope::Flow)),
        "group" => return Ok(flows.group(subject).map(Scope::Group)),
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
    scope.map(Some).ok_or(WrongValue("not a scope"))
}
