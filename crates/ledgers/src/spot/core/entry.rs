//! Packs one kept result into 48 bytes, since a core keeps an hour of results in memory.

use kernel::answer::{Answer, Evidence, Receipt};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::record::Account;

/// The result of an operation. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultCode {
    Done,
    Fenced,
    Insufficient,
    NoAccount,
    Frozen,
    Disabled,
}

impl ResultCode {
    const ALL: [Self; 6] = [
        Self::Done,
        Self::Fenced,
        Self::Insufficient,
        Self::NoAccount,
        Self::Frozen,
        Self::Disabled,
    ];

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Fenced => 1,
            Self::Insufficient => 2,
            Self::NoAccount => 3,
            Self::Frozen => 4,
            Self::Disabled => 5,
        }
    }

    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.number() == number)
    }

    /// The code of the refusal; `None` where it is done.
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Done => None,
            Self::Fenced => Some("FENCED"),
            Self::Insufficient => Some(Code::InsufficientBalance.name()),
            Self::NoAccount => Some(Code::SourceAccountNotFound.name()),
            Self::Frozen => Some(Code::AccountFrozen.name()),
            Self::Disabled => Some(Code::AccountDisabled.name()),
        }
    }

    /// The answer of an operation of that number.
    pub(crate) fn answer(self, seq: u64) -> Answer {
        match self.code() {
            None => Answer::Done(Receipt::seq(seq)),
            Some(code) => Answer::Rejected(Evidence::code(code), Receipt::seq(seq)),
        }
    }

    fn outcome(self) -> StoredOutcome {
        match (self, self.code()) {
            (Self::Fenced, _) => StoredOutcome::Fenced,
            (_, None) => StoredOutcome::Done,
            (_, Some(code)) => StoredOutcome::Rejected(Evidence::code(code)),
        }
    }
}

/// The stored number of a leg; `None` for a leg that this ledger does not have.
pub(crate) const fn leg_number(leg: Leg) -> Option<u8> {
    match leg {
        Leg::Withdraw => Some(1),
        Leg::Deposit => Some(2),
        Leg::Refund => Some(3),
        Leg::Settle | Leg::Move | Leg::Quarantine | Leg::Cost => None,
    }
}

/// The leg of a stored number.
pub(crate) fn leg_numbered(number: u8) -> Option<Leg> {
    Leg::ALL.iter().copied().find(|leg| leg_number(*leg) == Some(number))
}

/// The request under a key and its result, in 48 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Id,
    pub(crate) amount: Amount,
    pub(crate) user: UserId,
    pub(crate) asset: AssetId,
    pub(crate) leg: Leg,
    pub(crate) result: ResultCode,
}

impl Entry {
    /// A tombstone: it knows only its key.
    pub(crate) const fn fence(key: Key) -> Self {
        Self {
            id: key.id,
            amount: Amount::ZERO,
            user: UserId(0),
            asset: AssetId(0),
            leg: key.leg,
            result: ResultCode::Fenced,
        }
    }

    /// What an operation asks for, as if it were done; `None` where no ledger of this kind could
    /// do it (`BAD_OPERATION`). Whether the asset is known is not looked at here.
    pub(crate) fn asked(op: &Op) -> Option<Self> {
        let Account::User(user) = op.account else { return None };
        leg_number(op.key.leg)?;
        let whole = user.is_valid()
            && op.other.is_none()
            && op.amount > Amount::ZERO
            && op.amount.signed().is_some();
        whole.then_some(Self {
            id: op.key.id,
            amount: op.amount,
            user,
            asset: op.asset,
            leg: op.key.leg,
            result: ResultCode::Done,
        })
    }

    pub(crate) const fn key(&self) -> Key {
        Key { id: self.id, leg: self.leg }
    }

    /// Whether both speak of the same money, whatever their legs.
    pub(crate) fn same_money(&self, other: &Self) -> bool {
        (self.id, self.user, self.asset, self.amount)
            == (other.id, other.user, other.asset, other.amount)
    }

    /// The entry as the port shows it.
    pub(crate) fn operation(&self, seq: u64) -> Operation {
        let op = Op {
            key: self.key(),
            account: Account::User(self.user),
            other: None,
            asset: self.asset,
            amount: self.amount,
        };
        Operation { seq, op, outcome: self.result.outcome() }
    }
}
