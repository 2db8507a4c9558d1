//! Makes transfers of the deposits that a watcher observed on a chain, and moves the watcher's cursor with
//! them.
//!
//! All openings and the cursor are one unit: no deposit is lost between two units, and none is opened
//! twice, since each is bound to its place on the chain. A deposit has happened whatever is paused, limited
//! or halted here, so it is always written; its transfer then waits.

use crate::commit::outcome::WriteOutcome;
use crate::drive::Pipeline;
use crate::state::cases::Cases;
use crate::state::in_flight::InFlight;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::{ChainId, FlowId, Id};
use kernel::money::Amount;
use kernel::ports::meter::Seen;
use kernel::record::{Binding, Head, Record, System, Terms};
use kernel::unit::{Guard, Put, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The cursor of a watcher: a resource of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The name of the resource.
    pub name: Arc<str>,
    /// The version from which the watcher read on; 0 where there was none.
    pub version: u32,
    /// The place from which it reads on next.
    pub value: Arc<str>,
}

/// The deposits that a watcher found on its chain since its cursor.
#[derive(Debug, Clone)]
pub struct Observation {
    pub chain: ChainId,
    pub flow: FlowId,
    pub cursor: Cursor,
    /// The terms of each deposit, with its origin. At most as many as one write takes
    /// ([`crate::Settings::batch_max`]).
    pub deposits: Vec<Terms>,
    /// What the same unit writes beside them.
    pub beside: Vec<Put>,
}

/// The result of an observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservationResult {
    /// The cursor moved, and these were opened. Deposits that are missing here were opened before.
    Stored(Vec<Id>),
    /// Another watcher moved the cursor: nothing was written, and the cursor is read again.
    Superseded,
}

/// The outcome of one write of an observation.
enum Attempted {
    Done(ObservationResult),
    /// This key was bound before.
    Known(Arc<str>),
    /// An id was taken: the next write has other ids.
    Again,
}

/// Stores what a watcher observed on a chain, and opens the transfers of its deposits.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct ObservedDeposits {
    shared: Arc<SharedState>,
    cases: Arc<Cases>,
    in_flight: Arc<InFlight>,
    pipeline: Arc<Pipeline>,
}

