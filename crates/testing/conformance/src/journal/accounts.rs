//! Checks the accounts ledger of a journal: numbered accounts, moves between two of them in a unit and alone, and
//! the books afterwards.
//!
//! Wrong builds that were run: a move that changes one account (`a_move_changes_both_accounts`), a guard
//! that looks at no version (`an_account_is_opened_once`).

use super::checks;
use super::fixture::{COIN, JournalFixture, id, plain};
use kernel::accounts::{AccountsOf, NumberedAccount, NumberedStatus};
use kernel::answer::Answer;
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op, StoredOutcome};
use kernel::ports::ledger::{Direction, External, Moved, Reply, Stored};
use kernel::record::Account;
use kernel::unit::{Fork, Guard, Put, Then, Unit, Wrote};
use std::sync::Arc;
use testkit::deposit;

checks! {
    an_account_is_opened_once,
    money_comes_into_an_account_and_goes_out,
    a_move_changes_both_accounts,
    a_move_is_refused_for_ever,
    a_lost_unit_moves_nothing,
    a_move_by_itself_keeps_its_answer,
    a_fence_keeps_a_move_away,
    the_books_of_accounts_add_up,
}

const ALICE: UserId = UserId(11);
const BOB: UserId = UserId(12);

fn account(number: &str, owner: UserId, status: NumberedStatus) -> Put {
    Put::Account { number: number.into(), owner, asset: COIN, status }
}

fn version(number: &str, version: u64) -> Guard {
    Guard::Account { number: number.into(), version }
}

async fn stored(b: &JournalFixture, number: &str) -> Option<NumberedAccount> {
    let asked = AccountsOf::Numbers(vec![number.into()]);
    b.ok("accounts", b.on().journal.numbered_accounts(asked).await).pop()
}

async fn holds(b: &JournalFixture, what: &str, number: &str, balance: u128) {
    let found = stored(b, number).await.map(|account| account.balance);
    b.same(what, &found, &Some(Amount(balance)));
}

fn movement(direction: Direction, number: &str, reference: &str, amount: u128) -> External {
    let number = Some(number.into());
    External { direction, number, ..deposit(reference, ALICE.0, COIN, amount) }
}

async fn external(b: &JournalFixture, movement: External) -> Moved {
    b.ok("external money", b.on().world.external(movement).await)
}

/// Two open accounts, the first with this amount.
async fn two(b: &JournalFixture, amount: u128) {
    let active = NumberedStatus::Active;
    b.written("two", plain(vec![account("A-1", ALICE, active), account("B-1", BOB, active)])).await;
    let moved = external(b, movement(Direction::In, "A-1", "first", amount)).await;
    b.holds(matches!(moved, Moved::Done { .. }), "the first money", &moved);
}

fn op(n: u64, from: &str, to: &str, amount: u128) -> Op {
    Op {
        key: Key { id: id(n), leg: Leg::Move },
        account: Account::Named(from.into()),
        other: Some(Account::Named(to.into())),
        asset: COIN,
        amount: Amount(amount),
    }
}

/// A unit that forks over a move.
fn forked(op: Op, guards: Vec<Guard>) -> Unit {
    let (done, rejected) = (Then::default(), Some(Then::default()));
    let fork = Some(Box::new(Fork { ledger: LedgerId::ACCOUNT, op, done, rejected }));
    Unit { guards, then: Then { fork, ..Then::default() } }
}

/// The code that the fork was refused with; `None`: it is done.
async fn refused(b: &JournalFixture, what: &str, op: Op) -> Option<Arc<str>> {
    match b.written(what, forked(op, Vec::new())).await.fork {
        Some(Answer::Done(_)) => None,
        Some(Answer::Rejected(why, _)) => Some(why.code.as_ref().into()),
        other => panic!("{what}: {other:?}"),
    }
}

async fn an_account_is_opened_once(b: &mut JournalFixture) {
    b.same("none yet", &stored(b, "A-1").await, &None);
    let open = account("A-1", ALICE, NumberedStatus::Active);
    let unit = || Unit::guarded(vec![version("A-1", 0)], vec![open.clone()]);
    b.written("opened", unit()).await;
    let first = stored(b, "A-1").await;
    let facts = first.as_ref().map(|a| (a.owner, a.asset, a.balance, a.status));
    b.same("as opened", &facts, &Some((ALICE, COIN, Amount::ZERO, NumberedStatus::Active)));
    b.lost("again", unit(), version("A-1", 0)).await;
    let other = plain(vec![account("A-1", BOB, NumberedStatus::Active)]);
    b.unknown("another owner", other, "CONTRADICTION").await;
    let is = first.map_or(0, |account| account.version);
    b.wins("its version", version("A-1", is)).await;
    let frozen = Unit::guarded(
        vec![version("A-1", is)],
        vec![account("A-1", ALICE, NumberedStatus::Frozen)],
    );
    b.written("frozen", frozen).await;
    b.loses("an old version", version("A-1", is)).await;
    b.written("closed", plain(vec![account("A-1", ALICE, NumberedStatus::Closed)])).await;
    let again = plain(vec![account("A-1", ALICE, NumberedStatus::Active)]);
    b.unknown("opened again", again, "CONTRADICTION").await;
    b.reopen().await;
    let status = stored(b, "A-1").await.map(|account| account.status);
    b.same("after a restart", &status, &Some(NumberedStatus::Closed));
}

