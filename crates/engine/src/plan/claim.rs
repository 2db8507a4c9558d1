//! Plans the unit of a claim, for the gatherers: it moves every member to its sending state, stores the
//! attempt with its signed form, and gives the lane to the attempt. Pure.

use crate::plan::lane_state::LaneState;
use crate::plan::planner::{FuseMode, Plan, Planned, Transition, UnitBuilder};
use kernel::attempt::{Attempt, AttemptId, Form, Lock};
use kernel::flow::life::Via;
use kernel::flow::table::S;
use kernel::ids::{ChainId, FlowId, LedgerId};
use kernel::record::Record;
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

/// What a claim is made of.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    pub id: AttemptId,
    pub flow: FlowId,
    pub chain: ChainId,
    pub lane: &'a Arc<str>,
    /// The lane's state before the claim: free. `None` for an attempt beside another one of its lock, which
    /// does not take the lane.
    pub state: Option<&'a LaneState>,
    pub lock: Lock,
    pub form: Form,
    /// The sending state that the members go to.
    pub to: S,
    /// The guard that the chain was not stopped since its lanes were found level; `None` for a payment that
    /// explains a stop.
    pub level: Option<Guard>,
}

/// A unit about many transfers, while `claim` or `close` puts it together.
#[derive(Debug, Default)]
pub(crate) struct SharedUnit {
    pub unit: Unit,
    pub depends_on: Vec<LedgerId>,
}

impl SharedUnit {
    /// Adds the plan of one transfer.
    pub(crate) fn add(&mut self, planned: Planned) {
        let Planned { unit: Unit { guards, then }, depends_on, .. } = planned;
        // each transfer has its own, but for those that are about the service
        for guard in guards {
            if !matches!(guard, Guard::NotHalted) || !self.unit.guards.contains(&guard) {
                self.unit.guards.push(guard);
            }
        }
        let events = self.unit.then.events.len();
        let all = &mut self.unit.then;
        all.puts.extend(then.puts);
        all.events.extend(then.events);
        all.ops.extend(then.ops);
        all.outbox.extend(then.outbox.into_iter().map(|mut outgoing| {
            outgoing.event = outgoing.event.map(|at| at.saturating_add(events));
            outgoing
        }));
        for ledger in depends_on {
            if !self.depends_on.contains(&ledger) {
                self.depends_on.push(ledger);
            }
        }
    }
}

impl Plan {
    /// The attempt as it is stored, and the unit that stores it.
    pub(crate) fn claimed(&self, records: &[Record], claim: Claim<'_>) -> (Attempt, Unit) {
        let Claim { id, flow, chain, lane, state, lock, form, to, level } = claim;
        let mut shared = SharedUnit::default();
        shared.unit.guards.extend([Guard::NotHalted].into_iter().chain(level));
        let mut members = Vec::with_capacity(records.len());
        for record in records {
            let mut builder = UnitBuilder::of(record);
            builder.moves = true;
            self.go(&mut builder, Transition { via: Via::Claim, to }, None);
            let planned = self.sealed(builder, FuseMode::NoClaim, None);
            members.push(Record { head: planned.next.otherwise, ..record.clone() });
            shared.add(planned);
        }
        let attempt = Attempt {
            id,
            chain,
            flow,
            state: to,
            version: Attempt::FIRST,
            lane: lane.clone(),
            lock,
            members: members.into(),
            forms: vec![form],
            sent: false,
            due_at: None,
            closed: None,
        };
        let Unit { guards, then } = &mut shared.unit;
        let lane_row = state.map(|state| state.becomes(chain, lane, &state.next(&attempt)));
        let (guard, put) = lane_row.unzip();
        // the lane first: a lock that another worker took is no contradiction where the lane moved as well
        guards.extend(guard);
        let lock = attempt.lock.clone();
        guards.push(Guard::LockFree { chain, lane: lane.clone(), lock });
        then.puts.push(Put::Attempt(attempt.clone()));
        then.puts.extend(put);
        (attempt, shared.unit)
    }
}
