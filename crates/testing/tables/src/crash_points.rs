//! Lists the crash points of a flow: every moment at which a process may die and leave something behind.
//! The generic tests crash at each.

use kernel::flow::life::{Step, Via};
use kernel::flow::table::{S, Table};

/// The moment at which a process dies, beside a write or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Nothing of the write exists.
    BeforeWrite,
    /// The write was begun; it counts as a whole or not at all.
    TornWrite,
    /// The write is durable and has no effect yet.
    AfterWrite,
    /// The form is signed and is not stored.
    SignedNotStored,
    /// The intent is durable and nothing was sent.
    BeforeSend,
    /// The other side has acted; its reply did not arrive.
    ReplyLost,
    /// The reply arrived and was not written.
    ReplyNotStored,
    /// The proof was read and not written.
    ProofNotStored,
}

/// One moment in a state: at the call that it makes, or at the write of one of its edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The state in which the process dies.
    pub state: S,
    /// The edge that is written; `None` where it is not known yet.
    pub via: Option<Via>,
    /// The moment within the state.
    pub moment: Moment,
}

/// The crash points of a table, by state.
pub fn of(t: &Table) -> Vec<Point> {
    use Moment::{
        AfterWrite, BeforeSend, BeforeWrite, ProofNotStored, ReplyLost, ReplyNotStored,
        SignedNotStored, TornWrite,
    };
    let mut points = Vec::new();
    for state in t.all() {
        let mut at = |via, moments: &[Moment]| {
            points.extend(moments.iter().map(|moment| Point { state, via, moment: *moment }));
        };
        match t.step(state) {
            Step::Claim { to } if t.sends(to) => {
                at(Some(Via::Claim), &[BeforeWrite, SignedNotStored, TornWrite, AfterWrite]);
            }
            Step::Claim { .. } => at(Some(Via::Claim), &[BeforeWrite, TornWrite, AfterWrite]),
            Step::Decide { .. } => at(None, &[BeforeWrite]),
            Step::Call { .. } | Step::Push { .. } => {
                at(None, &[BeforeSend, ReplyLost, ReplyNotStored]);
            }
            Step::Send { .. } => {
                at(None, &[BeforeSend, ReplyLost, ReplyNotStored, ProofNotStored]);
            }
            Step::End => {}
        }
        for (via, _) in t.edges(state) {
            // a claim's write stands above; an unknown answer writes no edge
            if !matches!(via, Via::Claim | Via::Unknown) {
                at(Some(via), &[TornWrite, AfterWrite]);
            }
        }
    }
    points
}
