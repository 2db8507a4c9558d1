//! Checks that an attempt is read as it was written, and that it moves by its next version alone.

use super::super::checks;
use super::super::fixture::{JournalFixture, NOON, guarded, plain};
use super::{CHAIN, LANE, Next, as_they_stand, attempt, claim, claimed, form, ids, nth, text};
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId, Form, Purpose};
use kernel::ids::ChainId;
use kernel::unit::{Guard, Hold, Put, Unit};

checks! {
    an_attempt_is_read_whole,
    forms_are_read_in_the_order_of_signing,
    an_attempt_is_found_by_member_lane_and_form,
    an_attempt_moves_by_its_next_version,
    an_attempt_is_of_transfers_that_are_there,
    a_lost_claim_leaves_no_attempt,
    an_attempt_without_members_is_over_at_once,
}

/// What each question says of the one attempt on the chain.
async fn every_reading(b: &JournalFixture, of: &[u64]) -> Vec<String> {
    let journal = &b.on().journal;
    let mut found = b.ok("by member", journal.attempts_of(ids(of)).await);
    found.extend(b.ok("open ones", journal.open_attempts(CHAIN).await));
    found.extend(b.ok("by lane", journal.attempts_of_lane(CHAIN, LANE.into(), 9).await));
    let name = vec![1; 32].into();
    found.extend(b.ok("by form", journal.attempt_of_form(CHAIN, name).await));
    found.iter().map(text).collect()
}

async fn an_attempt_is_read_whole(b: &mut JournalFixture) {
    // neither a lock of 64 bits nor one of 32 bytes fits a number of SQL
    let lock = "f".repeat(64);
    let made = claimed(b, u128::MAX, &lock, &[3, 1, 2]).await;
    let whole = Attempt { members: as_they_stand(b, &made).await.into(), ..made.clone() };
    b.same("as it was made", &every_reading(b, &[2]).await, &vec![text(&whole); 4]);
    let next = Next { due_at: Some(NOON + 9), hold: Hold::Free, ..Next::carried(2) };
    b.written("a head", plain(vec![next.put(made.id)])).await;
    let moved = Attempt { version: 2, sent: true, due_at: Some(NOON + 9), ..whole };
    b.same("as it was moved", &every_reading(b, &[1]).await, &vec![text(&moved); 4]);
    b.reopen().await;
    b.same("after a restart", &every_reading(b, &[3, 1]).await, &vec![text(&moved); 4]);
    let mut members = moved.members.to_vec();
    let first = members.remove(0);
    members.insert(0, b.moved(&first, "FAILED").await);
    let moved = Attempt { members: members.into(), ..moved };
    b.same("with its members as they stand", &every_reading(b, &[3]).await, &vec![text(&moved); 4]);
}

