//! The journal suite turns red at the check that a wrong journal breaks.

use crate::suite_journal::simulated;
use crate::wrong::complaint;
use conformance::journal::{Site, run};
use kernel::flow::table::Flows;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::World;
use kernel::unit::{Guard, Hold, Put, Then, Unit, Wrote};
use sim::world::Sim;
use std::sync::Arc;
use testkit::wrapper::{JournalWrapper, Wrapper};
use testkit::{ManualClock, OpenedStore};

/// What a wrong journal makes of a unit.
pub(crate) type Mutation = fn(&mut Unit);

struct MutatedLedger {
    inner: Arc<dyn Journal>,
    mutation: Mutation,
}

impl JournalWrapper for MutatedLedger {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        units.iter_mut().for_each(self.mutation);
        self.inner.write(units)
    }
}

/// Every part of a unit that may be written.
pub(crate) fn parts(unit: &mut Unit) -> impl Iterator<Item = &mut Then> {
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

/// Changes puts of a kind.
macro_rules! mutated {
    ($kind:pat => $change:expr) => {
        |unit| {
            for put in &mut unit.then.puts {
                if let $kind = put {
                    $change;
                }
            }
        }
    };
}

/// Forgets puts of a kind.
macro_rules! unput {
    ($kind:pat) => {
        |unit| unit.then.puts.retain(|put| !matches!(put, $kind))
    };
}

/// The suite turns red over this journal, at that check.
pub(crate) fn reds(
    wrong: impl Fn(Arc<dyn Journal>) -> Arc<dyn Journal> + Send + Sync + 'static,
    check: &str,
) {
    turns_red(
        move |opened| OpenedStore { journal: wrong(opened.journal.clone()), ..opened },
        check,
    );
}

/// The suite turns red over this way of external money, at that check.
pub(crate) fn reds_world(
    wrong: impl Fn(Arc<dyn World>) -> Arc<dyn World> + Send + Sync + 'static,
    check: &str,
) {
    turns_red(move |opened| OpenedStore { world: wrong(opened.world.clone()), ..opened }, check);
}

fn turns_red(wrong: impl Fn(OpenedStore) -> OpenedStore + Send + Sync + 'static, check: &str) {
    let wrong = Arc::new(wrong);
    let fresh = move |clock: ManualClock, flows: Arc<Flows>| -> Site {
        let (mut site, wrong) = (simulated(clock, flows), wrong.clone());
        Box::new(move || {
            let (opening, wrong) = (site(), wrong.clone());
            Box::pin(async move { wrong(opening.await) })
        })
    };
    let complaint = complaint(check, || {
        if let Err(stop) = Sim::new(1).block_on(run(fresh)) {
            panic!("{stop:?}");
        }
    });
    assert!(complaint.contains(&format!("{check}: ")), "{check}: {complaint}");
}

/// The suite turns red over a journal that makes this of its units.
pub(crate) fn red(mutation: Mutation, check: &str) {
    reds(move |inner| Arc::new(Wrapper(MutatedLedger { inner, mutation })), check);
}

/// The suite turns red over the wrong build of that name.
pub(crate) fn red_build(name: &'static str, check: &str) {
    reds(move |inner| sim::wrong::journal(Some(name), inner), check);
}

pub(crate) use {mutated, unguarded, unput};

#[test]
fn each_guard_that_is_forgotten_turns_its_check_red() {
    red(unguarded!(Guard::Fresh(_)), "fresh_means_an_id_that_never_was");
    red(unguarded!(Guard::Unbound { .. }), "unbound_means_a_key_that_never_was");
    // a move whose guard is gone is refused by the rule: `a_move_is_guarded_and_its_version_grows_by_one`
    red(
        |unit| {
            let moves = |then: &Then| then.puts.iter().any(|put| matches!(put, Put::Head { .. }));
            if !unit.thens().any(moves) {
                unit.guards.retain(|guard| !matches!(guard, Guard::Transfer { .. }));
            }
        },
        "a_transfer_stands_exactly_there",
    );
    red(unguarded!(Guard::Incarnation { .. }), "an_incarnation_is_the_current_one");
    red(unguarded!(Guard::Owner { .. }), "a_core_is_taken_over_only_at_its_epoch");
    red(unguarded!(Guard::AtMost { .. }), "at_most_counts_up_to_its_limit");
    red(unguarded!(Guard::Inbox { .. }), "an_event_is_consumed_once");
    red(unguarded!(Guard::Resource { .. }), "a_resource_has_a_version");
    red(unguarded!(Guard::Attempt { .. }), "an_attempt_has_a_version");
    red(unguarded!(Guard::NotHalted), "a_fork_after_a_lost_guard_is_not_decided");
    red(|unit| unit.guards.dedup(), "guards_of_one_unit_count_together");
}

/// Changes what events agree.
macro_rules! agreeing {
    ($change:expr) => {
        |unit| unit.then.events.iter_mut().for_each($change)
    };
}

/// The agreement is not written, written with another amount, or beside a unit that moves nothing.
#[test]
fn an_agreement_that_is_lost_or_changed_turns_its_check_red() {
    red(agreeing!(|event| event.agreed = None), "what_is_agreed_comes_back_as_it_was");
    let check = "what_is_agreed_comes_back_as_it_was";
    red(
        agreeing!(|event| if let Some(agreed) = &mut event.agreed {
            std::sync::Arc::make_mut(agreed).fee.0 += 1;
        }),
        check,
    );
    red(
        |unit| {
            let agrees = unit.then.events.iter().any(|event| event.agreed.is_some());
            if agrees && !unit.then.puts.iter().any(|put| matches!(put, Put::Head { .. })) {
                unit.then.events.iter_mut().for_each(|event| event.agreed = None);
            }
        },
        "a_unit_that_moves_nothing_agrees_nothing",
    );
}

#[test]
fn each_put_that_is_forgotten_turns_its_check_red() {
    red(unput!(Put::Raise { .. }), "at_most_counts_up_to_its_limit");
    red(unput!(Put::Adopt { .. }), "an_incarnation_is_the_current_one");
    red(unput!(Put::AdoptAfterLoss { .. }), "an_adoption_after_a_loss_lowers_the_highest");
    red(unput!(Put::Own { .. }), "a_core_is_taken_over_only_at_its_epoch");
    red(unput!(Put::Resource { .. }), "a_resource_has_a_version");
    red(unput!(Put::Attempt(_)), "an_attempt_has_a_version");
    red(unput!(Put::Receipt { .. }), "a_receipt_is_kept_with_its_transfer");
    red(unput!(Put::Horizon(_)), "fresh_means_an_id_that_never_was");
    red(unput!(Put::Pause { .. }), "a_pause_stands_once_for_its_scope_and_caller");
    red(unput!(Put::Halt { .. }), "a_fork_after_a_lost_guard_is_not_decided");
    red(
        |unit| unit.then.events.clear(),
        "a_head_of_the_same_unit_changes_the_row_before_it_is_there",
    );
    red(|unit| unit.then.ops.clear(), "a_unit_is_all_or_nothing");
    red(|unit| parts(unit).for_each(|then| then.ops.clear()), "a_way_may_settle_too");
    red(|unit| parts(unit).for_each(|then| then.events.clear()), "a_done_fork_writes_one_way");
    red(
        mutated!(Put::Head { hold, .. } => *hold = Hold::Free),
        "a_kept_one_comes_only_when_its_keeper_forgot_it",
    );
    red(mutated!(Put::Head { head, .. } => head.due_at = None), "a_head_moves_a_transfer");
}

#[test]
fn each_wrong_build_of_attempts_turns_its_check_red() {
    red_build("lock-reused", "a_lock_is_taken_once_for_ever");
    red_build("members-alone", "a_dead_owners_attempt_comes_and_its_members_do_not");
    red_build("attempts-forgotten", "a_dead_owners_attempt_comes_and_its_members_do_not");
    red(unput!(Put::Form(..)), "forms_are_read_in_the_order_of_signing");
    red(
        mutated!(Put::AttemptHead { closed, .. } => *closed = None),
        "an_attempt_is_found_by_member_lane_and_form",
    );
    red(
        mutated!(Put::AttemptHead { hold, .. } => *hold = Hold::Free),
        "an_attempt_comes_when_its_time_has_come",
    );
    red(unguarded!(Guard::AtLeast { .. }), "a_counter_is_given_back_what_was_taken");
    red(unput!(Put::Take { .. }), "a_counter_is_given_back_what_was_taken");
    red(unput!(Put::Add { .. }), "a_counter_is_given_back_what_was_taken");
    red(backwards, "an_attempt_is_read_whole");
}

/// Members are stored in another order than that in which they are paid.
fn backwards(unit: &mut Unit) {
    for put in &mut unit.then.puts {
        if let Put::Attempt(attempt) = put {
            attempt.members = attempt.members.iter().rev().cloned().collect();
        }
    }
}
