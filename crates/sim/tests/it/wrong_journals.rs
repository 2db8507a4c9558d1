//! The journal suite turns red at the check that a wrong journal breaks.

use crate::suite_journal::simulated;
use crate::wrong::complaint;
use kernel::answer::Cause;
use kernel::ids::{FlowId, Id, Millis, UserId, WorkerId};
use kernel::ports::Fut;
use kernel::ports::journal::{Count, Due, Journal, Linked, Snapshot, Standing};
use kernel::record::Record;
use kernel::table::Flows;
use kernel::unit::{Guard, Hold, Put, Then, Unit, Wrote};
use sim::suite::HandClock;
use sim::suite::journal::{Opened, Site, run};
use sim::world::Sim;
use std::sync::Arc;

/// What a wrong journal makes of a unit.
type Bend = fn(&mut Unit);

struct Bent {
    inner: Arc<dyn Journal>,
    bend: Bend,
}

impl Journal for Bent {
    fn now(&self) -> Millis {
        self.inner.now()
    }

    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        units.iter_mut().for_each(self.bend);
        self.inner.write(units)
    }

    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner.get(ids)
    }

    fn bound(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.inner.bound(flow, scope, key)
    }

    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.inner.history(id)
    }

    fn due(&self, worker: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        self.inner.due(worker, limit)
    }

    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.inner.open_below(id)
    }

    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner.open_of(user)
    }

    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.inner.counts()
    }

    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        self.inner.standing()
    }

    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        self.inner.snapshot()
    }
}

/// Every part of a unit that may be written.
fn parts(unit: &mut Unit) -> impl Iterator<Item = &mut Then> {
    let Then { puts, events, ops, fork, .. } = &mut unit.then;
    let _ = (puts, events, ops);
    fork.iter_mut().flat_map(|fork| std::iter::once(&mut fork.done).chain(&mut fork.rejected))
}

/// Forgets guards of a kind.
macro_rules! unguarded {
    ($kind:pat) => {
        |unit| unit.guards.retain(|guard| !matches!(guard, $kind))
    };
}

/// Forgets puts of a kind.
macro_rules! unput {
    ($kind:pat) => {
        |unit| unit.then.puts.retain(|put| !matches!(put, $kind))
    };
}

/// The suite's complaint about a journal that makes this of its units.
fn red(bend: Bend, check: &str) {
    let fresh = move |clock: HandClock, flows: Arc<Flows>| -> Site {
        let mut site = simulated(clock, flows);
        Box::new(move || {
            let opening = site();
            Box::pin(async move {
                let Opened { journal, funding, world } = opening.await;
                Opened { journal: Arc::new(Bent { inner: journal, bend }), funding, world }
            })
        })
    };
    let complaint = complaint(check, || {
        if let Err(stop) = Sim::new(1).block_on(run(fresh)) {
            panic!("{stop:?}");
        }
    });
    assert!(complaint.contains(&format!("{check}: ")), "{check}: {complaint}");
}

#[test]
fn each_guard_that_is_forgotten_turns_its_check_red() {
    red(unguarded!(Guard::Fresh(_)), "fresh_means_an_id_that_never_was");
    red(unguarded!(Guard::Unbound { .. }), "unbound_means_a_key_that_never_was");
    red(unguarded!(Guard::Transfer { .. }), "a_transfer_stands_exactly_there");
    red(unguarded!(Guard::Incarnation { .. }), "an_incarnation_is_the_current_one");
    red(unguarded!(Guard::AtMost { .. }), "at_most_counts_up_to_its_limit");
    red(unguarded!(Guard::Inbox { .. }), "an_event_is_consumed_once");
    red(unguarded!(Guard::Resource { .. }), "a_resource_has_a_version");
    red(unguarded!(Guard::Attempt { .. }), "an_attempt_has_a_version");
    red(unguarded!(Guard::NotHalted), "a_fork_after_a_lost_guard_is_not_decided");
}

#[test]
fn each_put_that_is_forgotten_turns_its_check_red() {
    red(unput!(Put::Raise { .. }), "at_most_counts_up_to_its_limit");
    red(unput!(Put::Adopt { .. }), "an_incarnation_is_the_current_one");
    red(unput!(Put::Resource { .. }), "a_resource_has_a_version");
    red(unput!(Put::Attempt(_)), "an_attempt_has_a_version");
    red(unput!(Put::Receipt { .. }), "a_receipt_is_kept_with_its_transfer");
    red(unput!(Put::Horizon(_)), "fresh_means_an_id_that_never_was");
    red(unput!(Put::Pause { .. }), "a_pause_stands");
    red(unput!(Put::Halt { .. }), "a_fork_after_a_lost_guard_is_not_decided");
    red(
        |unit| unit.then.events.clear(),
        "a_head_of_the_same_unit_changes_the_row_before_it_is_there",
    );
    red(|unit| unit.then.ops.clear(), "a_unit_is_all_or_nothing");
    red(|unit| parts(unit).for_each(|then| then.ops.clear()), "a_way_may_settle_too");
    red(|unit| parts(unit).for_each(|then| then.events.clear()), "a_done_fork_writes_one_way");
    red(
        |unit| {
            for put in &mut unit.then.puts {
                if let Put::Head { hold, .. } = put {
                    *hold = Hold::Free;
                }
            }
        },
        "a_kept_one_comes_only_when_its_keeper_forgot_it",
    );
    red(
        |unit| {
            for put in &mut unit.then.puts {
                if let Put::Head { head, .. } = put {
                    head.due_at = None;
                }
            }
        },
        "a_head_moves_a_transfer",
    );
}