async fn forms_are_read_in_the_order_of_signing(b: &mut JournalFixture) {
    let member = b.opened(1).await;
    let void = Form { purpose: Purpose::Void, expires: None, anchor: None, ..form(2, 64) };
    let reference = Some(r#"{"reference":"18446744073709551615","head":7}"#.into());
    let node = Form { bytes: [].into(), repeatable: false, reference, ..form(0, 20) };
    let mut forms = vec![form(9, 64), void.clone()];
    let made = Attempt { forms: forms.clone(), ..attempt(b, 1, "1", &[member]) };
    b.written("a claim", claim(b, &made)).await;
    for (version, more) in [(1, node), (2, Form { expires: Some(1 << 62), ..form(8, 1) })] {
        let guard = Guard::Attempt { id: made.id, version };
        let unit = Unit::guarded(vec![guard.clone()], vec![Put::Form(made.id, more.clone())]);
        b.written("one more", unit.clone()).await;
        b.lost("the same again", unit, guard).await;
        forms.push(more);
    }
    let two = vec![Put::Form(made.id, void), Next::carried(5).put(made.id)];
    b.unknown("a form that nothing guards", plain(two.clone()), Cause::CONTRADICTION).await;
    let guard = Guard::Attempt { id: made.id, version: 3 };
    b.written("a form and a head in one unit", Unit::guarded(vec![guard], two)).await;
    forms.push(nth(&forms, 1));
    b.reopen().await;
    let found = b.ok("by member", b.on().journal.attempts_of(ids(&[1])).await);
    let found: Vec<_> = found.into_iter().map(|a| (a.version, a.forms)).collect();
    b.same("all of them", &found, &vec![(5, forms)]);
}

async fn an_attempt_is_found_by_member_lane_and_form(b: &mut JournalFixture) {
    let first = claimed(b, 9, "1", &[1, 2]).await;
    let second = claimed(b, 3, "2", &[3]).await;
    let member = b.get(nth(&first.members, 0).id).await;
    let lane = "key-2".into();
    let third = Attempt { lane, forms: vec![form(7, 64)], ..attempt(b, 5, "2", &[member]) };
    b.written("another of a member", plain(vec![Put::Attempt(third.clone())])).await;
    let beside = Attempt { lock: third.lock.beside("again"), ..attempt(b, 10, "9", &[]) };
    let beside = Attempt { lane: third.lane.clone(), closed: Some(NOON), ..beside };
    b.written("one beside another of its lock", plain(vec![Put::Attempt(beside)])).await;
    let close = Next { closed: Some(NOON), ..Next::carried(2) };
    b.written("the first is closed", plain(vec![close.put(first.id)])).await;
    let journal = &b.on().journal;
    let names = |found: Vec<Attempt>| found.iter().map(|a| a.id.0).collect::<Vec<_>>();
    for (of, should) in [(vec![1], vec![9, 5]), (vec![2, 3], vec![9, 3]), (vec![4], vec![])] {
        let found = b.ok("by member", journal.attempts_of(ids(&of)).await);
        b.same("of these members, oldest first", &names(found), &should);
    }
    let open = b.ok("open ones", journal.open_attempts(CHAIN).await);
    b.same("open ones, oldest first", &names(open), &vec![3, 5]);
    let elsewhere = b.ok("open ones", journal.open_attempts(ChainId(32)).await);
    b.same("of another chain", &names(elsewhere), &vec![]);
    for (limit, should) in [(9, vec![3, 9]), (1, vec![3]), (0, vec![])] {
        let found = journal.attempts_of_lane(CHAIN, LANE.into(), limit).await;
        b.same("of the lane, newest first", &names(b.ok("by lane", found)), &should);
    }
    for (chain, form, should) in
        [(CHAIN, form(7, 64), Some(third.id)), (ChainId(32), form(7, 64), None)]
    {
        let found = b.ok("by form", journal.attempt_of_form(chain, form.name).await);
        b.same("of that form", &found.map(|a| a.id), &should);
    }
    b.holds(second.id == AttemptId(3), "the second", &second.id);
}

async fn an_attempt_moves_by_its_next_version(b: &mut JournalFixture) {
    let made = claimed(b, 1, "1", &[1]).await;
    let guard = |version| Guard::Attempt { id: made.id, version };
    for version in [0, 1, 3, u32::MAX] {
        let head = plain(vec![Next::carried(version).put(made.id)]);
        b.lost("a version that is not the next", head, guard(version.saturating_sub(1))).await;
    }
    let missing = AttemptId(77);
    let head = plain(vec![Next::carried(1).put(missing)]);
    b.lost("one that is not there", head, Guard::Attempt { id: missing, version: 0 }).await;
    let one_more = plain(vec![Put::Form(missing, form(3, 32))]);
    b.unknown("a form of one that is not there", one_more, "NO_SUCH_ATTEMPT").await;
    let again = Attempt { lock: "2".into(), ..made.clone() };
    b.lost("its id again", plain(vec![Put::Attempt(again)]), guard(0)).await;
    let close = Next { closed: Some(NOON + 5), ..Next::carried(2) };
    b.written("its close", plain(vec![close.put(made.id)])).await;
    let head = plain(vec![Next::carried(3).put(made.id)]);
    b.lost("a head of a closed one", head, guard(2)).await;
    let one_more = plain(vec![Put::Form(made.id, form(3, 32))]);
    b.unknown("a form of a closed one", one_more, "NO_SUCH_ATTEMPT").await;
    b.wins("its version", guard(2)).await;
    let found = b.ok("by member", b.on().journal.attempts_of(ids(&[1])).await);
    b.same("when it was closed", &nth(&found, 0).closed, &Some(NOON + 5));
}

async fn an_attempt_is_of_transfers_that_are_there(b: &mut JournalFixture) {
    let (there, missing) = (b.opened(1).await, b.record(2, super::super::fixture::RICH, 10));
    let put = |attempt| plain(vec![Put::Attempt(attempt)]);
    let of = attempt(b, 1, "1", &[there.clone(), missing]);
    b.unknown("a member that is not there", put(of), "NO_SUCH_TRANSFER").await;
    let twice = attempt(b, 1, "1", &[there.clone(), there.clone()]);
    b.unknown("a member twice", put(twice), "CONTRADICTION").await;
    let second = Attempt { version: 2, ..attempt(b, 1, "1", std::slice::from_ref(&there)) };
    b.unknown("a first version of 2", put(second), "CONTRADICTION").await;
    b.written("one that is there", put(attempt(b, 1, "1", &[there]))).await;
}

async fn a_lost_claim_leaves_no_attempt(b: &mut JournalFixture) {
    let (stays, moves) = (b.opened(1).await, b.opened(2).await);
    b.moved(&moves, "FAILED").await;
    let made = attempt(b, 1, "1", &[stays.clone(), moves.clone()]);
    let mut unit = claim(b, &made);
    unit.then.puts.push(Put::Resource { name: "lane:31:key-1".into(), value: "1".into() });
    b.lost("a member that moved on", unit, b.stands(&moves)).await;
    let free = |lock: &str| Guard::LockFree { chain: CHAIN, lane: LANE.into(), lock: lock.into() };
    b.written("its lock is free", guarded(free("1"))).await;
    b.written("its id too", guarded(Guard::Attempt { id: made.id, version: 0 })).await;
    b.written("the other member alone", claim(b, &attempt(b, 1, "1", &[stays]))).await;
}

/// What another program signed: an attempt that is over when it is written, and of no transfer.
async fn an_attempt_without_members_is_over_at_once(b: &mut JournalFixture) {
    let reference = Some(r#"{"receiver":"usdc.near","actions":[]}"#.into());
    let shown =
        Form { bytes: [].into(), repeatable: false, expires: None, reference, ..form(1, 32) };
    let (sent, closed) = (true, Some(NOON));
    let over = Attempt { forms: vec![shown], sent, closed, ..attempt(b, 1, "7", &[]) };
    b.written("it", plain(vec![Put::Attempt(over.clone())])).await;
    let lock = Guard::LockFree { chain: CHAIN, lane: LANE.into(), lock: over.lock.clone() };
    let again = Attempt { id: AttemptId(2), ..over.clone() };
    b.lost("its lock once more", plain(vec![Put::Attempt(again)]), lock).await;
    let head = plain(vec![Next::carried(2).put(over.id)]);
    b.lost("it moves", head, Guard::Attempt { id: over.id, version: 1 }).await;
    b.reopen().await;
    let journal = &b.on().journal;
    let of_lane = b.ok("by lane", journal.attempts_of_lane(CHAIN, LANE.into(), 9).await);
    let mut found: Vec<String> = of_lane.iter().map(text).collect();
    let name = vec![1; 32].into();
    found.extend(b.ok("by form", journal.attempt_of_form(CHAIN, name).await).iter().map(text));
    b.same("as it was made", &found, &vec![text(&over); 2]);
    let open = b.ok("open ones", journal.open_attempts(CHAIN).await);
    b.same("it is not open", &open.len(), &0);
}
