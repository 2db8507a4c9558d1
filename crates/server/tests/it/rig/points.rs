//! Where a process is stopped dead, and how a port is hindered.

use kernel::ids::LedgerId;
use kernel::life::Leg;
use kernel::unit::{Put, Then, Unit};

/// Something that reaches a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// The journal's write that carries this event, as the engine asks for it.
    Write(&'static str),
    /// The same, as it reaches the store itself.
    Commit(&'static str),
    /// A leg at a ledger, called at its port or carried by a unit.
    Call(LedgerId, Leg),
    /// The n-th write or call that is about a transfer.
    Step(usize),
}

/// When, seen from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Nothing of it happened.
    Before,
    /// So many percent of its bytes are there; nobody was answered.
    Torn(usize),
    /// All of it is durable; nobody was answered.
    After,
}

/// A crash point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub at: At,
    pub when: When,
}

pub(crate) const fn point(at: At, when: When) -> Point {
    Point { at, when }
}

/// What happens to a call on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never arrives.
    LoseRequest,
    /// The store has no room and says so before it writes anything.
    NoRoom,
    /// It is done, and nobody hears of it.
    LoseReply,
    /// It waits until the fault is lifted, and is done then.
    HangBefore,
    /// It is done, and the reply waits until the fault is lifted.
    HangAfter,
}

/// A unit carries this event, on one of its ways.
pub(crate) fn tells(unit: &Unit, what: &str) -> bool {
    fn in_then(then: &Then, what: &str) -> bool {
        let here = then.events.iter().any(|event| event.what == what);
        here || then.fork.as_ref().is_some_and(|fork| {
            in_then(&fork.done, what) || fork.rejected.as_ref().is_some_and(|r| in_then(r, what))
        })
    }
    in_then(&unit.then, what)
}

/// A unit makes this leg at this ledger.
pub(crate) fn makes(unit: &Unit, ledger: LedgerId, leg: Leg) -> bool {
    unit.then.fork.as_ref().is_some_and(|f| f.ledger == ledger && f.op.key.leg == leg)
}

/// A unit opens a transfer.
pub(crate) fn opens(unit: &Unit) -> bool {
    unit.then.puts.iter().any(|put| matches!(put, Put::Open(_)))
}

/// A unit opens or moves a transfer.
pub(crate) fn moves(unit: &Unit) -> bool {
    !unit.then.events.is_empty() || unit.then.fork.is_some() || opens(unit)
}
