//! Checks deposits by hand: the daily limit of one person, and deposits that need another person's approval.

use super::checks;
use super::fixture::{COIN, JournalFixture, NOON, START, id, plain, together};
use kernel::code::Code;
use kernel::ids::{AssetId, Id, Millis};
use kernel::money::Amount;
use kernel::operators::{Action, ApprovalStatus, DEPOSIT, Proposal};
use kernel::ports::ledger::{Approved, Authority, Direction, External, Moved};
use kernel::unit::Put;
use testkit::deposit;

checks! {
    one_person_deposits_up_to_a_bound_of_the_day,
    of_two_at_once_the_bound_takes_one,
    an_approval_books_and_decides_at_once,
    a_proposal_that_is_decided_books_nothing,
    an_approval_whose_reference_is_booked_decides_nothing,
}

/// The most of a day.
const MOST: Amount = Amount(100);
/// How long a proposal may be decided.
const LASTS: Millis = 60_000;
const DAY: Millis = 86_400_000;

fn deposit_by(who: &str, reference: &str, amount: u128) -> External {
    External { caller: who.into(), ..deposit(reference, 1, COIN, amount) }
}

async fn alone(b: &JournalFixture, movement: External) -> Moved {
    b.ok("a deposit", b.on().world.book(movement, Authority::UpTo(MOST)).await)
}

/// A deposit in mallory's name with an approval of bob's.
fn approval(reference: &str, key: &str, proposal: Id) -> (External, Authority) {
    let action = Action {
        caller: "ops|bob".into(),
        key: key.into(),
        kind: "APPROVE",
        subject: format!("approval/{proposal}").into(),
        value: "{}".into(),
        reason: "a check".into(),
        result: r#"{"outcome":"DEPOSITED"}"#.into(),
    };
    let authority = Authority::Approved(Box::new(Approved { proposal, action }));
    (deposit_by("ops|mallory", reference, 500), authority)
}

async fn approved(b: &JournalFixture, reference: &str, key: &str, proposal: Id) -> Moved {
    let (movement, authority) = approval(reference, key, proposal);
    b.ok("an approved deposit", b.on().world.book(movement, authority).await)
}

async fn propose(b: &JournalFixture, n: u64) -> Id {
    let proposal = Proposal {
        id: id(n),
        kind: DEPOSIT,
        subject: format!("deposit/{n}").into(),
        value: "{}".into(),
        reason: "a check".into(),
        caller: "ops|mallory".into(),
        lasts: LASTS,
    };
    b.written("a proposal", plain(vec![Put::Propose(proposal)])).await;
    id(n)
}

async fn stand(b: &JournalFixture, proposal: Id) -> Option<ApprovalStatus> {
    let found = b.ok("the approval", b.on().journal.approval(proposal).await);
    found.map(|approval| approval.stand)
}

/// It did something under this key.
async fn past_action(b: &JournalFixture, key: &str) -> bool {
    b.ok("the action", b.on().journal.past_action("ops|bob".into(), key.into()).await).is_some()
}

fn is_done(b: &JournalFixture, what: &str, moved: &Moved) {
    b.holds(matches!(moved, Moved::Done { replayed: false, .. }), what, moved);
}

async fn one_person_deposits_up_to_a_bound_of_the_day(b: &mut JournalFixture) {
    let person_required = Moved::Refused(Code::SecondPersonRequired);
    is_done(b, "within it", &alone(b, deposit_by("ops|mallory", "1", 60)).await);
    for _ in 0..3 {
        // a repeat is the one that was booked, and counts once
        let again = alone(b, deposit_by("ops|mallory", "1", 60)).await;
        b.holds(matches!(again, Moved::Done { replayed: true, .. }), "not a repeat", &again);
    }
    let image = b.image().await;
    // one person in every spelling, under every issuer
    for who in ["ops|mallory", "other|mallory", "ops|Mallory\u{200b}", "ops|\u{ff2d}ALLORY"] {
        let over = alone(b, deposit_by(who, "2", 41)).await;
        b.same(&format!("above it as {who}"), &over, &person_required);
        b.same("what that wrote", &b.image().await, &image);
        b.reopen().await;
    }
    is_done(b, "up to it", &alone(b, deposit_by("other|Mallory", "3", 40)).await);
    b.same("one more", &alone(b, deposit_by("ops|mallory", "4", 1)).await, &person_required);
    is_done(b, "another person", &alone(b, deposit_by("ops|bob", "5", 100)).await);
    let other = External { asset: AssetId(1), ..deposit_by("ops|mallory", "6", 100) };
    is_done(b, "another asset", &alone(b, other).await);
    let out = |reference, amount| External {
        direction: Direction::Out,
        ..deposit_by("ops|mallory", reference, amount)
    };
    b.same("too much goes out", &alone(b, out("7", 101)).await, &person_required);
    is_done(b, "money that goes out", &alone(b, out("7", 90)).await);
    b.same("more goes out", &alone(b, out("9", 11)).await, &person_required);
    b.same("after that", &alone(b, deposit_by("ops|mallory", "8", 1)).await, &person_required);
    let poor = alone(b, out("10", START + 1_000)).await;
    b.same("what no second person can book", &poor, &Moved::Refused(Code::InsufficientBalance));
    b.clock.set(NOON + DAY);
    is_done(b, "the next day", &alone(b, deposit_by("ops|mallory", "2", 100)).await);
    b.same("the balance", &b.balance().await, &(START + 60 + 40 + 100 - 90 + 100, 0));
}

