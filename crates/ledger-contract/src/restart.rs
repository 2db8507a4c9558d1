//! Checks that a ledger keeps over a restart what it has answered.

use super::fixture::{LedgerFixture, START, op};
use super::{Fresh, Profile};
use kernel::answer::Answer;
use kernel::flow::life::Leg::{Deposit, Refund, Withdraw};
use kernel::ids::AssetId;
use kernel::operation::{Known, Op};
use kernel::ports::ledger::{Holding, Stored, Totals};
use std::fmt;

/// The answers, stored operations, books and accounts of a ledger, to be compared after its restart.
pub struct Remembered {
    fixture: LedgerFixture,
    known: Known,
    answers: Vec<(Op, Answer)>,
    fenced: (Op, Stored),
    totals: Vec<(AssetId, Totals)>,
    accounts: Vec<Holding>,
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Remembered {
    /// The rule that [`Self::compare`] holds the ledger to.
    pub const RULE: &'static str = "every_answer_outlives_a_restart";

    /// Has the ledger do, refuse, give back and fence something.
    ///
    /// # Panics
    /// Where it answers otherwise than the contract says.
    pub async fn of(profile: Profile, fresh: &impl Fresh) -> Self {
        let fixture = LedgerFixture::open(Self::RULE, profile, fresh).await;
        let ops = [
            op(1, Withdraw, 300),
            op(2, Withdraw, START * 2),
            op(3, Deposit, 20),
            op(4, Withdraw, 50),
            op(4, Refund, 50),
        ];
        let mut answers = Vec::new();
        for op in ops {
            answers.push((op.clone(), fixture.one(op).await));
        }
        let fenced = op(5, Deposit, 1);
        let fence = fixture.fence(fenced.key).await;
        let (known, totals) = (fixture.known().await, fixture.totals().await);
        let accounts = fixture.accounts().await;
        Self { fixture, known, answers, fenced: (fenced, fence), totals, accounts }
    }

    /// Compares them with what the ledger says after its restart.
    ///
    /// # Panics
    /// Where it is another ledger, calls itself the same incarnation, or has forgotten or changed anything.
    pub async fn compare(&self) {
        let (b, now) = (&self.fixture, self.fixture.known().await);
        b.same("which ledger it is", &now.identity, &self.known.identity);
        b.holds(now.incarnation != self.known.incarnation, "the same incarnation", &now);
        b.holds(now.highest >= self.known.highest, "its highest fell", &(self.known, now));
        for (ask, answer) in &self.answers {
            b.same("a repeat after the restart", &b.one(ask.clone()).await, answer);
            b.found("what was answered before the restart", ask.key).await;
        }
        let (ask, fence) = &self.fenced;
        b.same("a fence after the restart", &b.fence(ask.key).await, fence);
        b.is_refusal("an operation that was fenced", &b.one(ask.clone()).await, "FENCED");
        b.same("the books", &b.totals().await, &self.totals);
        b.same("the accounts", &b.accounts().await, &self.accounts);
        let number = b.done("a new operation", op(6, Withdraw, 1)).await;
        b.holds(number > now.highest, "a number that was given before", &(number, now));
    }
}