impl ObservedDeposits {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        cases: &Arc<Cases>,
        in_flight: &Arc<InFlight>,
        pipeline: &Arc<Pipeline>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            cases: cases.clone(),
            in_flight: in_flight.clone(),
            pipeline: pipeline.clone(),
        })
    }

    /// Opens the transfers of an observation and moves its cursor, in one unit.
    ///
    /// # Errors
    /// The cause for which the outcome is not known: the cursor is read again, and the chain from there.
    /// `BAD_OBSERVATION` where it is none of this flow and chain, and nothing was written.
    pub async fn store_observation(
        &self,
        observation: Observation,
    ) -> Result<ObservationResult, Cause> {
        let mut records = self.observed(&observation)?;
        let mut known = Vec::new();
        let result = loop {
            match self.write_observation(&observation, &records).await? {
                Attempted::Done(result) => break result,
                Attempted::Known(key) => {
                    let is_known = |record: &Record| origin_key(record) == Some(&key);
                    let before = records.len();
                    known.extend(records.iter().find(|record| is_known(record)).cloned());
                    records.retain(|record| !is_known(record));
                    if records.len() == before {
                        return Err(Cause::because("BAD_OBSERVATION", "another key was bound"));
                    }
                }
                Attempted::Again => {
                    records.iter_mut().for_each(|record| record.id = self.shared.mint())
                }
            }
        };
        if let ObservationResult::Stored(_) = &result {
            self.compare_known(&known).await?;
        }
        Ok(result)
    }

    /// The transfers of an observation, in their first state.
    fn observed(&self, observation: &Observation) -> Result<Vec<Record>, Cause> {
        let bad = |why: &'static str| Cause::because("BAD_OBSERVATION", why);
        let Observation { chain, flow, deposits, .. } = observation;
        if !self.shared.offers(*flow) {
            return Err(bad("the flow is not offered"));
        }
        if deposits.len() > self.shared.parts.settings.batch_max {
            return Err(bad("more deposits than one write takes"));
        }
        let (mut keys, mut records) = (BTreeSet::new(), Vec::with_capacity(deposits.len()));
        for deposit in deposits {
            let Some(origin) = deposit.origin.as_ref().filter(|origin| origin.chain == *chain)
            else {
                return Err(bad("a deposit without a place on this chain"));
            };
            if deposit.source.system != System::Chain(*chain)
                || deposit.source.amount == Amount::ZERO
            {
                return Err(bad("a deposit that is not of this chain, or of nothing"));
            }
            if !keys.insert(origin.key.clone()) {
                return Err(bad("two deposits at one place"));
            }
            let (scope, key) = (chain.name().into(), origin.key.clone());
            let binding = Binding { scope, key, fingerprint: deposit.fingerprint() };
            let terms = Terms { binding: Some(binding), ..deposit.clone() };
            let head = Head::start(self.shared.plan.table(*flow).start);
            records.push(Record::new(self.shared.mint(), *flow, head, Arc::new(terms)));
        }
        Ok(records)
    }

    /// Writes the cursor with these openings.
    async fn write_observation(
        &self,
        observation: &Observation,
        records: &[Record],
    ) -> Result<Attempted, Cause> {
        let Cursor { name, version, value } = &observation.cursor;
        let mut unit = Unit::guarded(
            vec![Guard::Resource { name: name.clone(), version: *version }],
            vec![Put::Resource { name: name.clone(), value: value.clone() }],
        );
        unit.then.puts.extend(observation.beside.iter().cloned());
        for record in records {
            append(&mut unit, self.pipeline.parking(record, None).unit)?;
        }
        match self.shared.writer.write(unit).await {
            WriteOutcome::Done(_) => {
                let table = self.shared.plan.table(observation.flow);
                let (flow, state) = (table.flow, table.state(table.start).name);
                for _ in records {
                    self.in_flight.counted();
                    self.shared.parts.meter.see(Seen::Opened { flow, state });
                }
                let ids = records.iter().map(|record| record.id).collect();
                Ok(Attempted::Done(ObservationResult::Stored(ids)))
            }
            WriteOutcome::Lost(Guard::Unbound { key, .. }) => Ok(Attempted::Known(key)),
            WriteOutcome::Lost(Guard::Fresh(_)) => Ok(Attempted::Again),
            WriteOutcome::Lost(_) => Ok(Attempted::Done(ObservationResult::Superseded)),
            WriteOutcome::NotWritten(why) => Err(why.cause),
        }
    }

    /// Checks that deposits which were opened before, at the same places on the chain, say the same: a
    /// chain that says something else now contradicts what was stored.
    async fn compare_known(&self, known: &[Record]) -> Result<(), Cause> {
        for record in known {
            let Some(binding) = &record.terms.binding else { continue };
            let (scope, key) = (binding.scope.clone(), binding.key.clone());
            let found =
                self.shared.parts.journal.find_by_idempotency_key(record.flow, scope, key).await?;
            let Some(stored) = found else { continue };
            let same = |b: &Binding| b.fingerprint == binding.fingerprint;
            if !stored.terms.binding.as_ref().is_some_and(same) {
                self.cases
                    .contradicted(&stored, "the chain shows another deposit at its place now");
            }
        }
        Ok(())
    }
}

fn origin_key(record: &Record) -> Option<&Arc<str>> {
    record.terms.origin.as_ref().map(|origin| &origin.key)
}

/// Appends the opening of one more transfer. It opens under HALT too, since it claims nothing.
fn append(unit: &mut Unit, opening: Unit) -> Result<(), Cause> {
    let Unit { guards, then } = opening;
    if then.fork.is_some() || !then.ops.is_empty() {
        return Err(Cause::because("BAD_OBSERVATION", "an opening that moves money"));
    }
    let before = unit.then.events.len();
    unit.guards.extend(guards.into_iter().filter(|guard| !matches!(guard, Guard::NotHalted)));
    unit.then.puts.extend(then.puts);
    unit.then.events.extend(then.events);
    unit.then.outbox.extend(then.outbox.into_iter().map(|mut message| {
        message.event = message.event.map(|n| n.saturating_add(before));
        message
    }));
    Ok(())
}