async fn of_two_at_once_the_bound_takes_one(b: &mut JournalFixture) {
    let book = |n: u64| {
        let movement = deposit_by("ops|mallory", &format!("wire {n}"), 60);
        b.on().world.book(movement, Authority::UpTo(MOST))
    };
    let moved = together((0..8).map(book).collect()).await;
    let done = |moved: &&Result<Moved, _>| matches!(moved, Ok(Moved::Done { .. }));
    b.same("movements that were booked", &moved.iter().filter(done).count(), &1);
    b.same("the balance", &b.balance().await, &(START + 60, 0));
}

async fn an_approval_books_and_decides_at_once(b: &mut JournalFixture) {
    let proposal = propose(b, 1).await;
    b.written("a halt", plain(vec![Put::Halt { reason: "stop".into() }])).await;
    let image = b.image().await;
    let halted = approved(b, "wire", "k", proposal).await;
    b.same("under HALT", &halted, &Moved::Refused(Code::Halted));
    b.same("what that wrote", &b.image().await, &image);
    b.same("the proposal", &stand(b, proposal).await, &Some(ApprovalStatus::Pending));
    b.written("a resume", plain(vec![Put::Resume { accepted: vec![] }])).await;
    is_done(b, "approved", &approved(b, "wire", "k", proposal).await);
    for _ in 0..2 {
        b.same("the proposal then", &stand(b, proposal).await, &Some(ApprovalStatus::Approved));
        b.holds(past_action(b, "k").await, "no action", &proposal);
        b.same("the balance", &b.balance().await, &(START + 500, 0));
        let again = approved(b, "wire", "k", proposal).await;
        b.holds(matches!(again, Moved::Done { replayed: true, .. }), "not a repeat", &again);
        b.reopen().await;
    }
    // two persons' deposit is not counted for one of them
    is_done(b, "the whole bound", &alone(b, deposit_by("ops|mallory", "alone", 100)).await);
}

async fn a_proposal_that_is_decided_books_nothing(b: &mut JournalFixture) {
    let decided = Moved::Refused(Code::AlreadyDecided);
    let once = propose(b, 1).await;
    let books = (1..4).map(|n| {
        let (movement, authority) = approval(&format!("wire {n}"), &format!("k{n}"), once);
        b.on().world.book(movement, authority)
    });
    let moved = together(books.collect()).await;
    let done = |moved: &&Result<Moved, _>| matches!(moved, Ok(Moved::Done { .. }));
    b.same("of three approvals", &moved.iter().filter(done).count(), &1);
    b.same("the balance", &b.balance().await, &(START + 500, 0));
    let rejected = propose(b, 2).await;
    let caller = "ops|eve".into();
    let put = Put::Decide { id: rejected, stand: ApprovalStatus::Rejected, caller };
    b.written("a refusal", plain(vec![put])).await;
    let lapses = propose(b, 3).await;
    b.clock.set(NOON + LASTS + 1);
    for (proposal, what) in
        [(once, "approved"), (rejected, "rejected"), (lapses, "lapsed"), (id(9), "of no proposal")]
    {
        let moved = approved(b, what, what, proposal).await;
        b.same(what, &moved, &decided);
        b.holds(!past_action(b, what).await, "an action without an effect", &proposal);
    }
    b.same("the balance then", &b.balance().await, &(START + 500, 0));
    // the approver's key did something else
    let waits = propose(b, 4).await;
    is_done(b, "another", &approved(b, "wire 8", "used", propose(b, 5).await).await);
    let moved = approved(b, "wire 9", "used", waits).await;
    b.same("a key that was used", &moved, &Moved::Refused(Code::DuplicateRequest));
    b.same("its proposal", &stand(b, waits).await, &Some(ApprovalStatus::Pending));
}

async fn an_approval_whose_reference_is_booked_decides_nothing(b: &mut JournalFixture) {
    let (same, other) = (propose(b, 1).await, propose(b, 2).await);
    let booked = External { amount: Amount(500), ..deposit_by("ops|eve", "same", 0) };
    b.ok("by another way", b.on().world.external(booked).await);
    b.ok("another", b.on().world.external(deposit_by("ops|eve", "other", 3)).await);
    let moved = approved(b, "same", "k1", same).await;
    b.holds(matches!(moved, Moved::Done { replayed: true, .. }), "not a repeat", &moved);
    let moved = approved(b, "other", "k2", other).await;
    b.holds(matches!(moved, Moved::Conflict(_)), "not a conflict", &moved);
    for (proposal, key) in [(same, "k1"), (other, "k2")] {
        b.same("the proposal", &stand(b, proposal).await, &Some(ApprovalStatus::Pending));
        b.holds(!past_action(b, key).await, "an action without an effect", &key);
    }
    b.same("the balance", &b.balance().await, &(START + 503, 0));
}
