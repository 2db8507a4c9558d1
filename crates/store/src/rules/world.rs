//! External money in and out of Funding accounts.

use super::legs::sound;
use super::{Balance, Book, No, Posting, Sight};
use kernel::code::Code;
use kernel::ids::{AssetId, Millis, UserId};
use kernel::money::Amount;
use kernel::ports::ledger::{AccountStatus, Direction, External, Moved};

/// A movement that is to be written.
#[derive(Debug)]
pub(crate) struct Booking {
    /// Its number, which is the store's next one.
    pub(crate) operation: u64,
    /// What the account has then.
    pub(crate) available: Amount,
    pub(crate) posting: Posting,
}

/// What a movement comes to that nobody booked before, or why it is refused. Under HALT nothing is
/// booked: the store asks here in the transaction that would book it (`ledgers.md` §3).
pub(crate) fn book<S: Sight>(
    sight: &mut S,
    movement: &External,
) -> Result<Booking, No<Code, S::Stop>> {
    if sight.halted() {
        return Err(No::Said(Code::Halted));
    }
    let External { user, asset, amount, .. } = *movement;
    let known = sight.knows(asset)? && sound(user);
    let Some(delta) = amount.signed().filter(|amount| *amount > 0 && known) else {
        return Err(No::Said(Code::InvalidAmount));
    };
    let balance = match (sight.balance((user, asset))?, movement.direction) {
        (Some(balance), _) => balance,
        // an account begins with its first deposit
        (None, Direction::In) => Balance::empty(AccountStatus::Active),
        (None, Direction::Out) => return Err(No::Said(Code::AccountNotFound)),
    };
    let (barred, after, delta) = match movement.direction {
        Direction::In => {
            let after = balance.available.plus(amount).ok_or(Code::Overflow);
            (balance.status.bars_deposit(), after, delta.saturating_neg())
        }
        Direction::Out => {
            let after = balance.available.minus(amount).ok_or(Code::InsufficientBalance);
            (balance.status.bars_withdraw(), after, delta)
        }
    };
    let available = match barred {
        Some(code) => return Err(No::Said(code)),
        None => after.map_err(No::Said)?,
    };
    let mut posting = Posting::default();
    posting.put((user, asset), Balance { available, ..balance });
    posting.books.push((Book::World, asset, delta));
    Ok(Booking { operation: sight.number(), available, posting })
}

/// A movement as it was booked under the same (direction, reference).
#[derive(Debug)]
pub(crate) struct Booked {
    pub(crate) operation: u64,
    pub(crate) user: UserId,
    pub(crate) asset: AssetId,
    pub(crate) amount: Amount,
    pub(crate) available: Amount,
    pub(crate) at: Millis,
}

impl Booked {
    /// What is answered to whoever comes with this movement.
    pub(crate) fn answer(&self, movement: &External) -> Moved {
        let pairs = [
            ("user_id", self.user != movement.user),
            ("asset", self.asset != movement.asset),
            ("amount", self.amount != movement.amount),
        ];
        let differ: Vec<_> = pairs.into_iter().filter(|pair| pair.1).map(|pair| pair.0).collect();
        if !differ.is_empty() {
            return Moved::Conflict(differ);
        }
        let Self { operation, available, at, .. } = *self;
        Moved::Done { operation, available, at, replayed: true }
    }
}
