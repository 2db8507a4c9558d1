//! Checks external movements: each is booked once for its reference.

use super::checks;
use super::fixture::{COIN, JournalFixture, START, plain};
use kernel::code::Code;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::ports::ledger::{AccountStatus, Direction, External, Moved, Reply, Whose};
use kernel::unit::Put;
use testkit::deposit;

checks! {
    money_comes_in_once,
    money_goes_out_once,
    another_movement_under_a_reference_conflicts,
    a_refused_movement_stores_nothing,
    an_account_begins_with_its_first_money,
    the_world_is_the_other_side,
    nothing_is_booked_under_halt,
}

fn movement(direction: Direction, reference: &str, user: u64, amount: u128) -> External {
    External { direction, ..deposit(reference, user, COIN, amount) }
}

async fn ask(b: &JournalFixture, movement: External) -> Moved {
    b.ok("external money", b.on().world.external(movement).await)
}

/// The number, what is available after it, and whether it was booked before.
fn done(b: &JournalFixture, moved: &Moved) -> (u64, u128, bool) {
    match moved {
        Moved::Done { operation, available, replayed, .. } => (*operation, available.0, *replayed),
        Moved::Refused(_) | Moved::Conflict(_) => {
            b.holds(false, "not booked", moved);
            (0, 0, false)
        }
    }
}

async fn money_comes_in_once(b: &mut JournalFixture) {
    let come = movement(Direction::In, "wire 1", 1, 50);
    let before = b.ok("a look", b.on().world.booked(come.clone()).await);
    b.same("a look before", &before.is_none(), &true);
    let (first, available, replayed) = done(b, &ask(b, come.clone()).await);
    b.same("the first time", &(available, replayed), &(START + 50, false));
    done(b, &ask(b, movement(Direction::In, "wire 2", 1, 1)).await);
    for _ in 0..2 {
        let again = done(b, &ask(b, come.clone()).await);
        b.same("again", &again, &(first, START + 50, true));
        let booked = b.ok("a look", b.on().world.booked(come.clone()).await);
        let booked = booked.map(|moved| done(b, &moved));
        b.same("a look at it", &booked, &Some((first, START + 50, true)));
        b.reopen().await;
    }
    b.same("the balance", &b.balance().await, &(START + 51, 0));
}

async fn money_goes_out_once(b: &mut JournalFixture) {
    let outgoing = movement(Direction::Out, "wire 1", 1, 40);
    let (first, available, _) = done(b, &ask(b, outgoing.clone()).await);
    b.same("what is left", &available, &(START - 40));
    b.same("again", &done(b, &ask(b, outgoing).await), &(first, START - 40, true));
    // a reference is unique per direction
    let come = movement(Direction::In, "wire 1", 1, 7);
    b.same("the other direction", &done(b, &ask(b, come).await).2, &false);
    b.same("the balance", &b.balance().await, &(START - 33, 0));
}

async fn another_movement_under_a_reference_conflicts(b: &mut JournalFixture) {
    let first = movement(Direction::In, "wire 1", 1, 50);
    done(b, &ask(b, first.clone()).await);
    let other = [
        External { amount: Amount(51), ..first.clone() },
        External { user: UserId(2), ..first.clone() },
        External { asset: AssetId(1), ..first.clone() },
    ];
    for other in other {
        let moved = ask(b, other).await;
        let fits = matches!(&moved, Moved::Conflict(fields) if fields.len() == 1);
        b.holds(fits, "not a conflict of one field", &moved);
    }
    b.same("the balance", &b.balance().await, &(START + 50, 0));
    b.same("the first still", &done(b, &ask(b, first).await).2, &true);
}

