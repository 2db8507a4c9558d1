//! The journal suite turns red where a wrong journal forgets or mixes up what operators do.

use crate::wrong_journals::{mutated, parts, red, red_build, reds, reds_world, unguarded, unput};
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::operators::{Approval, ApprovalStatus, Case};
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::record::{Record, Terms};
use kernel::unit::{Guard, Put, Then, Unit, Wrote};
use std::sync::Arc;
use testkit::wrapper::{JournalWrapper, Wrapper};

/// Reads guards of a kind before the whole group, not where their unit's turn has come.
struct LooksFirst {
    inner: Arc<dyn Journal>,
    at: fn(&Guard) -> bool,
}

impl JournalWrapper for LooksFirst {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            for unit in &mut units {
                let (guards, rest) = unit.guards.drain(..).partition(self.at);
                let looks = Unit { guards, then: Then::default() };
                unit.guards = rest;
                let looked = self.inner.write(vec![looks.clone()]).await;
                if !matches!(looked.as_slice(), [Wrote::Written(_)]) {
                    unit.guards.extend(looks.guards);
                }
            }
            self.inner.write(units).await
        })
    }
}

/// Writes rows of a kind behind their unit, also where it lost.
struct Behind {
    inner: Arc<dyn Journal>,
    of: fn(&Put) -> bool,
}

impl JournalWrapper for Behind {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let mut late = Vec::new();
            for unit in &mut units {
                let at = if unit.guards.is_empty() { |_: &Put| false } else { self.of };
                let puts = std::mem::take(&mut unit.then.puts).into_iter();
                let (of, rest) = puts.partition(at);
                unit.then.puts = rest;
                late.push(Unit::puts(of));
            }
            let wrote = self.inner.write(units).await;
            let said = |wrote: &Wrote| matches!(wrote, Wrote::Written(_) | Wrote::Lost(_));
            let late = late.into_iter().zip(&wrote).filter(|(_, wrote)| said(wrote));
            self.inner.write(late.map(|(unit, _)| unit).collect()).await;
            wrote
        })
    }
}

/// Writes each unit of a group on its own.
struct OneByOne(Arc<dyn Journal>);

impl JournalWrapper for OneByOne {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let mut wrote = Vec::new();
            for unit in units {
                wrote.extend(self.0.write(vec![unit]).await);
            }
            wrote
        })
    }
}

/// Brings the youngest first.
struct YoungestFirst(Arc<dyn Journal>);

impl JournalWrapper for YoungestFirst {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }

    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move {
            let mut older = self.0.open_older_than(opened, usize::MAX).await?;
            older.reverse();
            older.truncate(limit);
            Ok(older)
        })
    }
}

/// Shows what a halt or a resume superseded as if it waited.
struct StillWaits(Arc<dyn Journal>);

impl JournalWrapper for StillWaits {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }

    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(async move {
            let mut found = self.0.approval(id).await?;
            for approval in found.iter_mut().filter(|a| a.stand == ApprovalStatus::Superseded) {
                (approval.stand, approval.decided) = (ApprovalStatus::Pending, None);
            }
            Ok(found)
        })
    }
}

/// Leaves a halt out where one stands.
struct OneHaltAnEpisode(Arc<dyn Journal>);

impl JournalWrapper for OneHaltAnEpisode {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }

    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            if self.0.service_status().await.is_ok_and(|status| status.halted.is_some()) {
                let halts = |put: &Put| matches!(put, Put::Halt { .. });
                units.iter_mut().for_each(|unit| unit.then.puts.retain(|put| !halts(put)));
            }
            self.0.write(units).await
        })
    }
}

#[test]
fn a_halt_or_a_pause_that_is_not_one_is_noticed() {
    red(unput!(Put::Resume { .. }), "a_resume_ends_a_halt");
    let at = |guard: &Guard| *guard == Guard::NotHalted;
    reds(
        move |inner| Arc::new(Wrapper(LooksFirst { inner, at })),
        "a_halt_and_its_end_hold_inside_a_group",
    );
    red(
        mutated!(Put::Resume { accepted } => accepted.truncate(1)),
        "accepted_breaks_stand_beside_each_other",
    );
    red(
        mutated!(Put::Pause { caller, .. } => *caller = "engine".into()),
        "a_pause_stands_once_for_its_scope_and_caller",
    );
    red(unput!(Put::Unpause(_)), "a_pause_ends_by_its_number");
    red_build("halt-unnumbered", "a_guard_names_the_last_halt_that_stands");
    reds(|inner| Arc::new(Wrapper(OneHaltAnEpisode(inner))), "each_halt_has_a_number_of_its_own");
}

