//! The fixture of the ledger checks: one fresh ledger, functions that call it, and messages that name the check.

use super::explain::Explain;
use super::{Fresh, Profile};
use kernel::answer::{Answer, Cause};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op, Operation, StoredOutcome};
use kernel::ports::ledger::{
    AccountStatus, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose,
};
use kernel::record::Account;
use std::sync::Arc;

/// The asset that most checks move.
pub(super) const COIN: AssetId = AssetId(3);
/// Another one of which user 1 has as much.
pub(super) const GOLD: AssetId = AssetId(1);
/// One that exists and of which no user has anything.
pub(super) const BARE: AssetId = AssetId(2);
/// What user 1 begins with, of [`COIN`] and of [`GOLD`].
pub(super) const START: u128 = 1_000;
pub(super) const RICH: UserId = UserId(1);
/// A user whom no ledger has heard of.
pub(super) const UNKNOWN_USER: UserId = UserId(77);

/// A ledger under one check.
pub(super) struct LedgerFixture {
    pub ledger: Arc<dyn Ledger>,
    pub profile: Profile,
    check: &'static str,
}

/// The id of the n-th transfer; later ones are higher.
pub(super) fn id(n: u64) -> Id {
    Id::new(1_700_000_000_000 + n, 7)
}

/// The n-th transfer's leg at this ledger, of [`COIN`] at user 1.
pub(super) fn op(n: u64, leg: Leg, amount: u128) -> Op {
    Op {
        key: Key { id: id(n), leg },
        account: Account::User(RICH),
        other: None,
        asset: COIN,
        amount: Amount(amount),
    }
}

/// The same of another user.
pub(super) fn of(user: UserId, op: Op) -> Op {
    Op { account: Account::User(user), ..op }
}

/// The same of another asset.
pub(super) fn in_asset(asset: AssetId, op: Op) -> Op {
    Op { asset, ..op }
}

impl LedgerFixture {
    pub(super) async fn open(check: &'static str, profile: Profile, fresh: &impl Fresh) -> Self {
        let funds = vec![(COIN, Amount(START)), (GOLD, Amount(START))];
        let fixture = Self { ledger: fresh(funds).await, profile, check };
        let has = fixture.balance(RICH, COIN).await;
        fixture.same("what user 1 begins with", &has, &(START, 0));
        fixture.balanced().await;
        fixture
    }

    /// Fails the check unless both are equal.
    #[track_caller]
    pub(super) fn same<T: Explain + PartialEq>(&self, what: &str, is: &T, should: &T) {
        let (found, wanted) = (is.explain(), should.explain());
        assert!(is == should, "{}: {what}: {found} (wanted: {wanted})", self.check);
    }

    /// Fails the check unless it holds.
    #[track_caller]
    pub(super) fn holds(&self, holds: bool, what: &str, facts: &impl Explain) {
        assert!(holds, "{}: {what}: {}", self.check, facts.explain());
    }

    /// What was said; anything else fails the check.
    #[track_caller]
    pub(super) fn said<T>(&self, reply: Reply<T>) -> (Known, T) {
        match reply {
            Reply::Answered(known, said) => (known, said),
            Reply::OtherLedger(known) => {
                panic!("{}: WRONG_LEDGER: it is {}", self.check, known.explain())
            }
            Reply::NoAnswer(cause) => panic!("{}: no answer: {cause}", self.check),
        }
    }

    /// What the ledger says of itself.
    pub(super) async fn known(&self) -> Known {
        self.said(self.ledger.hello().await).0
    }

    /// One call; its reply is held against what every reply must be.
    pub(super) async fn all(&self, ops: Vec<Op>) -> Vec<Answer> {
        let (asked, known) = (ops.len(), self.known().await);
        let (said, answers) = self.said(self.ledger.execute(known, ops.into()).await);
        self.same("answers to a batch", &answers.len(), &asked);
        let who = (said.identity, said.incarnation);
        self.same("who answers", &who, &(known.identity, known.incarnation));
        for answer in &answers {
            if let Answer::Done(receipt) | Answer::Rejected(_, receipt) = answer {
                let fits = receipt.seq > 0 && receipt.seq <= said.highest;
                self.holds(fits, "an answer's number against the reply's highest", &(answer, said));
            }
        }
        self.balanced().await;
        answers
    }

    /// Executes one operation in a batch of its own.
    pub(super) async fn one(&self, op: Op) -> Answer {
        match <[Answer; 1]>::try_from(self.all(vec![op]).await) {
            Ok([answer]) => answer,
            Err(answers) => panic!("{}: {} answers to one operation", self.check, answers.len()),
        }
    }

    /// Done, or the check fails. Returns its number.
    pub(super) async fn done(&self, what: &str, op: Op) -> u64 {
        match self.one(op).await {
            Answer::Done(receipt) => receipt.seq,
            answer @ (Answer::Rejected(..) | Answer::Dead(_) | Answer::Unknown(_)) => {
                panic!("{}: {what}: {} (wanted: done)", self.check, answer.explain())
            }
        }
    }

