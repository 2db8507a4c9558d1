//! External money in and out of Funding accounts.

use super::legs::sound;
use super::{Balance, Posting, StateReader, Stopped, SystemBook};
use kernel::code::Code;
use kernel::ids::{AssetId, Millis, UserId};
use kernel::money::Amount;
use kernel::operators::ApprovalStatus;
use kernel::ports::ledger::{AccountStatus, Authority, Direction, External, Moved};
use std::sync::Arc;

/// A movement that is asked for, and on whose word.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) movement: External,
    pub(crate) authority: Authority,
}

/// A movement that is to be written.
#[derive(Debug)]
pub(crate) struct MovementPlan {
    /// Its number, which is the store's next one.
    pub(crate) operation: u64,
    /// What the account has then.
    pub(crate) available: Amount,
    pub(crate) posting: Posting,
    /// A counter as it is then.
    pub(crate) counter: Option<(Arc<str>, u128)>,
}

/// The counter that is asked for: a store that reads before the rules ask reads it.
pub(crate) fn counter(request: &Request, at: Millis) -> Option<Arc<str>> {
    match &request.authority {
        Authority::UpTo(_) => request.movement.counter(at),
        Authority::Alone | Authority::Approved(_) => None,
    }
}

/// A counter's name, and its sum once the movement is booked.
type Counted = (Arc<str>, u128);

/// Whether it may be booked on its authority, and what is counted then.
fn allowed<S: StateReader>(
    state: &mut S,
    request: &Request,
) -> Result<Option<Counted>, Stopped<Code, S::Error>> {
    match &request.authority {
        Authority::Alone => Ok(None),
        Authority::UpTo(most) => {
            let Some(name) = counter(request, state.at()) else { return Ok(None) };
            let sum = state.counter(&name)?.checked_add(request.movement.amount.0);
            let sum = sum.filter(|sum| *sum <= most.0);
            let sum = sum.ok_or(Stopped::Answer(Code::SecondPersonRequired))?;
            Ok(Some((name, sum)))
        }
        Authority::Approved(approved) => {
            let (now, stored) = (state.at(), state.approval_status(approved.proposal)?);
            let stands = stored.map(|(stand, expires_at)| stand.at(now, expires_at));
            let (caller, key) = (&approved.action.caller, &approved.action.key);
            if state.past_action((caller, key))? {
                return Err(Stopped::Answer(Code::DuplicateRequest));
            }
            match stands {
                Some(ApprovalStatus::Pending) => Ok(None),
                Some(
                    ApprovalStatus::Approved
                    | ApprovalStatus::Rejected
                    | ApprovalStatus::Superseded
                    | ApprovalStatus::Lapsed,
                )
                | None => Err(Stopped::Answer(Code::AlreadyDecided)),
            }
        }
    }
}

/// What a movement comes to that was not booked before, or why it is refused. Under HALT nothing is
/// booked, and nothing on a word that does not suffice: the store asks here in the transaction that
/// would book it (`ledgers.md` §3), where it also looked that the reference is free.
pub(crate) fn book<S: StateReader>(
    state: &mut S,
    request: &Request,
) -> Result<MovementPlan, Stopped<Code, S::Error>> {
    if state.halted() {
        return Err(Stopped::Answer(Code::Halted));
    }
    let counter = allowed(state, request)?;
    let movement = &request.movement;
    let External { user, asset, amount, .. } = *movement;
    let known = state.knows(asset)? && sound(user);
    let Some(delta) = amount.signed().filter(|amount| *amount > 0 && known) else {
        return Err(Stopped::Answer(Code::InvalidAmount));
    };
    let balance = match (state.balance((user, asset))?, movement.direction) {
        (Some(balance), _) => balance,
        // an account begins with its first deposit
        (None, Direction::In) => Balance::empty(AccountStatus::Active),
        (None, Direction::Out) => return Err(Stopped::Answer(Code::AccountNotFound)),
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
        Some(code) => return Err(Stopped::Answer(code)),
        None => after.map_err(Stopped::Answer)?,
    };
    let mut posting = Posting::default();
    posting.put((user, asset), Balance { available, ..balance });
    posting.books.push((SystemBook::World, asset, delta));
    Ok(MovementPlan { operation: state.number(), available, posting, counter })
}

/// A movement as it was booked under the same (direction, reference).
#[derive(Debug)]
pub(crate) struct BookedMovement {
    pub(crate) operation: u64,
    pub(crate) user: UserId,
    pub(crate) asset: AssetId,
    pub(crate) amount: Amount,
    pub(crate) available: Amount,
    pub(crate) at: Millis,
}

impl BookedMovement {
    /// What a repeat of this movement is answered.
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
