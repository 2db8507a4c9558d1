//! Holds back the signing of one act of a token for a while (a rest), and says why. A rest is in RAM
//! and is advice: losing it costs a transaction that fails.
//!
//! A paused contract says so only to a transaction, which burns gas. So one member goes alone when the
//! rest is over, and the others wait: its success ends the rest, its failure begins one twice as long.

use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The longest rest, in milliseconds: so late a token goes on after its contract does.
const LONGEST: Millis = 600_000;
/// The time, in milliseconds, after which a rest that is over and that nothing tries to end is forgotten.
const FORGOTTEN: Millis = 120_000;

/// Why nothing is signed for one act of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestCause {
    /// The token's contract says that it is paused.
    Paused,
    /// A transaction of one member failed, and its error names no action.
    Unexplained,
    /// The contract refused several receivers, one after the other, and carried out nothing between them.
    Refuses,
    /// The contract asks for more than the settings allow.
    Price,
}

/// For how many members a transaction may be signed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignTurn {
    /// As many members as fit into one transaction.
    All,
    /// One member, which shows whether the rest is over.
    One,
    /// No member, until the rest is over.
    Wait,
}

/// The failure that holds back one act of a token.
#[derive(Debug, Clone)]
pub(crate) struct TokenFailure {
    pub why: RestCause,
    /// The facts, in words for operators.
    pub facts: Arc<str>,
    /// The block of the transaction that failed.
    pub height: u64,
}

/// One rest, from the failure that began it.
#[derive(Debug, Clone)]
struct Rest {
    why: RestCause,
    facts: Arc<str>,
    /// The highest block whose transaction began it or made it longer.
    height: u64,
    /// The length of the rest, in milliseconds.
    length: Millis,
    /// When it is over, in the clock's ticks; a member that goes alone moves it on.
    until: u64,
    /// One member is on its way to show whether it is over.
    tried: bool,
}

/// The rest of one act of a token, where there is one.
#[derive(Debug, Default)]
pub(crate) struct TokenRest(Mutex<Option<Rest>>);

impl TokenRest {
    fn rest(&self) -> MutexGuard<'_, Option<Rest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is signed from now on. `first`: how long the first rest lasts. Several transactions that fail
    /// during one rest make it no longer.
    pub(crate) fn failed(&self, failure: TokenFailure, now: u64, first: Millis) {
        let TokenFailure { why, facts, height } = failure;
        let mut rest = self.rest();
        let before = rest.as_ref().filter(|rest| !forgotten(rest, now));
        let (length, height) = match before {
            Some(rest) if !rest.tried && now < rest.until => return,
            Some(rest) => (longer(rest.length), later(rest.height, height)),
            None => (first, height),
        };
        let until = ends(now, length);
        *rest = Some(Rest { why, facts, height, length, until, tried: false });
    }

    /// The members that may be signed for; one that goes alone has the turn until it is proven, or for `first`.
    pub(crate) fn turn(&self, now: u64, first: Millis) -> SignTurn {
        let mut rest = self.rest();
        match rest.as_mut() {
            None => SignTurn::All,
            Some(rest) if now < rest.until => SignTurn::Wait,
            Some(rest) => {
                rest.until = ends(now, first);
                rest.tried = true;
                SignTurn::One
            }
        }
    }

    /// The member that had the turn was not signed for: another one has it.
    pub(crate) fn turn_back(&self, now: u64) {
        if let Some(rest) = self.rest().as_mut().filter(|rest| rest.tried) {
            rest.until = now;
            rest.tried = false;
        }
    }

    /// A transaction at that height succeeded: one that is older than the failure says nothing of it.
    pub(crate) fn succeeded(&self, height: u64) {
        let mut rest = self.rest();
        if rest.as_ref().is_some_and(|rest| rest.height < height) {
            *rest = None;
        }
    }

    /// What it was for is over: one that is for something else goes on.
    pub(crate) fn end(&self, why: RestCause) {
        let mut rest = self.rest();
        if rest.as_ref().is_some_and(|rest| rest.why == why) {
            *rest = None;
        }
    }

