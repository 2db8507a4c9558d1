//! The ledger suite turns red at the check that a wrong ledger breaks.

use crate::suite_ledger::outside;
use crate::wrong::complaint;
use kernel::answer::{Answer, Cause, Receipt};
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    AccountStatus, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose,
};
use ledger_contract::{Profile, run};
use sim::world::Sim;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::wrapper::{LedgerWrapper, Wrapper};

/// One thing that the ledger does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mutation {
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
    ShowsAllUsers,
}

struct MutatedLedger {
    inner: Arc<dyn Ledger>,
    mutation: Mutation,
    changes: AtomicU64,
}

impl MutatedLedger {
    fn is(&self, mutation: Mutation) -> bool {
        self.mutation == mutation
    }

    async fn known(&self, known: Known) -> Known {
        let hello = self.inner.hello().await;
        if let (Reply::Answered(is, ()), Mutation::AnswersAnybody) = (hello, self.mutation) {
            return is;
        }
        known
    }

    fn mutated(&self, mut answers: Vec<Answer>) -> Vec<Answer> {
        if self.is(Mutation::AnswersInReverse) {
            answers.reverse();
        }
        for answer in &mut answers {
            match answer {
                Answer::Unknown(cause) if cause.class == "CONTRADICTION" => {
                    if self.is(Mutation::TakesContradictions) {
                        *answer = Answer::Done(Receipt::seq(1));
                    }
                }
                Answer::Done(receipt) if self.is(Mutation::NumbersFromZero) => receipt.seq = 0,
                Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) | Answer::Unknown(_) => {}
            }
        }
        if self.is(Mutation::StopsAtTheFirstRefusal) {
            let stop = answers.iter().position(|a| matches!(a, Answer::Rejected(..)));
            for answer in answers.iter_mut().skip(stop.map_or(usize::MAX, |at| at + 1)) {
                *answer = Answer::Unknown(Cause::of("STOPPED"));
            }
        }
        answers
    }
}

impl LedgerWrapper for MutatedLedger {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            match self.inner.execute(self.known(known).await, ops).await {
                Reply::Answered(known, answers) => Reply::Answered(known, self.mutated(answers)),
                reply @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => reply,
            }
        })
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move { self.inner.query(self.known(known).await, key).await })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            let known = self.known(known).await;
            if self.is(Mutation::FencesPushes) && !key.leg.refusable() {
                let other = Key { id: Id(key.id.0 ^ 1), leg: kernel::flow::life::Leg::Withdraw };
                return self.inner.fence(known, other).await;
            }
            if self.is(Mutation::FencesNothing) {
                return self.inner.query(known, key).await;
            }
            self.inner.fence(known, key).await
        })
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        Box::pin(async {
            match self.inner.totals().await {
                Reply::Answered(known, mut totals) if self.is(Mutation::TotalsAreOff) => {
                    totals.iter_mut().for_each(|(_, t)| t.users += 1);
                    Reply::Answered(known, totals)
                }
                reply @ (Reply::Answered(..) | Reply::OtherLedger(_) | Reply::NoAnswer(_)) => reply,
            }
        })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        Box::pin(async move {
            match self.inner.operations(after, limit).await {
                Reply::Answered(known, mut page) => {
                    if self.is(Mutation::ListsNewestFirst) {
                        page.reverse();
                    }
                    if self.is(Mutation::LosesTheLast) && page.len() < limit {
                        page.pop();
                    }
                    Reply::Answered(known, page)
                }
                reply @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => reply,
            }
        })
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        Box::pin(async move {
            let known = self.known(known).await;
            let id = if self.is(Mutation::ForgetsNothing) { Id(0) } else { id };
            self.inner.horizon(known, id, open).await
        })
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        let whose = match whose {
            Whose::User(_) if self.is(Mutation::ShowsAllUsers) => Whose::After(0, usize::MAX),
            Whose::User(_) | Whose::After(..) => whose,
        };
        self.inner.accounts(whose)
    }

    fn status(&self, known: Known, mut change: StatusChange) -> Fut<'_, Reply<bool>> {
        Box::pin(async move {
            if self.is(Mutation::FreezesNothing) && change.status == AccountStatus::Frozen {
                change.status = AccountStatus::Active;
            }
            if self.is(Mutation::StatusAgainAndAgain) {
                let n = self.changes.fetch_add(1, Ordering::Relaxed);
                change.key = format!("{} {n}", change.key).into();
            }
            self.inner.status(self.known(known).await, change).await
        })
    }
}

/// The suite's complaint about a ledger that does this one thing wrong.
fn red(mutation: Mutation, check: &str) {
    let fresh = move |funds: Vec<(AssetId, Amount)>| -> Fut<'static, Arc<dyn Ledger>> {
        Box::pin(async move {
            let (inner, changes) = (outside(funds).await, AtomicU64::new(0));
            let mutated: Arc<dyn Ledger> =
                Arc::new(Wrapper(MutatedLedger { inner, mutation, changes }));
            mutated
        })
    };
    let complaint = complaint(check, || {
        if let Err(stop) = Sim::new(1).block_on(run(Profile::SPOT, fresh)) {
            panic!("{stop:?}");
        }
    });
    assert!(complaint.contains(&format!("{check}: ")), "{mutation:?}: {complaint}");
}

#[test]
fn each_wrong_ledger_turns_its_check_red() {
    red(Mutation::AnswersAnybody, "a_request_for_another_ledger_executes_nothing");
    red(Mutation::FencesNothing, "a_fence_before_keeps_the_effect_from_ever_happening");
    red(Mutation::FencesPushes, "a_refund_is_never_fenced");
    red(Mutation::ListsNewestFirst, "operations_are_listed_in_order_and_none_is_missing");
    red(Mutation::LosesTheLast, "operations_are_listed_in_order_and_none_is_missing");
    red(Mutation::TotalsAreOff, "done_is_sticky");
    red(Mutation::ForgetsNothing, "nothing_is_executed_afresh_below_the_horizon");
    red(Mutation::FreezesNothing, "each_status_bars_what_it_bars");
    red(Mutation::StatusAgainAndAgain, "a_status_is_idempotent_by_its_key");
    red(Mutation::TakesContradictions, "another_request_under_a_key_contradicts");
    red(Mutation::AnswersInReverse, "repeats_inside_a_batch_are_one_effect");
    red(Mutation::NumbersFromZero, "done_is_sticky");
    red(Mutation::StopsAtTheFirstRefusal, "repeats_inside_a_batch_are_one_effect");
    red(Mutation::ShowsAllUsers, "a_withdraw_needs_an_account");
}
