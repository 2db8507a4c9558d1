//! Says in words what a ledger answered, for the reader of a broken rule: who wrote the ledger need not know Rust.

use kernel::answer::Answer;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation, StoredOutcome};
use kernel::ports::ledger::{AccountStatus, Holding, Reply, Stored, Totals};
use kernel::record::Account;

/// Something that a rule found or wanted, in words.
pub trait Explain {
    /// The words, without a stop at their end.
    fn explain(&self) -> String;
}

impl<T: Explain + ?Sized> Explain for &T {
    fn explain(&self) -> String {
        (**self).explain()
    }
}

macro_rules! as_displayed {
    ($($kind:ty),* $(,)?) => {
        $(impl Explain for $kind {
            fn explain(&self) -> String {
                self.to_string()
            }
        })*
    };
}
as_displayed!(u64, u128, i128, usize, str, String, Id, Identity, Incarnation, Account);

impl Explain for bool {
    fn explain(&self) -> String {
        if *self { "yes".to_owned() } else { "no".to_owned() }
    }
}

impl Explain for () {
    fn explain(&self) -> String {
        "an answer".to_owned()
    }
}

impl Explain for Leg {
    fn explain(&self) -> String {
        self.name().to_owned()
    }
}

impl Explain for AccountStatus {
    fn explain(&self) -> String {
        self.name().to_owned()
    }
}

impl Explain for Amount {
    fn explain(&self) -> String {
        self.0.to_string()
    }
}

impl Explain for AssetId {
    fn explain(&self) -> String {
        format!("asset {}", self.0)
    }
}

impl Explain for UserId {
    fn explain(&self) -> String {
        format!("user {}", self.0)
    }
}

impl<T: Explain> Explain for [T] {
    fn explain(&self) -> String {
        if self.is_empty() {
            return "nothing".to_owned();
        }
        self.iter().map(Explain::explain).collect::<Vec<_>>().join("; ")
    }
}

impl<T: Explain> Explain for Vec<T> {
    fn explain(&self) -> String {
        self.as_slice().explain()
    }
}

impl<T: Explain> Explain for Option<T> {
    fn explain(&self) -> String {
        self.as_ref().map_or_else(|| "nothing".to_owned(), Explain::explain)
    }
}

macro_rules! tuples {
    ($($($name:ident)+),* $(,)?) => {
        $(impl<$($name: Explain),+> Explain for ($($name,)+) {
            #[expect(non_snake_case, reason = "the names of the types")]
            fn explain(&self) -> String {
                let ($($name,)+) = self;
                [$($name.explain()),+].join(", ")
            }
        })*
    };
}
tuples!(A B, A B C, A B C D, A B C D E);

impl Explain for Known {
    fn explain(&self) -> String {
        let Self { identity, incarnation, highest } = self;
        format!("ledger {identity}, incarnation {incarnation}, highest {highest}")
    }
}

impl Explain for Key {
    fn explain(&self) -> String {
        format!("{} of {}", self.leg.name(), self.id)
    }
}

impl Explain for Op {
    fn explain(&self) -> String {
        let Self { key, account, asset, amount, .. } = self;
        format!("{}: {} of asset {} at {account}", key.explain(), amount.0, asset.0)
    }
}

impl Explain for StoredOutcome {
    fn explain(&self) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Rejected(why) => format!("refused with {}", why.code),
            Self::Fenced => "fenced".to_owned(),
        }
    }
}

impl Explain for Operation {
    fn explain(&self) -> String {
        format!("number {}: {}, {}", self.seq, self.op.explain(), self.outcome.explain())
    }
}

impl Explain for Stored {
    fn explain(&self) -> String {
        match self {
            Self::Found(operation) => format!("stored as {}", operation.explain()),
            Self::Nothing => "nothing is stored".to_owned(),
        }
    }
}

impl Explain for Answer {
    fn explain(&self) -> String {
        match self {
            Self::Done(receipt) => format!("done, with the number {}", receipt.seq),
            Self::Rejected(why, receipt) => {
                format!("refused with {}, with the number {}", why.code, receipt.seq)
            }
            Self::Dead(why) => format!("dead with {}", why.code),
            Self::Unknown(cause) => format!("no clear answer: {cause}"),
        }
    }
}

impl<T: Explain> Explain for Reply<T> {
    fn explain(&self) -> String {
        match self {
            Self::Answered(_, said) => said.explain(),
            Self::OtherLedger(is) => format!("WRONG_LEDGER: it is {}", is.explain()),
            Self::NoAnswer(cause) => format!("no answer that counts: {cause}"),
        }
    }
}

impl Explain for Totals {
    fn explain(&self) -> String {
        let Self { users, frozen, clearing, world } = self;
        format!("users {users}, frozen {frozen}, clearing {clearing}, world {world}")
    }
}

impl Explain for Holding {
    fn explain(&self) -> String {
        let Self { user, asset, available, frozen, status } = self;
        format!(
            "user {}, asset {}: {} available, {} frozen, {}",
            user.0,
            asset.0,
            available.0,
            frozen.0,
            status.name()
        )
    }
}