    /// For how many milliseconds nothing is signed; `None`: it may be now.
    pub(crate) fn left(&self, now: u64) -> Option<Millis> {
        let until = self.rest().as_ref().map(|rest| rest.until)?;
        (now < until).then(|| until.saturating_sub(now).div_ceil(TICKS))
    }

    /// Why nothing is signed, and what was seen, as long as it is not known to be over.
    pub(crate) fn cause_in_force(&self, now: u64) -> Option<(RestCause, Arc<str>)> {
        let rest = self.rest();
        let rest = rest.as_ref().filter(|rest| !forgotten(rest, now))?;
        Some((rest.why, rest.facts.clone()))
    }
}

/// When a rest that begins now is over, in ticks.
fn ends(now: u64, length: Millis) -> u64 {
    now.saturating_add(length.saturating_mul(TICKS))
}

/// How long the rest after one of that length lasts, in milliseconds.
fn longer(length: Millis) -> Millis {
    let twice = length.saturating_mul(2);
    if twice > LONGEST { LONGEST } else { twice }
}

fn later(one: u64, other: u64) -> u64 {
    if one > other { one } else { other }
}

/// True where the rest was over long ago, and no member tried to end it.
fn forgotten(rest: &Rest, now: u64) -> bool {
    now >= ends(rest.until, FORGOTTEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000 * TICKS;
    const FIRST: Millis = 30_000;

    fn fails(rest: &TokenRest, height: u64, now: u64) {
        let failure = TokenFailure { why: RestCause::Paused, facts: "paused".into(), height };
        rest.failed(failure, now * SECOND, FIRST);
    }

    fn turn(rest: &TokenRest, now: u64) -> SignTurn {
        rest.turn(now * SECOND, FIRST)
    }

    /// Turns red where every key signs after a rest, where a contract that stays paused is tried at one pace,
    /// and where each transaction of one wave makes the rest longer.
    #[test]
    fn one_goes_alone_after_a_rest_and_each_failure_makes_it_longer() {
        let rest = TokenRest::default();
        assert_eq!(turn(&rest, 0), SignTurn::All);
        for height in 7..20 {
            fails(&rest, height, 0);
        }
        assert_eq!(rest.left(0), Some(FIRST));
        assert_eq!(
            [29, 30, 31, 59].map(|now| turn(&rest, now)),
            [SignTurn::Wait, SignTurn::One, SignTurn::Wait, SignTurn::Wait]
        );
        fails(&rest, 30, 59);
        assert_eq!(rest.left(59 * SECOND), Some(2 * FIRST));
        let mut now = 59;
        for _ in 0..10 {
            now += rest.left(now * SECOND).unwrap() / 1_000;
            assert_eq!(turn(&rest, now), SignTurn::One);
            fails(&rest, 30, now);
        }
        assert_eq!(rest.left(now * SECOND), Some(LONGEST));
    }

    #[test]
    fn a_turn_that_is_not_used_goes_to_another() {
        let rest = TokenRest::default();
        fails(&rest, 7, 0);
        assert_eq!(turn(&rest, 30), SignTurn::One);
        rest.turn_back(31 * SECOND);
        assert_eq!([turn(&rest, 31), turn(&rest, 60)], [SignTurn::One, SignTurn::Wait]);
        assert_eq!(turn(&rest, 61), SignTurn::One, "what has it may be lost");
    }

    /// Turns red where a payment that landed before the pause ends the rest.
    #[test]
    fn only_a_later_success_ends_it() {
        let rest = TokenRest::default();
        fails(&rest, 7, 0);
        rest.succeeded(7);
        assert_eq!(rest.left(0), Some(FIRST));
        rest.succeeded(8);
        assert_eq!((turn(&rest, 0), rest.cause_in_force(0)), (SignTurn::All, None));
    }

    #[test]
    fn a_rest_that_no_member_tries_to_end_is_over() {
        let rest = TokenRest::default();
        fails(&rest, 7, 0);
        assert!(rest.cause_in_force(149 * SECOND).is_some());
        assert_eq!(rest.cause_in_force(150 * SECOND), None);
        fails(&rest, 9, 150);
        assert_eq!(rest.left(150 * SECOND), Some(FIRST), "it begins anew");
    }
}
