//! Defines the wire contract as types (`spec/api.md`, "Remote ledger"): the requests that the engine's
//! side sends, and the answers that `portage spot serve` gives. The answers of other ledgers are read
//! by [`super::classify`], which is stricter.
//!
//! Identities and incarnations are 32 lower-case hexadecimal digits, ids 26 characters, users and amounts
//! (in base units) decimal strings; a sum may have a sign.

use super::asset_codes::AssetCodes;
use kernel::flow::life::Leg;
use kernel::ids::{Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation, Key, Known, Op};
use kernel::record::Account;
use serde::{Deserialize, Serialize};

/// The most operations that one listing carries.
pub const MOST_LISTED: usize = 1_000;
/// The largest answer about one thing, in bytes.
pub const ONE: usize = 64 << 10;
/// The largest answer, and the largest request, about many things, in bytes.
pub const MANY: usize = 4 << 20;
/// The header of a request that moves money: the number of the last HALT that its sender follows.
pub const HALT_HEADER: &str = "portage-halt";
/// The error of a request whose number of the last HALT is below one that the ledger was told of.
pub const STALE_HALT: &str = "STALE_HALT";
/// The largest list of open ids that goes with a horizon, in bytes.
pub const OPEN: usize = 32 << 20;

/// Whom a request means, and what its sender knew before sending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub ledger: String,
    /// Which start of it.
    pub incarnation: String,
    /// The highest operation that the sender knows of.
    pub min_seq: u64,
}

/// One operation that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationRequest {
    pub req_id: String,
    /// `WITHDRAW`, `DEPOSIT` or `REFUND`.
    pub leg: String,
    pub user_id: String,
    pub asset: String,
    pub amount: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operations {
    pub ledger: String,
    pub incarnation: String,
    pub min_seq: u64,
    /// Independent of each other; decided in their order.
    pub operations: Vec<OperationRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    pub ledger: String,
    pub incarnation: String,
    pub min_seq: u64,
    pub req_id: String,
    pub leg: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    pub ledger: String,
    pub incarnation: String,
    pub min_seq: u64,
    /// `ACTIVE`, `FROZEN` or `DISABLED`.
    pub status: String,
    pub reason: String,
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Horizon {
    pub ledger: String,
    pub incarnation: String,
    pub min_seq: u64,
    /// Results at or below it may be forgotten.
    pub id: String,
    /// But for those of these.
    pub open: Vec<String>,
}

/// The number of the last HALT, which the ledger is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaltNotice {
    pub ledger: String,
    pub incarnation: String,
    pub min_seq: u64,
    /// What a request with a lower number asks for is not done from now on.
    pub halt: u64,
}

/// Who answers: the first three fields of every answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Who {
    pub ledger: String,
    /// Which start of it.
    pub incarnation: String,
    /// Its highest operation at this moment.
    pub highest: u64,
}

/// What is stored under a key, or why nothing can be said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    pub req_id: String,
    /// `WITHDRAW`, `DEPOSIT` or `REFUND`.
    pub leg: &'static str,
    /// The ledger's number of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// It is done; only ever `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// It was refused for ever, with this code; `FENCED` where it was fenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Neither: nothing was stored, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
}

impl Head {
    /// The head of a request.
    pub fn of(known: Known) -> Self {
        Self {
            ledger: hex(known.identity.0),
            incarnation: hex(known.incarnation.0),
            min_seq: known.highest,
        }
    }

    /// What a request's sender knows; `None` where the texts are none of ours.
    pub fn known(&self) -> Option<Known> {
        known(&self.ledger, &self.incarnation, self.min_seq)
    }
}

impl Who {
    /// The first fields of an answer.
    pub fn of(known: Known) -> Self {
        let Head { ledger, incarnation, min_seq: highest } = Head::of(known);
        Self { ledger, incarnation, highest }
    }
}

impl OperationRequest {
    /// An operation as it is asked for; `None` where the wire has no words for it.
    pub fn of(op: &Op, asset_codes: &AssetCodes) -> Option<Self> {
        let Account::User(user) = op.account else { return None };
        let sound = op.other.is_none() && user.0 > 0 && op.amount > Amount::ZERO;
        (sound && speaks(op.key.leg)).then_some(())?;
        Some(Self {
            req_id: op.key.id.to_string(),
            leg: op.key.leg.name().to_owned(),
            user_id: user.to_string(),
            asset: asset_codes.symbol(op.asset)?,
            amount: op.amount.to_string(),
        })
    }

    /// The operation that is asked for. `Err`: the key alone can be read, or not even that.
    pub fn op(&self, asset_codes: &AssetCodes) -> Result<Op, Option<Key>> {
        let key = key(&self.req_id, &self.leg).ok_or(None)?;
        let asset = asset_codes.asset(&self.asset).ok_or(Some(key))?;
        let amount = amount(&self.amount).ok_or(Some(key))?;
        let account = Account::User(user(&self.user_id).ok_or(Some(key))?);
        Ok(Op { key, account, other: None, asset, amount })
    }
}

/// The legs that a ledger on this wire has.
pub const fn speaks(leg: Leg) -> bool {
    matches!(leg, Leg::Withdraw | Leg::Deposit | Leg::Refund)
}

/// The key of an id and a leg as they are written.
pub fn key(id: &str, leg: &str) -> Option<Key> {
    let leg = Leg::parse(leg).filter(|leg| speaks(*leg))?;
    Some(Key { id: transfer(id)?, leg })
}

/// A transfer's id, in its one spelling.
pub fn transfer(text: &str) -> Option<Id> {
    text.parse().ok().filter(|id: &Id| id.to_string() == text)
}