async fn money_comes_into_an_account_and_goes_out(b: &mut JournalFixture) {
    two(b, 100).await;
    let again = external(b, movement(Direction::In, "A-1", "first", 100)).await;
    b.holds(matches!(again, Moved::Done { replayed: true, .. }), "a replay", &again);
    holds(b, "booked once", "A-1", 100).await;
    let other = external(b, movement(Direction::In, "B-1", "first", 100)).await;
    b.same("the same reference", &other, &Moved::Conflict(vec!["account_number"]));
    let cases = [
        ("B-1", 1, Code::AccountNotFound),
        ("C-1", 1, Code::AccountNotFound),
        ("A-1", 101, Code::InsufficientBalance),
    ];
    for (n, (number, amount, code)) in cases.into_iter().enumerate() {
        let out = movement(Direction::Out, number, &format!("out {n}"), amount);
        b.same("refused", &external(b, out).await, &Moved::Refused(code));
    }
    let full = plain(vec![account("A-1", ALICE, NumberedStatus::Closed)]);
    b.unknown("closed with money", full, "CONTRADICTION").await;
    external(b, movement(Direction::Out, "A-1", "out", 60)).await;
    holds(b, "after it", "A-1", 40).await;
    let usd = External { asset: AssetId(5), ..movement(Direction::In, "A-1", "usd", 1) };
    b.same("another currency", &external(b, usd).await, &Moved::Refused(Code::CurrencyMismatch));
}

async fn a_move_changes_both_accounts(b: &mut JournalFixture) {
    two(b, 100).await;
    b.same("a move", &refused(b, "a move", op(1, "A-1", "B-1", 30)).await, &None);
    holds(b, "the payer", "A-1", 70).await;
    holds(b, "the payee", "B-1", 30).await;
    b.same("its repeat", &refused(b, "a repeat", op(1, "A-1", "B-1", 30)).await, &None);
    holds(b, "once", "B-1", 30).await;
    let other = forked(op(1, "B-1", "A-1", 30), Vec::new());
    b.unknown("another move under the key", other, "CONTRADICTION").await;
    let units = (2..6).map(|n| forked(op(n, "A-1", "B-1", 10), Vec::new())).collect();
    let wrote = b.all(units).await;
    let written = |wrote: &Wrote| matches!(wrote, Wrote::Written(_));
    b.holds(wrote.iter().all(written), "a group", &wrote);
    holds(b, "each of a group", "B-1", 70).await;
}

async fn a_move_is_refused_for_ever(b: &mut JournalFixture) {
    two(b, 100).await;
    let (closed, frozen) = (NumberedStatus::Closed, NumberedStatus::Frozen);
    let more = vec![
        account("F-1", ALICE, frozen),
        account("X-1", BOB, closed),
        account("Y-1", ALICE, closed),
    ];
    b.written("two more", plain(more)).await;
    let cases = [
        (1, "A-1", "A-1", 1, Code::SameAccount),
        (2, "N-1", "B-1", 1, Code::SourceAccountNotFound),
        (3, "A-1", "N-1", 1, Code::TargetAccountNotFound),
        (4, "F-1", "B-1", 1, Code::AccountFrozen),
        (5, "A-1", "Y-1", 1, Code::AccountClosed),
        (6, "A-1", "B-1", 101, Code::InsufficientBalance),
        // of what is another owner's, no more than that it cannot receive, and nothing to a payer that cannot pay
        (8, "A-1", "X-1", 1, Code::TargetAccountNotFound),
        (9, "A-1", "X-1", 101, Code::InsufficientBalance),
        (10, "A-1", "N-1", 101, Code::InsufficientBalance),
    ];
    for (n, from, to, amount, code) in cases {
        let why = refused(b, code.name(), op(n, from, to, amount)).await;
        b.same(code.name(), &why.as_deref(), &Some(code.name()));
    }
    b.same("to a frozen one", &refused(b, "to", op(7, "A-1", "F-1", 5)).await, &None);
    external(b, movement(Direction::In, "A-1", "more", 1_000)).await;
    let why = refused(b, "with money", op(6, "A-1", "B-1", 101)).await;
    b.same("sticky", &why.as_deref(), &Some(Code::InsufficientBalance.name()));
    holds(b, "nothing moved", "B-1", 0).await;
}

