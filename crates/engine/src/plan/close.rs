//! Plans the units of a stored attempt, for the provers: one ends it for all members at once, one adds a
//! form, one says that a form may be on the wire, and one takes it over from another worker. Pure.

use crate::plan::chain_stop::{LANE_AHEAD, lane_stop};
use crate::plan::claim::SharedUnit;
use crate::plan::lane_acts::LaneAct;
use crate::plan::lane_state::LaneState;
use crate::plan::planner::{FuseMode, Plan};
use kernel::answer::{Answer, Evidence};
use kernel::attempt::{Attempt, Form, MemberVerdict};
use kernel::ids::{Id, LedgerId, Millis};
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::chain::SpentLock;
use kernel::record::Record;
use kernel::unit::{Guard, Hold, Put, Unit};

/// The unit that closes an attempt, and the state in which it leaves the members and the lane.
#[derive(Debug)]
pub(crate) struct Closing {
    pub unit: Unit,
    pub members: Vec<Record>,
    /// The lane's state then; `None` where the attempt does not have the lane.
    pub lane: Option<LaneState>,
    /// The case of the stop that the unit makes, since another transaction spent the lock.
    pub stop: Option<Case>,
    pub depends_on: Vec<LedgerId>,
}

/// The verdicts and the lane with which an attempt is closed.
#[derive(Debug)]
pub(crate) struct Closed<'a> {
    pub verdicts: &'a [MemberVerdict],
    /// The transaction that spent the lock, where it is no form of the attempt.
    pub spent: Option<&'a SpentLock>,
    /// Two providers at least show the end alike.
    pub by_several: bool,
    /// The lane's state now.
    pub lane: &'a LaneState,
    pub at: Millis,
}

impl Plan {
    /// Plans the unit in which every member takes the edge of its verdict, the attempt is closed and its
    /// lane is free. `None` where a member does not stand in the attempt's state, or where the state takes
    /// no such answer.
    pub(crate) fn closing(
        &self,
        attempt: &Attempt,
        closed: &Closed<'_>,
        fuse_mode: impl Fn(&Record) -> FuseMode,
    ) -> Option<Closing> {
        let mut shared = SharedUnit::default();
        let Attempt { id, version, .. } = *attempt;
        shared.unit.guards.push(Guard::Attempt { id, version });
        let mut members = Vec::with_capacity(attempt.members.len());
        for (record, verdict) in attempt.members.iter().zip(closed.verdicts) {
            if record.head.state != attempt.state {
                return None;
            }
            // an operation inside the unit would be one of a hundred that choose
            let fuse_mode = match fuse_mode(record) {
                FuseMode::Fused | FuseMode::Plain => FuseMode::Plain,
                FuseMode::NoClaim => FuseMode::NoClaim,
            };
            let mut planned = self.answered(record, &verdict.answer, fuse_mode)?;
            planned.goes_alone(verdict.alone);
            let error = refusal(&verdict.answer).or_else(|| record.error.clone());
            members.push(Record { head: planned.next.otherwise, error, ..record.clone() });
            shared.add(planned);
        }
        let lane = (closed.lane.open == Some(id)).then(|| {
            let mut after = closed.lane.closed(attempt, closed.verdicts);
            if let Some(act) = self.carried_out(attempt, closed).filter(|_| closed.by_several) {
                after.carried_out = after.carried_out.with(act);
            }
            match closed.spent {
                None => after,
                Some(spent) => after.spent_elsewhere(spent),
            }
        });
        if let Some(after) = &lane {
            let (guard, put) = closed.lane.becomes(attempt.chain, &attempt.lane, after);
            shared.unit.guards.push(guard);
            shared.unit.then.puts.push(put);
        }
        let stop = closed.spent.filter(|_| lane.is_some()).map(|spent| spent_case(attempt, spent));
        if let Some(case) = &stop {
            let puts = &mut shared.unit.then.puts;
            puts.extend(lane_stop(attempt.chain, &case.facts));
            puts.push(Put::Case(case.clone()));
        }
        shared.unit.then.puts.push(Put::AttemptHead {
            id,
            version: version.saturating_add(1),
            sent: attempt.sent,
            due_at: None,
            closed: Some(closed.at),
            hold: Hold::Mine,
        });
        let SharedUnit { unit, depends_on } = shared;
        Some(Closing { unit, members, lane, stop, depends_on })
    }
}

impl Plan {
    /// What the lane's row keeps of an attempt that the chain carried out.
    fn carried_out(&self, attempt: &Attempt, closed: &Closed<'_>) -> Option<LaneAct> {
        let Answer::Done(receipt) = &closed.verdicts.first()?.answer else { return None };
        let table = self.table(attempt.flow);
        let act = table.act(table.makes(attempt.state)?).name.into();
        let asset = attempt.members.first()?.target().asset;
        Some(LaneAct { act, asset, attempt: attempt.id, height: receipt.seq })
    }
}

/// The case of the stop that stands until what spent an attempt's lock is read: it may have paid transfers.
fn spent_case(attempt: &Attempt, spent: &SpentLock) -> Case {
    let facts = format!(
        "lane {}: another transaction spent {}, the lock of attempt {}, and the chain has spent {}",
        attempt.lane,
        attempt.lock,
        Id(attempt.id.0),
        spent.left.lock
    );
    Case {
        kind: LANE_AHEAD,
        severity: Severity::Critical,
        subject: Subject::Chain(attempt.chain),
        facts: facts.into(),
    }
}

/// The error that a member keeps of an attempt that did not pay it.
fn refusal(answer: &Answer) -> Option<Evidence> {
    match answer {
        Answer::Rejected(why, _) | Answer::Dead(why) => Some(why.clone()),
        Answer::Done(_) | Answer::Unknown(_) => None,
    }
}

/// The unit that adds one more form under the attempt's lock.
pub(crate) fn one_more_form(attempt: &Attempt, form: Form) -> Unit {
    let Attempt { id, version, .. } = *attempt;
    Unit::guarded(vec![Guard::NotHalted, Guard::Attempt { id, version }], vec![Put::Form(id, form)])
}

/// The unit that only raises the attempt's version, so that every write of another worker fails.
pub(crate) fn taken_over(attempt: &Attempt) -> Unit {
    head(attempt, attempt.sent, None, Hold::Mine)
}

/// The unit that says that a form of the attempt may be on the wire; operators see that of its members.
pub(crate) fn marked_sent(attempt: &Attempt) -> Unit {
    head(attempt, true, None, Hold::Mine)
}

/// The unit that lets any worker take the attempt over at that time.
pub(crate) fn freed(attempt: &Attempt, due: Millis) -> Unit {
    head(attempt, attempt.sent, Some(due), Hold::Free)
}

fn head(attempt: &Attempt, sent: bool, due_at: Option<Millis>, hold: Hold) -> Unit {
    let Attempt { id, version, .. } = *attempt;
    let put = Put::AttemptHead {
        id,
        version: version.saturating_add(1),
        sent,
        due_at,
        closed: None,
        hold,
    };
    Unit::guarded(vec![Guard::Attempt { id, version }], vec![put])
}
