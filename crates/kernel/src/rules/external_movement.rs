//! External money in and out of Funding accounts.

use super::{Book, Posting, StateReader, Stopped, StoredBalance, SystemBook};
use crate::code::Code;
use crate::ids::Millis;
use crate::money::Amount;
use crate::operators::ApprovalStatus;
use crate::ports::ledger::{AccountStatus, Authority, Direction, External};
use std::sync::Arc;

/// A movement that is asked for, and on whose word.
#[derive(Debug)]
pub struct Request {
    /// The movement, as the caller asked for it.
    pub movement: External,
    /// The word on which it is booked.
    pub authority: Authority,
}

/// A movement that is to be written.
#[derive(Debug)]
pub struct MovementPlan {
    /// Its number, which is the store's next one.
    pub operation: u64,
    /// What the account has then.
    pub available: Amount,
    /// What it does to balances and books.
    pub posting: Posting,
    /// A counter as it is then.
    pub counter: Option<(Arc<str>, u128)>,
}

/// The counter that is asked for: a store that reads before the rules ask reads it.
pub fn counter(request: &Request, at: Millis) -> Option<Arc<str>> {
    match &request.authority {
        Authority::UpTo(_) => Some(request.movement.counter(at)),
        Authority::Alone | Authority::Approved(_) => None,
    }
}

/// A counter's name, and its sum once the movement is booked.
type Counted = (Arc<str>, u128);

/// Refuses a movement whose proposal was decided before, or whose approver's key did something else.
fn check_approval<S: StateReader>(
    state: &mut S,
    request: &Request,
) -> Result<(), Stopped<Code, S::Error>> {
    let Authority::Approved(approved) = &request.authority else { return Ok(()) };
    let (now, stored) = (state.clock(), state.approval_status(approved.proposal)?);
    let stands = stored.map(|(stand, expires_at)| stand.at(now, expires_at));
    let (caller, key) = (&approved.action.caller, &approved.action.key);
    if state.past_action(caller, key)? {
        return Err(Stopped::Answer(Code::DuplicateRequest));
    }
    match stands {
        Some(ApprovalStatus::Pending) => Ok(()),
        Some(
            ApprovalStatus::Approved
            | ApprovalStatus::Rejected
            | ApprovalStatus::Superseded
            | ApprovalStatus::Lapsed,
        )
        | None => Err(Stopped::Answer(Code::AlreadyDecided)),
    }
}

/// What is counted of a movement on the word of one person, where its bound allows it.
fn within_bound<S: StateReader>(
    state: &mut S,
    request: &Request,
) -> Result<Option<Counted>, Stopped<Code, S::Error>> {
    let Authority::UpTo(most) = &request.authority else { return Ok(None) };
    let Some(name) = counter(request, state.at()) else { return Ok(None) };
    let sum = state.counter(&name)?.checked_add(request.movement.amount.0);
    let sum = sum.filter(|sum| *sum <= most.0);
    let sum = sum.ok_or(Stopped::Answer(Code::SecondPersonRequired))?;
    Ok(Some((name, sum)))
}

/// What a movement comes to that was not booked before, or why it is refused. Under HALT nothing is
/// booked, and nothing on a word that does not suffice: the store asks here in the transaction that
/// would book it (`ledgers.md` §3), where it also looked that the reference is free.
pub fn book<S: StateReader>(
    state: &mut S,
    request: &Request,
) -> Result<MovementPlan, Stopped<Code, S::Error>> {
    if state.halted() {
        return Err(Stopped::Answer(Code::Halted));
    }
    check_approval(state, request)?;
    let movement = &request.movement;
    let External { user, asset, amount, .. } = *movement;
    let known = state.knows(asset)? && user.is_valid();
    let Some(delta) = amount.signed().filter(|amount| *amount > 0 && known) else {
        return Err(Stopped::Answer(Code::InvalidAmount));
    };
    let mut posting = Posting::default();
    let available = match &movement.number {
        None => posting.external(state, movement)?,
        Some(number) => posting.external_numbered(state, movement, number)?,
    };
    // the last of all: what cannot be booked anyway is no matter for a second person
    let counter = within_bound(state, request)?;
    let delta = match movement.direction {
        Direction::In => delta.saturating_neg(),
        Direction::Out => delta,
    };
    let world = Book { ledger: movement.ledger(), book: SystemBook::World, asset };
    posting.add_book(world, delta);
    Ok(MovementPlan { operation: state.number(), available, posting, counter })
}

impl Posting {
    /// Money into or out of a user's account at Funding; what it has available then.
    fn external<S: StateReader>(
        &mut self,
        state: &mut S,
        movement: &External,
    ) -> Result<Amount, Stopped<Code, S::Error>> {
        let External { user, asset, amount, .. } = *movement;
        let balance = match (state.balance(user, asset)?, movement.direction) {
            (Some(balance), _) => balance,
            // an account begins with its first deposit
            (None, Direction::In) => StoredBalance::empty(AccountStatus::Active),
            (None, Direction::Out) => return Err(Stopped::Answer(Code::AccountNotFound)),
        };
        let barred = match movement.direction {
            Direction::In => balance.status.bars_deposit(),
            Direction::Out => balance.status.bars_withdraw(),
        };
        let available = moved(movement.direction, balance.available, amount, barred)?;
        self.put(user, asset, balance, StoredBalance { available, ..balance });
        Ok(available)
    }

    /// Money into or out of a numbered account; what it holds then.
    fn external_numbered<S: StateReader>(
        &mut self,
        state: &mut S,
        movement: &External,
        number: &Arc<str>,
    ) -> Result<Amount, Stopped<Code, S::Error>> {
        let External { user, asset, amount, .. } = *movement;
        // another owner's account reads as none
        let stored = self.account(state, number)?.filter(|account| account.owner == user);
        let Some(account) = stored else {
            return Err(Stopped::Answer(Code::AccountNotFound));
        };
        if account.asset != asset {
            return Err(Stopped::Answer(Code::CurrencyMismatch));
        }
        let barred = match movement.direction {
            Direction::In => account.status.bars_receipt(),
            Direction::Out => account.status.bars_payment(),
        };
        let balance = moved(movement.direction, account.balance, amount, barred)?;
        self.set_balance(account, balance);
        Ok(balance)
    }
}

/// What an account has after a movement, or why it is refused.
fn moved<E>(
    direction: Direction,
    before: Amount,
    amount: Amount,
    barred: Option<Code>,
) -> Result<Amount, Stopped<Code, E>> {
    let after = match direction {
        Direction::In => before.plus(amount).ok_or(Code::Overflow),
        Direction::Out => before.minus(amount).ok_or(Code::InsufficientBalance),
    };
    barred.map_or(after, Err).map_err(Stopped::Answer)
}