/// A user: digits alone, in their one spelling. A string, since many readers of JSON lose digits of a large integer.
pub fn user(text: &str) -> Option<UserId> {
    text.parse().ok().filter(|id: &u64| id.to_string() == text).map(UserId)
}

/// An amount: digits alone, no needless zero in front, nothing that `u128` does not hold.
pub fn amount(text: &str) -> Option<Amount> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = text == "0" || !text.starts_with('0');
    if digits && plain { text.parse().ok().map(Amount) } else { None }
}

/// A sum: an amount with at most a sign in front.
pub fn sum(text: &str) -> Option<i128> {
    let size = text.strip_prefix('-').unwrap_or(text);
    amount(size)?;
    text.parse().ok().filter(|sum: &i128| *sum != 0 || size == text)
}

/// Identity, incarnation and highest as they are written.
pub fn known(ledger: &str, incarnation: &str, highest: u64) -> Option<Known> {
    let identity = Identity(unhex(ledger)?);
    let incarnation = Incarnation(unhex(incarnation)?);
    Some(Known { identity, incarnation, highest })
}

pub fn hex(number: u128) -> String {
    format!("{number:032x}")
}

fn unhex(text: &str) -> Option<u128> {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == 32 && text.bytes().all(digit);
    if fits { u128::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::{AssetCodes, Head, OPEN, OperationRequest, Who, amount, hex, key, known, sum};
    use kernel::flow::life::Leg;
    use kernel::ids::{AssetId, Id, UserId};
    use kernel::money::Amount;
    use kernel::operation::{Identity, Incarnation, Key, Known, Op};
    use kernel::record::Account;

    #[test]
    fn a_million_open_ids_go_with_a_horizon() {
        let widest =
            serde_json::to_string(&[Id::new(1_700_000_000_000, 5).to_string()]).expect("JSON");
        assert!(widest.len() * 1_000_000 <= OPEN, "{widest}");
    }

    #[test]
    fn what_is_asked_for_is_what_is_read() {
        let asset_codes = AssetCodes::of([(AssetId(3), "USDT".to_owned())]);
        let op = Op {
            key: Key { id: Id::new(1_700_000_000_000, 5), leg: Leg::Withdraw },
            account: Account::User(UserId(7)),
            other: None,
            asset: AssetId(3),
            amount: Amount(250),
        };
        let asked = OperationRequest::of(&op, &asset_codes).expect("words");
        assert_eq!(asked.op(&asset_codes), Ok(op.clone()));
        let spoilt = |asset: &str, amount: &str| {
            let asked =
                OperationRequest { asset: asset.into(), amount: amount.into(), ..asked.clone() };
            asked.op(&asset_codes)
        };
        assert_eq!(spoilt("BTC", "250"), Err(Some(op.key)));
        assert_eq!(spoilt("USDT", "2.5"), Err(Some(op.key)));
        assert_eq!(
            OperationRequest { leg: "SETTLE".into(), ..asked.clone() }.op(&asset_codes),
            Err(None)
        );
        // the wire has no words for these
        for other in [
            Op { account: Account::User(UserId(0)), ..op.clone() },
            Op { amount: Amount::ZERO, ..op.clone() },
            Op { other: Some(Account::User(UserId(8))), ..op.clone() },
            Op { asset: AssetId(9), ..op.clone() },
            Op { key: Key { leg: Leg::Settle, ..op.key }, ..op },
        ] {
            assert_eq!(OperationRequest::of(&other, &asset_codes), None, "{other:?}");
        }
    }

    #[test]
    fn who_is_meant_is_who_is_read() {
        let is = Known { identity: Identity(7), incarnation: Incarnation(8), highest: 3 };
        assert_eq!(Head::of(is).known(), Some(is));
        let Who { ledger, incarnation, highest } = Who::of(is);
        assert_eq!((ledger, incarnation, highest), (hex(7), hex(8), 3));
        assert_eq!(Head { ledger: String::new(), ..Head::of(is) }.known(), None);
    }

    #[test]
    fn amounts_have_one_spelling() {
        let most = u128::MAX.to_string();
        assert_eq!(amount(&most), Some(Amount(u128::MAX)));
        assert_eq!((amount("0"), amount("10")), (Some(Amount(0)), Some(Amount(10))));
        for text in ["", "00", "01", "+1", "-1", "1.0", "1e3", " 1", "٣", &format!("{most}0")] {
            assert_eq!(amount(text), None, "{text}");
        }
        assert_eq!((sum("-5"), sum("5"), sum("0")), (Some(-5), Some(5), Some(0)));
        assert_eq!(sum(&i128::MIN.to_string()), Some(i128::MIN));
        for text in ["-0", "--1", "-", "-01", "+1", &most] {
            assert_eq!(sum(text), None, "{text}");
        }
    }

    #[test]
    fn names_have_one_spelling() {
        let id = Id::new(1_700_000_000_000, 5);
        let found = key(&id.to_string(), "REFUND");
        assert_eq!(found, Some(Key { id, leg: Leg::Refund }));
        let small = id.to_string().to_lowercase();
        for (id, leg) in [("x", "REFUND"), ("", "DEPOSIT"), (&small, "REFUND")] {
            assert_eq!(key(id, leg), None);
        }
        for leg in ["SETTLE", "MOVE", "refund", ""] {
            assert_eq!(key(&id.to_string(), leg), None, "{leg}");
        }
        let is = Known { identity: Identity(7), incarnation: Incarnation(u128::MAX), highest: 3 };
        assert_eq!(known(&hex(7), &hex(u128::MAX), 3), Some(is));
        for text in ["", "7", &"F".repeat(32), &"0".repeat(33), &"g".repeat(32)] {
            assert_eq!(known(text, &hex(1), 3), None, "{text}");
            assert_eq!(known(&hex(1), text, 3), None, "{text}");
        }
    }
}