#[test]
fn a_case_that_is_no_episode_is_noticed() {
    red(
        |unit| {
            let puts = std::mem::take(&mut unit.then.puts).into_iter();
            let again = |put: Put| {
                let Put::Case(Case { kind, subject, .. }) = &put else { return vec![put] };
                let (kind, subject, fact) = ((*kind).into(), *subject, "again".into());
                vec![Put::Close { kind, subject, fact }, put]
            };
            unit.then.puts = puts.flat_map(again).collect();
        },
        "a_case_is_open_once_about_its_subject",
    );
    red_build("close-forgotten", "an_episode_ends_with_its_fact_and_another_begins");
    red(
        |unit| unit.then.puts.sort_by_key(|put| !matches!(put, Put::Close { .. })),
        "episodes_hold_inside_a_unit_and_a_group",
    );
}

#[test]
fn an_action_or_an_approval_that_is_not_one_is_noticed() {
    red(unguarded!(Guard::NoPastAction { .. }), "an_action_is_done_once");
    red(unput!(Put::Action(_)), "an_action_is_done_once");
    red_build("action-repeats", "an_action_is_done_once");
    let of = |put: &Put| matches!(put, Put::Action(_));
    reds(move |inner| Arc::new(Wrapper(Behind { inner, of })), "an_action_that_lost_was_not_done");
    // in an order of its own
    red(
        |unit| {
            let second = |put: &Put| matches!(put, Put::Action(a) if &*a.caller == "ops|2");
            unit.then.puts.sort_by_key(|put| !second(put));
        },
        "what_is_done_is_an_entry_of_the_operators_chain",
    );
    red(unguarded!(Guard::Pending(_)), "a_proposal_waits_for_a_decision");
    red(unput!(Put::Propose(_)), "a_proposal_waits_for_a_decision");
    red_build("proposer-forgotten", "a_proposal_waits_for_a_decision");
    red(unput!(Put::Decide { .. }), "a_decision_is_made_once");
    red(mutated!(Put::Propose(proposal) => proposal.lasts *= 2), "a_proposal_waits_for_a_decision");
    reds(
        |inner| Arc::new(Wrapper(StillWaits(inner))),
        "a_halt_and_a_resume_supersede_what_was_proposed_of_a_resume",
    );
    reds_world(
        |inner| sim::wrong::world(Some("world-books-under-halt"), inner),
        "nothing_is_booked_under_halt",
    );
}

#[test]
fn an_asset_that_stays_as_it_was_is_noticed() {
    let check = "an_asset_changes_only_at_its_last_version";
    red(unput!(Put::Asset(_)), check);
    red(mutated!(Put::Asset(asset) => asset.daily = None), check);
}

#[test]
fn a_daily_limit_that_is_none_is_noticed() {
    red(
        |unit| {
            for put in &mut unit.then.puts {
                if let Put::Open(record) = put {
                    record.terms = Arc::new(Terms { day: None, ..(*record.terms).clone() })
                }
            }
        },
        "what_was_agreed_comes_back_as_it_was",
    );
    red(unput!(Put::Count(_)), "a_day_is_counted_for_its_user_and_asset");
    red_build("uncount-forgotten", "a_day_is_given_back_where_it_was_taken");
    red(unput!(Put::ForgetDays(_)), "days_that_are_over_are_forgotten");
    let of = |put: &Put| matches!(put, Put::Count(_));
    reds(move |inner| Arc::new(Wrapper(Behind { inner, of })), "a_unit_that_lost_counts_nothing");
    red(unguarded!(Guard::DayCount { .. }), "a_day_has_a_maximum_number_of_transfers");
    red(unguarded!(Guard::DayAmount { .. }), "a_day_has_a_maximum_amount_of_an_asset");
    red(
        |unit| {
            parts(unit).for_each(|link| link.puts.retain(|put| !matches!(put, Put::Uncount(_))));
        },
        "what_is_refused_in_its_unit_is_given_back",
    );
    red_build("limit-beside-the-unit", "a_limit_holds_inside_a_group");
    // right for whoever comes alone
    let beside = |inner| sim::wrong::journal(Some("limit-beside-the-unit"), inner);
    reds(
        move |inner| Arc::new(Wrapper(OneByOne(beside(inner)))),
        "concurrent_units_pass_a_days_limit_one_by_one",
    );
}

#[test]
fn an_old_one_that_does_not_come_is_noticed() {
    reds(|inner| Arc::new(Wrapper(YoungestFirst(inner))), "those_that_stay_open_come_by_age");
}