    /// Refused with this code, or the check fails.
    pub(super) async fn refused(&self, what: &str, op: Op, code: Code) {
        let answer = self.one(op).await;
        self.is_refusal(what, &answer, code.name());
    }

    /// An answer that is a refusal with this code.
    #[track_caller]
    pub(super) fn is_refusal(&self, what: &str, answer: &Answer, code: &str) {
        let fits = matches!(answer, Answer::Rejected(why, _) if why.code == code);
        self.holds(fits, &format!("{what}: not refused with {code}"), answer);
    }

    /// Unknown with this class, and nothing changed and nothing stored by it.
    pub(super) async fn hindered(&self, what: &str, op: Op, class: &str) {
        let before = (self.totals().await, self.stored(op.key).await);
        let balance = self.accounts().await;
        let answer = self.one(op.clone()).await;
        let fits = matches!(&answer, Answer::Unknown(cause) if cause.class == class);
        self.holds(fits, &format!("{what}: not unknown with {class}"), &answer);
        let after = (self.totals().await, self.stored(op.key).await);
        self.same(&format!("{what}: books and what is stored after it"), &after, &before);
        self.same(&format!("{what}: accounts after it"), &self.accounts().await, &balance);
    }

    /// What is stored under a key.
    pub(super) async fn stored(&self, key: Key) -> Stored {
        let known = self.known().await;
        self.said(self.ledger.query(known, key).await).1
    }

    /// What a fence of the key says.
    pub(super) async fn fence(&self, key: Key) -> Stored {
        let known = self.known().await;
        let (_, said) = self.said(self.ledger.fence(known, key).await);
        self.balanced().await;
        said
    }

    /// The operation stored under a key, which must be there.
    pub(super) async fn found(&self, what: &str, key: Key) -> Operation {
        self.is_found(what, self.stored(key).await)
    }

    #[track_caller]
    pub(super) fn is_found(&self, what: &str, stored: Stored) -> Operation {
        match stored {
            Stored::Found(operation) => operation,
            Stored::Nothing => panic!("{}: {what}: nothing is stored", self.check),
        }
    }

    /// Available and frozen of a user's asset; zero where there is no such row.
    pub(super) async fn balance(&self, user: UserId, asset: AssetId) -> (u128, u128) {
        let found = self.holdings(user).await;
        let row = found.iter().find(|h| h.asset == asset);
        row.map_or((0, 0), |h| (h.available.0, h.frozen.0))
    }

    pub(super) async fn holdings(&self, user: UserId) -> Vec<Holding> {
        self.said(self.ledger.accounts(Whose::User(user)).await).1
    }

    pub(super) async fn accounts(&self) -> Vec<Holding> {
        self.said(self.ledger.accounts(Whose::After(0, 1_000)).await).1
    }

    pub(super) async fn totals(&self) -> Vec<(AssetId, Totals)> {
        let mut totals = self.said(self.ledger.totals().await).1;
        totals.retain(|(_, t)| *t != Totals::default());
        totals.sort_by_key(|(asset, _)| *asset);
        totals
    }

    pub(super) async fn total(&self, asset: AssetId) -> Totals {
        let totals = self.totals().await;
        totals.iter().find(|(id, _)| *id == asset).map(|(_, t)| *t).unwrap_or_default()
    }

    /// Double entry: each asset's books add up to nothing, whatever is in flight.
    pub(super) async fn balanced(&self) {
        for (asset, t) in self.totals().await {
            let sum = t.users + t.frozen + t.clearing + t.world;
            self.holds(sum == 0, "books that do not add up to nothing", &(asset, t));
        }
    }

    /// Sets an account's status under a key of its own.
    pub(super) async fn set(&self, user: UserId, status: AccountStatus, key: &str) -> bool {
        let change = StatusChange {
            user,
            status,
            reason: "a check of the suite".into(),
            caller: "suite|1".into(),
            key: key.into(),
        };
        let known = self.known().await;
        self.said(self.ledger.status(known, change).await).1
    }

    /// Gives a user an account in use: by a deposit where that creates it, else user 1 alone has
    /// one and this is not how the ledger works.
    pub(super) async fn second_user(&self, n: u64) -> Option<UserId> {
        if !self.profile.creates_on_deposit {
            return None;
        }
        let user = UserId(2);
        self.done("a deposit that creates an account", of(user, op(n, Leg::Deposit, 10))).await;
        Some(user)
    }
}

/// An outcome without the words of a refusal.
pub(super) fn word(outcome: &StoredOutcome) -> &str {
    match outcome {
        StoredOutcome::Done => "DONE",
        StoredOutcome::Rejected(why) => why.code.as_ref(),
        StoredOutcome::Fenced => "FENCED",
    }
}

/// The class of a reply that came to nothing; empty where it said something.
pub(super) fn class<T>(reply: &Reply<T>) -> &str {
    match reply {
        Reply::NoAnswer(Cause { class, .. }) => class,
        Reply::OtherLedger(_) => "WRONG_LEDGER",
        Reply::Answered(..) => "",
    }
}
