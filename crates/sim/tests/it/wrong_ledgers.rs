//! The ledger suite turns red at the check that a wrong ledger breaks.

use crate::suite_ledger::outside;
use crate::wrong::complaint;
use kernel::answer::{Answer, Cause, Receipt};
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::ledger::{
    AccountStatus, Heard, Holding, Known, Ledger, StatusChange, Stored, Totals, Whose,
};
use kernel::unit::{Key, Op, Operation};
use sim::shell::{LedgerShell, Shell};
use sim::suite::ledger::{Profile, run};
use sim::world::Sim;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One thing that the ledger does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bend {
    AnswersAnybody,
    FencesNothing,
    FencesPushes,
    ListsNewestFirst,
    LosesTheLast,
    TotalsAreOff,
    ForgetsNothing,
    FreezesNothing,
    StatusAgainAndAgain,
    TakesContradictions,
    AnswersInReverse,
    NumbersFromZero,
    StopsAtTheFirstRefusal,
    ShowsEverybody,
}

struct Bent {
    inner: Arc<dyn Ledger>,
    bend: Bend,
    changes: AtomicU64,
}

impl Bent {
    fn is(&self, bend: Bend) -> bool {
        self.bend == bend
    }

    async fn known(&self, known: Known) -> Known {
        let hello = self.inner.hello().await;
        if let (Heard::Said(is, ()), Bend::AnswersAnybody) = (hello, self.bend) {
            return is;
        }
        known
    }

    fn bent(&self, mut answers: Vec<Answer>) -> Vec<Answer> {
        if self.is(Bend::AnswersInReverse) {
            answers.reverse();
        }
        for answer in &mut answers {
            match answer {
                Answer::Unknown(cause) if cause.class == "CONTRADICTION" => {
                    if self.is(Bend::TakesContradictions) {
                        *answer = Answer::Done(Receipt::seq(1));
                    }
                }
                Answer::Done(receipt) if self.is(Bend::NumbersFromZero) => receipt.seq = 0,
                Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) | Answer::Unknown(_) => {}
            }
        }
        if self.is(Bend::StopsAtTheFirstRefusal) {
            let stop = answers.iter().position(|a| matches!(a, Answer::Rejected(..)));
            for answer in answers.iter_mut().skip(stop.map_or(usize::MAX, |at| at + 1)) {
                *answer = Answer::Unknown(Cause::of("STOPPED"));
            }
        }
        answers
    }
}

impl LedgerShell for Bent {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            match self.inner.execute(self.known(known).await, ops).await {
                Heard::Said(known, answers) => Heard::Said(known, self.bent(answers)),
                heard @ (Heard::Wrong(_) | Heard::Nothing(_)) => heard,
            }
        })
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move { self.inner.query(self.known(known).await, key).await })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move {
            let known = self.known(known).await;
            if self.is(Bend::FencesPushes) && !key.leg.refusable() {
                let other = Key { id: Id(key.id.0 ^ 1), leg: kernel::life::Leg::Withdraw };
                return self.inner.fence(known, other).await;
            }
            if self.is(Bend::FencesNothing) {
                return self.inner.query(known, key).await;
            }
            self.inner.fence(known, key).await
        })
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        Box::pin(async {
            match self.inner.totals().await {
                Heard::Said(known, mut totals) if self.is(Bend::TotalsAreOff) => {
                    totals.iter_mut().for_each(|(_, t)| t.users += 1);
                    Heard::Said(known, totals)
                }
                heard @ (Heard::Said(..) | Heard::Wrong(_) | Heard::Nothing(_)) => heard,
            }
        })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        Box::pin(async move {
            match self.inner.operations(after, limit).await {
                Heard::Said(known, mut page) => {
                    if self.is(Bend::ListsNewestFirst) {
                        page.reverse();
                    }
                    if self.is(Bend::LosesTheLast) && page.len() < limit {
                        page.pop();
                    }
                    Heard::Said(known, page)
                }
                heard @ (Heard::Wrong(_) | Heard::Nothing(_)) => heard,
            }
        })
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        Box::pin(async move {
            let known = self.known(known).await;
            let id = if self.is(Bend::ForgetsNothing) { Id(0) } else { id };
            self.inner.horizon(known, id, open).await
        })
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        let whose = match whose {
            Whose::User(_) if self.is(Bend::ShowsEverybody) => Whose::After(0, usize::MAX),
            Whose::User(_) | Whose::After(..) => whose,
        };
        self.inner.accounts(whose)
    }

    fn status(&self, known: Known, mut change: StatusChange) -> Fut<'_, Heard<bool>> {
        Box::pin(async move {
            if self.is(Bend::FreezesNothing) && change.status == AccountStatus::Frozen {
                change.status = AccountStatus::Active;
            }
            if self.is(Bend::StatusAgainAndAgain) {
                let n = self.changes.fetch_add(1, Ordering::Relaxed);
                change.key = format!("{} {n}", change.key).into();
            }
            self.inner.status(self.known(known).await, change).await
        })
    }
}

/// The suite's complaint about a ledger that does this one thing wrong.
fn red(bend: Bend, check: &str) {
    let fresh = move |funds: Vec<(AssetId, Amount)>| -> Fut<'static, Arc<dyn Ledger>> {
        Box::pin(async move {
            let (inner, changes) = (outside(funds).await, AtomicU64::new(0));
            let bent: Arc<dyn Ledger> = Arc::new(Shell(Bent { inner, bend, changes }));
            bent
        })
    };
    let complaint = complaint(check, || {
        if let Err(stop) = Sim::new(1).block_on(run(Profile::SPOT, fresh)) {
            panic!("{stop:?}");
        }
    });
    assert!(complaint.contains(&format!("{check}: ")), "{bend:?}: {complaint}");
}

#[test]
fn each_wrong_ledger_turns_its_check_red() {
    red(Bend::AnswersAnybody, "a_request_for_another_ledger_executes_nothing");
    red(Bend::FencesNothing, "a_fence_before_keeps_the_effect_from_ever_happening");
    red(Bend::FencesPushes, "a_push_is_never_fenced");
    red(Bend::ListsNewestFirst, "operations_are_listed_in_order_and_none_is_missing");
    red(Bend::LosesTheLast, "operations_are_listed_in_order_and_none_is_missing");
    red(Bend::TotalsAreOff, "done_is_sticky");
    red(Bend::ForgetsNothing, "nothing_is_executed_afresh_below_the_horizon");
    red(Bend::FreezesNothing, "each_status_bars_what_it_bars");
    red(Bend::StatusAgainAndAgain, "a_status_is_idempotent_by_its_key");
    red(Bend::TakesContradictions, "another_request_under_a_key_contradicts");
    red(Bend::AnswersInReverse, "repeats_inside_a_batch_are_one_effect");
    red(Bend::NumbersFromZero, "done_is_sticky");
    red(Bend::StopsAtTheFirstRefusal, "repeats_inside_a_batch_are_one_effect");
    red(Bend::ShowsEverybody, "a_withdraw_needs_an_account");
}
