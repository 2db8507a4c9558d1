//! Classifies the answers that decide nothing about a transfer: totals, balances, a changed status, a
//! horizon.

use super::asset_codes::AssetCodes;
use super::classify::{HttpReply, Named, about, asked, bad, told, unlisted};
use super::held_assets::Decimals;
use super::json::Json;
use super::wire;
use kernel::answer::Cause;
use kernel::ids::AssetId;
use kernel::money::Amount;
use kernel::operation::Known;
use kernel::ports::ledger::{AccountStatus, Holding, Reply, StatusChange, Totals, Whose};

/// The assets that the ledger says it holds, where it says that.
pub(crate) fn hello(reply: HttpReply<'_>) -> Reply<Option<Decimals>> {
    told(reply, wire::ONE, |named| {
        let Some(list) = named.body.get("assets") else { return Ok(None) };
        let Json::List(list) = list else { return Err(bad()) };
        let read = |one: &Json| Some((one.text("asset")?.to_owned(), one.whole("decimals")?));
        let found = list.iter().map(read).collect::<Option<Vec<_>>>().ok_or_else(bad)?;
        let count = found.len();
        let decimals: Decimals = found.into_iter().collect();
        if decimals.len() == count { Ok(Some(decimals)) } else { Err(bad()) }
    })
}

/// The horizon was taken.
pub(crate) fn horizon(known: Known, reply: HttpReply<'_>) -> Reply<()> {
    asked(known, reply, wire::ONE, |named| if named.status == 200 { Ok(()) } else { Err(bad()) })
}

/// The highest number of a HALT that the ledger was told of; `None`: it has no such route, and keeps no numbers.
pub(crate) fn halt(known: Known, told: u64, reply: HttpReply<'_>) -> Option<Reply<Option<u64>>> {
    // nothing but the route can be missing: the request names no transfer and no account
    if matches!(reply.status, 404 | 405 | 501) {
        return None;
    }
    Some(asked(known, reply, wire::ONE, |named| {
        let highest = named.body.whole("halt").filter(|highest| *highest >= told);
        if named.status == 200 { highest.map(Some).ok_or_else(bad) } else { Err(bad()) }
    }))
}

/// Whether an account's status was set. Where the answer says whose, it is this account's.
pub(crate) fn status(known: Known, change: &StatusChange, reply: HttpReply<'_>) -> Reply<bool> {
    asked(known, reply, wire::ONE, |named: &Named| {
        about(named, "user_id", &Json::Text(change.user.to_string()))?;
        about(named, "key", &Json::Text(change.key.to_string()))?;
        let wanted = change.status;
        match (named.status, named.body.text("status"), named.body.text("error")) {
            (200, Some(status), None) if status == wanted.name() => Ok(true),
            (404, None, Some("ACCOUNT_NOT_FOUND")) => Ok(false),
            _ => Err(bad()),
        }
    })
}

/// The books of the assets that we know: all of one instant, which is the answer's `highest`.
pub(crate) fn totals(
    asset_codes: &AssetCodes,
    reply: HttpReply<'_>,
) -> Reply<Vec<(AssetId, Totals)>> {
    told(reply, wire::MANY, |named| {
        let mut totals: Vec<(AssetId, Totals)> = Vec::new();
        for row in named.body.list("totals").ok_or_else(bad)? {
            let symbol = row.text("asset").ok_or_else(bad)?;
            let sum = |field| row.text(field).and_then(wire::sum).ok_or_else(bad);
            let of = Totals {
                users: sum("users")?,
                frozen: sum("frozen")?,
                clearing: sum("clearing")?,
                world: sum("world")?,
            };
            if row.whole("seq") != Some(named.known.highest) {
                return Err(Cause::because("BAD_REPLY", "totals of more than one instant"));
            }
            // an asset that we do not know has none of our operations
            let Some(asset) = asset_codes.asset(symbol) else { continue };
            if totals.iter().any(|(other, _)| *other == asset) {
                return Err(bad());
            }
            totals.push((asset, of));
        }
        Ok(totals)
    })
}

/// Balances: a bare list, since the contract says so. Who answered is not said in it.
pub(crate) fn holdings(
    whose: Whose,
    asset_codes: &AssetCodes,
    reply: HttpReply<'_>,
) -> Result<Vec<Holding>, Cause> {
    if reply.body.len() > wire::MANY {
        return Err(Cause::of("BODY_TOO_LARGE"));
    }
    // the route of one user is not optional, and a 404 there may mean the user
    let without_route = match whose {
        Whose::After(..) => matches!(reply.status, 404 | 405 | 501),
        Whose::User(_) => matches!(reply.status, 405 | 501),
    };
    if without_route {
        return Err(Cause::of("NOT_OFFERED"));
    }
    if reply.status != 200 {
        return Err(unlisted(reply.status));
    }
    let Some(Json::List(rows)) = Json::read(reply.body) else { return Err(bad()) };
    let mut holdings = Vec::with_capacity(rows.len());
    for row in &rows {
        let user = match whose {
            Whose::User(user) => user,
            Whose::After(after, _) => {
                let user = row.text("user_id").and_then(wire::user);
                user.filter(|user| user.0 > after).ok_or_else(bad)?
            }
        };
        let symbol = row.text("asset").ok_or_else(bad)?;
        let amount = |field| row.text(field).and_then(wire::amount).ok_or_else(bad);
        let (available, frozen): (Amount, Amount) = (amount("available")?, amount("frozen")?);
        let status = row.text("status").and_then(AccountStatus::parse).ok_or_else(bad)?;
        let Some(asset) = asset_codes.asset(symbol) else { continue };
        holdings.push(Holding { user, asset, available, frozen, status });
    }
    Ok(holdings)
}
