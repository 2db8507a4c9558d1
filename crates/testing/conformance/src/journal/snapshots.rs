//! Checks a snapshot: one instant of the whole journal, without later writes.

use super::checks;
use super::fixture::{COIN, JournalFixture, NOON, RICH, START, id, known, op, plain, receipt};
use kernel::flow::life::Leg::{Deposit, Refund, Settle, Withdraw};
use kernel::ids::{LedgerId, Millis, Serial, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::journal::{AccountSums, KeyRow, Snapshot, Sums};
use kernel::ports::ledger::{Direction, External, Reply, Totals};
use kernel::record::Account;
use kernel::unit::Put;
use testkit::deposit;

checks! {
    lines_are_paged_by_number,
    lines_are_found_by_key,
    books_are_recomputed,
    sums_are_over_the_operations,
    accounts_stand_beside_their_operations,
    accounts_are_paged_in_order,
    what_was_written_is_complete,
    a_snapshot_stands_still,
    keys_stand_beside_their_transfers,
    transfers_are_read_behind_a_number,
}

const DAY: Millis = 86_400_000;

async fn execute(b: &JournalFixture, ops: Vec<Op>) {
    let known = b.funding_known().await;
    let reply = b.on().funding.execute(known, ops.into()).await;
    b.holds(matches!(reply, Reply::Answered(..)), "operations", &reply);
}

async fn lines_are_paged_by_number(b: &mut JournalFixture) {
    for n in 1..6 {
        b.opened(n).await;
    }
    let record = b.get(id(4)).await;
    b.moved(&record, "FAILED").await;
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let (mut after, mut seen) = (Serial(0), Vec::new());
    loop {
        let page = b.ok("lines", snapshot.lines(after, 2).await);
        b.holds(page.len() <= 2, "a page beyond its limit", &page);
        let Some(last) = page.last() else { break };
        after = last.serial;
        seen.extend(page);
    }
    let ids: Vec<_> = seen.iter().map(|line| line.id).collect();
    b.same("every transfer, by number", &ids, &(1..6).map(id).collect());
    for line in seen {
        let record = b.get(line.id).await;
        let has = (Some(line.serial), line.flow, line.state, line.refund_fee);
        let terms = &record.terms;
        let should = (record.serial, record.flow, record.head.state, terms.refund_fee);
        b.same("a line", &has, &should);
        b.same("its ends", &(&line.source, &line.target), &(&terms.source, &terms.target));
    }
}

async fn lines_are_found_by_key(b: &mut JournalFixture) {
    for n in 1..4 {
        b.opened(n).await;
    }
    execute(b, vec![op(2, Withdraw, 10)]).await;
    let keys = [(3, Deposit), (2, Withdraw), (9, Withdraw), (2, Deposit)];
    let keys = keys.map(|(n, leg)| Key { id: id(n), leg }).to_vec();
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let lines = b.ok("lines_of", snapshot.lines_of(keys).await);
    let mut found: Vec<_> = lines.iter().map(|line| (line.id, line.operations.len())).collect();
    found.sort_unstable();
    found.dedup();
    b.same("those that are there", &found, &vec![(id(2), 1), (id(3), 0)]);
    b.same("none", &b.ok("lines_of", snapshot.lines_of(vec![]).await).len(), &0);
}

async fn books(b: &JournalFixture, snapshot: &mut dyn Snapshot) -> Totals {
    let books = b.ok("books", snapshot.books(LedgerId::FUNDING).await);
    books.iter().find(|(asset, _)| *asset == COIN).map(|(_, t)| *t).unwrap_or_default()
}

async fn sums(
    b: &JournalFixture,
    snapshot: &mut dyn Snapshot,
    ledger: LedgerId,
    upto: u64,
) -> Sums {
    let sums = b.ok("sums", snapshot.sums(ledger, upto).await);
    sums.iter().find(|(asset, _)| *asset == COIN).map(|(_, s)| *s).unwrap_or_default()
}

/// This amount as a signed number.
fn signed(n: u128) -> i128 {
    i128::try_from(n).unwrap_or(i128::MAX)
}

async fn books_are_recomputed(b: &mut JournalFixture) {
    execute(b, vec![op(1, Withdraw, 100), op(2, Withdraw, 50), op(3, Withdraw, 7)]).await;
    execute(b, vec![op(2, Refund, 50), op(3, Settle, 7), op(4, Deposit, 20)]).await;
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let should = Totals {
        users: signed(START) - 100 - 7 + 20,
        frozen: 100,
        clearing: 7 - 20,
        world: -signed(START),
    };
    b.same("the books", &books(b, &mut *snapshot).await, &should);
}

async fn sums_are_over_the_operations(b: &mut JournalFixture) {
    execute(b, vec![op(1, Withdraw, 100), op(2, Withdraw, 50), op(3, Withdraw, 7)]).await;
    execute(b, vec![op(2, Refund, 50), op(3, Settle, 7), op(4, Deposit, 20)]).await;
    execute(b, vec![op(5, Withdraw, START * 2)]).await;
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let should = Sums {
        withdraw: 157,
        deposit: 20,
        settle: 7,
        refund: 50,
        external: signed(START),
        count: 7,
    };
    let all = sums(b, &mut *snapshot, LedgerId::FUNDING, u64::MAX).await;
    b.same("Funding's", &all, &should);
    drop(snapshot);
    for n in 11..14 {
        b.opened(n).await;
    }
    let adopt = Put::Adopt { ledger: LedgerId::SPOT, known: known(1, 0) };
    let puts = vec![
        adopt,
        receipt(1, op(11, Withdraw, 5)),
        receipt(2, op(12, Deposit, 6)),
        receipt(3, op(11, Refund, 5)),
    ];
    b.written("receipts", plain(puts)).await;
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    for (upto, withdraw, deposit, refund, count) in
        [(0, 0, 0, 0, 0), (1, 5, 0, 0, 1), (2, 5, 6, 0, 2), (u64::MAX, 5, 6, 5, 3)]
    {
        let should = Sums { withdraw, deposit, refund, count, ..Sums::default() };
        let is = sums(b, &mut *snapshot, LedgerId::SPOT, upto).await;
        b.same("Spot's up to a number", &is, &should);
    }
}

async fn accounts(
    b: &JournalFixture,
    snapshot: &mut dyn Snapshot,
    (ledger, upto, limit): (LedgerId, u64, usize),
) -> Vec<AccountSums> {
    let mut all = Vec::new();
    loop {
        let page = b.ok("account_sums", snapshot.account_sums(ledger, upto, limit).await);
        b.holds(page.len() <= limit, "a page beyond its limit", &page);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn row(account: Account, (available, frozen): (u128, u128), sums: Sums) -> AccountSums {
    let (available, frozen) = (Amount(available), Amount(frozen));
    AccountSums { account, asset: COIN, available, frozen, sums }
}

async fn accounts_stand_beside_their_operations(b: &mut JournalFixture) {
    let other = UserId(20);
    b.give("another", other, 70).await;
    execute(b, vec![op(1, Withdraw, 100), op(2, Withdraw, 50), op(3, Withdraw, 7)]).await;
    execute(b, vec![op(2, Refund, 50), op(3, Settle, 7), op(4, Deposit, 20)]).await;
    // refused: it moved nothing
    execute(b, vec![op(5, Withdraw, START * 2)]).await;
    let theirs = Op { account: Account::User(other), ..op(6, Withdraw, 30) };
    execute(b, vec![theirs]).await;
    let movement = External { direction: Direction::Out, ..deposit("out", other.0, COIN, 15) };
    b.ok("external money", b.on().world.external(movement).await);
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let (withdraw, deposit, settle, refund) = (157, 20, 7, 50);
    let rich = Sums { withdraw, deposit, settle, refund, external: signed(START), count: 6 };
    let poor = Sums { withdraw: 30, external: 55, count: 1, ..Sums::default() };
    let should = vec![
        row(Account::User(RICH), (START - 100 - 7 + 20, 100), rich),
        row(Account::User(other), (25, 30), poor),
    ];
    let all = (LedgerId::FUNDING, u64::MAX, 1);
    b.same("Funding's", &accounts(b, &mut *snapshot, all).await, &should);
    b.same("once more", &accounts(b, &mut *snapshot, all).await, &should);
    // another question ends a reading
    b.ok("a page", snapshot.account_sums(LedgerId::FUNDING, u64::MAX, 1).await);
    b.ok("books", snapshot.books(LedgerId::FUNDING).await);
    b.same("from the beginning", &accounts(b, &mut *snapshot, all).await, &should);
    drop(snapshot);
    for n in 11..14 {
        b.opened(n).await;
    }
    let puts = vec![
        Put::Adopt { ledger: LedgerId::SPOT, known: known(1, 0) },
        receipt(1, op(11, Withdraw, 5)),
        receipt(2, op(12, Deposit, 6)),
        receipt(3, op(11, Refund, 5)),
    ];
    b.written("receipts", plain(puts)).await;
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    for (upto, withdraw, deposit, refund, count) in
        [(1, 5, 0, 0, 1), (2, 5, 6, 0, 2), (9, 5, 6, 5, 3)]
    {
        let sums = Sums { withdraw, deposit, refund, count, ..Sums::default() };
        let is = accounts(b, &mut *snapshot, (LedgerId::SPOT, upto, 10)).await;
        b.same("Spot's up to a number", &is, &vec![row(Account::User(RICH), (0, 0), sums)]);
    }
    b.same("none", &accounts(b, &mut *snapshot, (LedgerId::SPOT, 0, 10)).await, &vec![]);
}

async fn accounts_are_paged_in_order(b: &mut JournalFixture) {
    let users = [9, 10, 2, 100, 99, 1_000, 11].map(UserId);
    for user in users {
        b.give(&format!("of {user}"), user, 5).await;
    }
    let mut should: Vec<Account> = users.into_iter().chain([RICH]).map(Account::User).collect();
    should.sort_unstable();
    for limit in [1, 3, 1_000] {
        let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
        let all = accounts(b, &mut *snapshot, (LedgerId::FUNDING, u64::MAX, limit)).await;
        let found: Vec<_> = all.into_iter().map(|row| row.account).collect();
        b.same("users by number", &found, &should);
    }
}

async fn what_was_written_is_complete(b: &mut JournalFixture) {
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let none = b.ok("complete", snapshot.complete().await);
    for n in 1..4 {
        let serial = b.opened(n).await.serial.unwrap_or(Serial(0));
        b.holds(serial > none, "a number that was complete before it was given", &(serial, none));
        b.same("of an instant", &b.ok("complete", snapshot.complete().await), &none);
        let mut later = b.ok("snapshot", b.on().journal.snapshot().await);
        let complete = b.ok("complete", later.complete().await);
        b.holds(complete >= serial, "what was written and is not complete", &(serial, complete));
    }
}

async fn a_snapshot_stands_still(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    execute(b, vec![op(1, Withdraw, 10)]).await;
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let mut look = async |b: &JournalFixture| {
        let lines = b.ok("lines", snapshot.lines(Serial(0), 100).await);
        let books = books(b, &mut *snapshot).await;
        let sums = sums(b, &mut *snapshot, LedgerId::FUNDING, u64::MAX).await;
        format!("{lines:?} {books:?} {sums:?}")
    };
    let before = look(b).await;
    execute(b, vec![op(1, Refund, 10), op(2, Withdraw, 30)]).await;
    b.moved(&record, "FAILED").await;
    b.opened(2).await;
    b.give("more", RICH, 5).await;
    b.same("what it shows after later writes", &look(b).await, &before);
    drop(snapshot);
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let lines = b.ok("lines", snapshot.lines(Serial(0), 100).await);
    b.same("the next one", &lines.len(), &2);
    b.same("its books", &books(b, &mut *snapshot).await.frozen, &30);
}

async fn keys_stand_beside_their_transfers(b: &mut JournalFixture) {
    for n in [1, 3] {
        let record = b.bound(b.record(n, RICH, 10), "suite|1", &format!("key-{n}"));
        b.written("an opening with a key", b.opening(&record)).await;
        if n == 1 {
            b.opened(2).await;
        }
    }
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let lines = b.ok("lines", snapshot.lines(Serial(0), 10).await);
    let rows: Vec<_> = lines.iter().map(|line| line.key_row).collect();
    let of = |n: usize| lines.get(n).map_or(KeyRow::Missing, |line| KeyRow::Names(line.serial));
    b.same("the rows of keys", &rows, &vec![of(0), KeyRow::Keyless, of(2)]);
    b.same("rows of none", &b.ok("unmatched_keys", snapshot.unmatched_keys(9).await), &vec![]);
}

/// The cursors of webhooks and of the audit read so: what a page leaves out is never told.
async fn transfers_are_read_behind_a_number(b: &mut JournalFixture) {
    let mut serials = Vec::new();
    for n in 1..=5 {
        b.clock.set(NOON + n * DAY);
        serials.extend(b.opened(n).await.serial);
    }
    let (own, other) = (Some(b.flow), b.flows.named("account"));
    for (after, flow, limit, should) in [
        (None, None, 2, 0..2),
        (Some(1), own, 9, 2..5),
        (Some(4), None, 9, 0..0),
        (None, other, 9, 0..0),
    ] {
        let after = after.and_then(|n: usize| serials.get(n).copied()).unwrap_or(Serial(0));
        let page = b.ok("page", b.on().journal.transfers_after(after, flow, limit).await);
        let found: Vec<_> = page.records.iter().filter_map(|record| record.serial).collect();
        b.same("a page", &found, &serials.get(should).unwrap_or_default().to_vec());
        let last = serials.last().copied().unwrap_or(Serial(0));
        b.holds(page.complete >= last, "what was written and is not complete", &page.complete);
    }
    let before = b.ok("before", b.on().journal.before_time(NOON + 3 * DAY).await);
    let earlier = serials.get(1).copied().unwrap_or(Serial(0));
    b.holds(before <= earlier, "a number that leaves out a transfer of that time", &before);
    b.holds(before > Serial(0), "a number of all times", &before);
}