async fn a_lost_unit_moves_nothing(b: &mut JournalFixture) {
    two(b, 100).await;
    let guard = Guard::Resource { name: "nothing".into(), version: 9 };
    b.lost("lost", forked(op(1, "A-1", "B-1", 30), vec![guard.clone()]), guard).await;
    holds(b, "nothing moved", "A-1", 100).await;
    let mut unit = forked(op(1, "A-1", "B-1", 30), Vec::new());
    unit.then.puts.push(account("A-1", BOB, NumberedStatus::Active));
    b.unknown("a unit that contradicts", unit, "CONTRADICTION").await;
    holds(b, "nothing moved", "A-1", 100).await;
}

async fn a_move_by_itself_keeps_its_answer(b: &mut JournalFixture) {
    two(b, 100).await;
    let ledger = b.on().accounts.clone();
    let Reply::Answered(known, ()) = ledger.hello().await else { panic!("no hello") };
    let ops: Arc<[Op]> = [op(1, "A-1", "B-1", 30), op(2, "A-1", "B-1", 300)].into();
    for _ in 0..2 {
        let Reply::Answered(_, answers) = ledger.execute(known, ops.clone()).await else {
            panic!("no answer")
        };
        let fits = matches!(answers[..], [Answer::Done(_), Answer::Rejected(..)]);
        b.holds(fits, "both answers", &answers);
        holds(b, "moved once", "B-1", 30).await;
    }
    let first = op(1, "A-1", "B-1", 30);
    let Reply::Answered(_, Stored::Found(found)) = ledger.query(known, first.key).await else {
        panic!("nothing is stored")
    };
    b.same("what is stored", &(&found.op, &found.outcome), &(&first, &StoredOutcome::Done));
    b.written("halted", plain(vec![Put::Halt { reason: "a check".into() }])).await;
    let more: Arc<[Op]> = [op(3, "A-1", "B-1", 1)].into();
    let Reply::Answered(_, answers) = ledger.execute(known, more).await else { panic!("none") };
    b.holds(matches!(answers[..], [Answer::Unknown(_)]), "under HALT", &answers);
    holds(b, "nothing moved", "B-1", 30).await;
}

async fn a_fence_keeps_a_move_away(b: &mut JournalFixture) {
    two(b, 100).await;
    let ledger = b.on().accounts.clone();
    let Reply::Answered(known, ()) = ledger.hello().await else { panic!("no hello") };
    let key = op(1, "A-1", "B-1", 30).key;
    let Reply::Answered(_, Stored::Found(stone)) = ledger.fence(known, key).await else {
        panic!("not fenced")
    };
    b.same("a tombstone", &stone.outcome, &StoredOutcome::Fenced);
    let why = refused(b, "fenced", op(1, "A-1", "B-1", 30)).await;
    b.same("fenced", &why.as_deref(), &Some("FENCED"));
    holds(b, "nothing moved", "A-1", 100).await;
}

async fn the_books_of_accounts_add_up(b: &mut JournalFixture) {
    two(b, 100).await;
    refused(b, "a move", op(1, "A-1", "B-1", 30)).await;
    refused(b, "too much", op(2, "A-1", "B-1", 300)).await;
    external(b, movement(Direction::Out, "A-1", "out", 20)).await;
    let mut snapshot = b.ok("a snapshot", b.on().journal.snapshot().await);
    let books = b.ok("books", snapshot.books(LedgerId::ACCOUNT).await);
    let totals: Vec<_> =
        books.iter().map(|(asset, t)| (*asset, t.users, t.frozen, t.clearing, t.world)).collect();
    b.same("books", &totals, &vec![(COIN, 80, 0, 0, -80)]);
    let sums = b.ok("sums", snapshot.sums(LedgerId::ACCOUNT, u64::MAX).await);
    let external: Vec<_> = sums.iter().map(|(asset, s)| (*asset, s.external, s.count)).collect();
    b.same("sums", &external, &vec![(COIN, 80, 2)]);
    let counted = b.ok("a recount", snapshot.recount().await);
    let own = counted.iter().filter(|(ledger, ..)| *ledger == LedgerId::ACCOUNT);
    let own: Vec<_> = own.map(|(_, asset, sums)| (*asset, *sums)).collect();
    b.same("a recount is the running sums", &own, &sums);
    let rows = b.ok("accounts", snapshot.account_sums(LedgerId::ACCOUNT, u64::MAX, 100).await);
    for row in &rows {
        let breaks = kernel::reconcile::account(LedgerId::ACCOUNT, false, row);
        b.holds(breaks.is_empty(), "an account and its operations", &breaks);
    }
    let shown: Vec<_> = rows.iter().map(|r| (r.account.to_string(), r.available)).collect();
    let should = [("A-1".to_owned(), Amount(50)), ("B-1".to_owned(), Amount(30))];
    b.same("every account", &shown, &should.to_vec());
    for (asset, totals) in books {
        let sums = sums.iter().find(|(of, _)| *of == asset).map(|(_, s)| *s).unwrap_or_default();
        let breaks = kernel::reconcile::books(LedgerId::ACCOUNT, false, asset, &totals, &sums);
        b.holds(breaks.is_empty(), "the books", &breaks);
    }
}