async fn a_refused_movement_stores_nothing(b: &mut JournalFixture) {
    let refused = |moved: &Moved, code: Code| *moved == Moved::Refused(code);
    let outgoing = movement(Direction::Out, "wire 1", 1, START + 1);
    let moved = ask(b, outgoing.clone()).await;
    b.holds(refused(&moved, Code::InsufficientBalance), "too much", &moved);
    let unknown = ask(b, movement(Direction::Out, "wire 2", 9, 1)).await;
    b.holds(matches!(unknown, Moved::Refused(_)), "an unknown user's money", &unknown);
    b.set_status(AccountStatus::Frozen, "freeze").await;
    let frozen = ask(b, movement(Direction::Out, "wire 3", 1, 1)).await;
    b.holds(refused(&frozen, Code::AccountFrozen), "a frozen account's", &frozen);
    b.set_status(AccountStatus::Active, "thaw").await;
    done(b, &ask(b, movement(Direction::In, "more", 1, 1)).await);
    // the reference is not spent
    b.same("the same, now that there is enough", &done(b, &ask(b, outgoing).await).1, &0);
}

async fn an_account_begins_with_its_first_money(b: &mut JournalFixture) {
    let holdings = async |b: &JournalFixture| {
        let reply = b.on().funding.accounts(Whose::User(UserId(5))).await;
        let Reply::Answered(_, found) = reply else { return vec![] };
        found.iter().map(|h| (h.asset, h.available.0, h.status)).collect()
    };
    b.same("before", &holdings(b).await, &vec![]);
    done(b, &ask(b, movement(Direction::In, "first", 5, 3)).await);
    b.same("after", &holdings(b).await, &vec![(COIN, 3, AccountStatus::Active)]);
    b.reopen().await;
    b.same("after a restart", &holdings(b).await, &vec![(COIN, 3, AccountStatus::Active)]);
}

async fn the_world_is_the_other_side(b: &mut JournalFixture) {
    done(b, &ask(b, movement(Direction::In, "in", 1, 50)).await);
    done(b, &ask(b, movement(Direction::Out, "out", 1, 20)).await);
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let books = b.ok("books", snapshot.books(LedgerId::FUNDING).await);
    let coin = books.iter().find(|(asset, _)| *asset == COIN).map(|(_, t)| *t).unwrap_or_default();
    let has = i128::try_from(START + 30).unwrap_or(i128::MAX);
    b.same("the books", &(coin.users, coin.world), &(has, -has));
    let sums = b.ok("sums", snapshot.sums(LedgerId::FUNDING, u64::MAX).await);
    let external = sums.iter().find(|(asset, _)| *asset == COIN).map(|(_, s)| s.external);
    b.same("the external operations", &external, &Some(has));
    b.same("user 1", &b.balance().await, &(START + 30, 0));
}

/// The journal's own transaction refuses, whatever the process believes; what was booked before is
/// answered as booked.
async fn nothing_is_booked_under_halt(b: &mut JournalFixture) {
    let before = movement(Direction::In, "before", 1, 50);
    let (first, available, _) = done(b, &ask(b, before.clone()).await);
    b.written("a halt", plain(vec![Put::Halt { reason: "stop".into() }])).await;
    for _ in 0..2 {
        for direction in [Direction::In, Direction::Out] {
            let moved = ask(b, movement(direction, "under it", 1, 7)).await;
            b.holds(moved == Moved::Refused(Code::Halted), "booked under HALT", &moved);
        }
        b.same(
            "as it was booked",
            &done(b, &ask(b, before.clone()).await),
            &(first, available, true),
        );
        let other = ask(b, External { amount: Amount(51), ..before.clone() }).await;
        b.holds(matches!(other, Moved::Conflict(_)), "not a conflict", &other);
        let looked = b.ok("a look", b.on().world.booked(before.clone()).await);
        b.same(
            "a look at it",
            &looked.map(|moved| done(b, &moved)),
            &Some((first, available, true)),
        );
        b.reopen().await;
    }
    b.same("the balance", &b.balance().await, &(START + 50, 0));
    b.written("a resume", plain(vec![Put::Resume { accepted: vec![] }])).await;
    let moved = ask(b, movement(Direction::In, "under it", 1, 7)).await;
    b.same("once money moves", &done(b, &moved).1, &(START + 57));
}
