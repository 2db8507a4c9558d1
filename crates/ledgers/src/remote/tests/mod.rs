//! Tests which answers count, one by one and with random bytes.

mod chance;
mod full;
mod fuzz;
mod simple;

use super::AssetCodes;
use super::classify::HttpReply;
use super::wire::hex;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation, Key, Known, Op};
use kernel::ports::ledger::{AccountStatus, StatusChange};
use kernel::record::Account;

/// What we knew before we asked.
pub(super) const KNOWN: Known =
    Known { identity: Identity(0xa), incarnation: Incarnation(0xb), highest: 5 };

pub(super) fn asset_codes() -> AssetCodes {
    AssetCodes::of([(AssetId(3), "USDT".to_owned()), (AssetId(1), "BTC".to_owned())])
}

pub(super) fn op(n: u64, leg: Leg) -> Op {
    Op {
        key: Key { id: Id::new(n, 7), leg },
        account: Account::User(UserId(4001)),
        other: None,
        asset: AssetId(3),
        amount: Amount(250),
    }
}

/// A change of the status of user 4001.
pub(super) fn change(status: AccountStatus) -> StatusChange {
    let (reason, caller, key) = ("why".into(), "who".into(), "k-1".into());
    StatusChange { user: UserId(4001), status, reason, caller, key }
}

/// The first fields of an answer of the ledger, with its highest.
pub(super) fn who(highest: u64) -> String {
    let (ledger, incarnation) = (hex(KNOWN.identity.0), hex(KNOWN.incarnation.0));
    format!("\"ledger\":\"{ledger}\",\"incarnation\":\"{incarnation}\",\"highest\":{highest}")
}

pub(super) const fn reply(status: u16, body: &str) -> HttpReply<'_> {
    HttpReply { status, body: body.as_bytes() }
}
