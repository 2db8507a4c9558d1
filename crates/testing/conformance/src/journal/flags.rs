//! Checks HALT and pauses, which stop money until a person lifts them.

use super::checks;
use super::fixture::{JournalFixture, NOON, RICH, TODAY, id, op, plain};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, ChainId, LedgerId};
use kernel::money::Asset;
use kernel::operation::Key;
use kernel::operators::{Accepted, Paused, Scope};
use kernel::ports::ledger::Stored;
use kernel::unit::{Guard, Put, Unit, Wrote};

checks! {
    a_fresh_journal_knows_its_assets_and_stops_nothing,
    a_halt_stands_with_its_first_reason,
    a_resume_ends_a_halt,
    a_halt_and_its_end_hold_inside_a_group,
    the_ledger_writes_nothing_new_under_a_halt,
    each_halt_has_a_number_of_its_own,
    a_guard_names_the_last_halt_that_stands,
    accepted_breaks_stand_beside_each_other,
    a_pause_stands_once_for_its_scope_and_caller,
    a_pause_ends_by_its_number,
    how_far_the_proof_came_stands,
}

async fn a_fresh_journal_knows_its_assets_and_stops_nothing(b: &mut JournalFixture) {
    for _ in 0..2 {
        let status = b.status().await;
        b.same("the assets", &status.assets, &Asset::fresh());
        b.same("how often they changed", &status.assets_version, &0);
        let flags = (status.halted, status.paused, status.ledgers, status.horizon);
        b.same("the rest", &flags, &(None, vec![], vec![], None));
        b.same("accepted breaks", &status.accepted, &vec![]);
        b.same("halts and owners", &(status.halts, status.owners), &(0, vec![]));
        b.same("open cases", &b.on().journal.open_cases().await, &Ok(vec![]));
        b.same("today", &b.daily_usage(RICH, TODAY, AssetId(1)).await, &(0, 0));
        b.reopen().await;
    }
}

fn halt(reason: &str) -> Put {
    Put::Halt { reason: reason.into() }
}

fn resume(accepted: &[(&str, i128)]) -> Put {
    let one = |(key, amount): &(&str, i128)| Accepted { key: (*key).into(), amount: *amount };
    Put::Resume { accepted: accepted.iter().map(one).collect() }
}

async fn a_halt_stands_with_its_first_reason(b: &mut JournalFixture) {
    b.wins("before", Guard::NotHalted).await;
    for reason in ["the first", "the second"] {
        b.written("a halt", plain(vec![halt(reason)])).await;
        b.same("the reason", &b.status().await.halted.as_deref(), &Some("the first"));
    }
    b.loses("a unit that needs money to move", Guard::NotHalted).await;
    b.reopen().await;
    b.loses("and after a restart", Guard::NotHalted).await;
    b.same("the reason", &b.status().await.halted.as_deref(), &Some("the first"));
    // answers and ends are recorded all the same
    b.written("a unit that does not ask", plain(vec![Put::Raise { name: "x".into(), to: 1 }]))
        .await;
}

async fn a_resume_ends_a_halt(b: &mut JournalFixture) {
    b.written("a halt", plain(vec![halt("the first")])).await;
    b.written("a resume", plain(vec![resume(&[])])).await;
    b.same("halted", &b.status().await.halted, &None);
    b.wins("money moves", Guard::NotHalted).await;
    b.reopen().await;
    b.wins("and after a restart", Guard::NotHalted).await;
    b.written("a resume of nothing", plain(vec![resume(&[])])).await;
    b.written("another halt", plain(vec![halt("the second")])).await;
    b.loses("it stands again", Guard::NotHalted).await;
    b.same("its reason", &b.status().await.halted.as_deref(), &Some("the second"));
}

async fn a_halt_and_its_end_hold_inside_a_group(b: &mut JournalFixture) {
    let asks = || super::fixture::guarded(Guard::NotHalted);
    let group = vec![
        asks(),
        plain(vec![halt("here")]),
        asks(),
        plain(vec![resume(&[])]),
        asks(),
        plain(vec![halt("there"), resume(&[]), halt("and here")]),
    ];
    let wrote = b.all(group).await;
    let lost: Vec<_> = wrote.iter().map(|w| *w == Wrote::Lost(Guard::NotHalted)).collect();
    b.same("those that were lost", &lost, &vec![false, false, true, false, false, false]);
    b.same("the reason", &b.status().await.halted.as_deref(), &Some("and here"));
}

async fn each_halt_has_a_number_of_its_own(b: &mut JournalFixture) {
    let halts = async |b: &JournalFixture| b.status().await.halts;
    for n in [0, 3, 6] {
        b.written("a halt", plain(vec![halt("one")])).await;
        b.same("its number", &halts(b).await, &(n + 1));
        b.written("where one stands", plain(vec![halt("two"), halt("three")])).await;
        b.same("each has one", &halts(b).await, &(n + 3));
        b.reopen().await;
        b.same("and after a restart", &halts(b).await, &(n + 3));
        b.written("a resume", plain(vec![resume(&[])])).await;
        b.same("the last one's", &halts(b).await, &(n + 3));
        b.reopen().await;
        b.same("and after a restart", &halts(b).await, &(n + 3));
    }
}

/// A resume is of the halt that stood when its proof began, and of none that was raised since.
async fn a_guard_names_the_last_halt_that_stands(b: &mut JournalFixture) {
    b.loses("before the first one", Guard::Halt(0)).await;
    b.written("a halt", plain(vec![halt("one")])).await;
    b.wins("it stands", Guard::Halt(1)).await;
    b.written("another", plain(vec![halt("two")])).await;
    for _ in 0..2 {
        b.loses("the first one", Guard::Halt(1)).await;
        b.wins("the last one", Guard::Halt(2)).await;
        b.loses("the next one", Guard::Halt(3)).await;
        b.reopen().await;
    }
    let lifts = |number| Unit::guarded(vec![Guard::Halt(number)], vec![resume(&[])]);
    b.lost("a resume of the first", lifts(1), Guard::Halt(1)).await;
    b.same("it stands", &b.status().await.halted.as_deref(), &Some("one"));
    // in one group with what halts again
    let wrote = b.all(vec![plain(vec![halt("three")]), lifts(2), lifts(3), lifts(3)]).await;
    let lost: Vec<_> = wrote.iter().map(|w| matches!(w, Wrote::Lost(Guard::Halt(_)))).collect();
    b.same("those that were lost", &lost, &vec![false, true, false, true]);
    b.loses("once it has ended", Guard::Halt(3)).await;
    b.same("nothing stands", &b.status().await.halted, &None);
}

async fn accepted_breaks_stand_beside_each_other(b: &mut JournalFixture) {
    let accepted = |all: &[(&str, i128)]| {
        all.iter().map(|(key, amount)| ((*key).to_owned(), *amount)).collect::<Vec<_>>()
    };
    for (more, all) in [
        (vec![("x", -5), ("y", 1)], accepted(&[("x", -5), ("y", 1)])),
        (vec![("x", -5)], accepted(&[("x", -5), ("y", 1)])),
        (
            vec![("x", i128::MIN), ("x", i128::MIN)],
            accepted(&[("x", i128::MIN), ("x", -5), ("y", 1)]),
        ),
    ] {
        b.written("a resume", plain(vec![resume(&more)])).await;
        for _ in 0..2 {
            let status = b.status().await.accepted;
            let has: Vec<_> = status.iter().map(|a| (a.key.to_string(), a.amount)).collect();
            b.same("what was accepted", &has, &all);
            b.reopen().await;
        }
    }
}

fn pause(scope: Scope, reason: &str, caller: &str) -> Put {
    Put::Pause { scope, reason: reason.into(), caller: caller.into() }
}

async fn a_pause_stands_once_for_its_scope_and_caller(b: &mut JournalFixture) {
    let scopes = [
        Scope::Flow(b.flow),
        Scope::Ledger(LedgerId::SPOT),
        Scope::Chain(ChainId(20)),
        Scope::Asset(AssetId(3)),
        Scope::Account(RICH, LedgerId::FUNDING),
        Scope::Account(RICH, LedgerId::SPOT),
        Scope::Transfer(id(1)),
    ];
    let mut should: Vec<Paused> = vec![];
    for caller in ["engine", "ops|1"] {
        for scope in scopes {
            b.clock.set(NOON + 1_000 * u64::try_from(should.len()).unwrap_or(0));
            let written = b.written("a pause", plain(vec![pause(scope, "why", caller)])).await;
            b.clock.set(written.at + 10);
            let again = vec![pause(scope, "again", caller), pause(scope, "and again", caller)];
            b.written("the same", plain(again)).await;
            let status = b.status().await.paused;
            let number = status.last().map_or(0, |paused| paused.number);
            let above = should.last().is_none_or(|before| before.number < number);
            b.holds(above, "a number that does not rise", &status);
            let (reason, caller) = ("why".into(), caller.into());
            should.push(Paused { number, scope, reason, caller, at: written.at });
            b.same("what stands", &status, &should);
        }
    }
    b.reopen().await;
    b.same("after a restart", &b.status().await.paused, &should);
    b.same("halted", &b.status().await.halted, &None);
    // the journal itself stops nothing: that is the engine's
    b.opened(1).await;
}

async fn a_pause_ends_by_its_number(b: &mut JournalFixture) {
    let scope = Scope::Flow(b.flow);
    let both = vec![pause(scope, "one", "ops|1"), pause(scope, "two", "ops|2")];
    b.written("two pauses", plain(both)).await;
    let status = b.status().await.paused;
    let [first, second] = status.as_slice() else {
        return b.holds(false, "two pauses", &status);
    };
    b.written("the second has ended", plain(vec![Put::Unpause(second.number)])).await;
    b.same("what is left", &b.status().await.paused, &vec![first.clone()]);
    b.written("again", plain(vec![Put::Unpause(second.number)])).await;
    b.written("one that never was", plain(vec![Put::Unpause(1_000_000)])).await;
    b.same("what is left", &b.status().await.paused, &vec![first.clone()]);
    b.reopen().await;
    // a number is given once: whoever lifts it again lifts nothing that came later
    b.written("another", plain(vec![pause(scope, "three", "ops|2")])).await;
    let status = b.status().await.paused;
    let numbers: Vec<_> = status.iter().map(|paused| paused.number).collect();
    let [one, other] = numbers.as_slice() else {
        return b.holds(false, "two pauses", &status);
    };
    b.same("the first", one, &first.number);
    b.holds(*other > second.number, "a number that was given before", &status);
    b.same("its reason", &status.last().map(|p| &*p.reason), &Some("three"));
    b.written("in one unit", plain(vec![Put::Unpause(*one), Put::Unpause(*other)])).await;
    b.same("what is left", &b.status().await.paused, &vec![]);
}

async fn how_far_the_proof_came_stands(b: &mut JournalFixture) {
    b.same("before", &b.status().await.proven, &None);
    for text in ["some", "more"] {
        let (name, value) = ("proven".into(), text.into());
        b.written("how far", plain(vec![Put::Resource { name, value }])).await;
        b.same("how far", &b.status().await.proven.as_deref(), &Some(text));
    }
    b.written("a halt", plain(vec![halt("why")])).await;
    let put = Put::Resource { name: "proven".into(), value: "under HALT".into() };
    let unit = Unit::guarded(vec![Guard::NotHalted], vec![put]);
    b.lost("under HALT", unit, Guard::NotHalted).await;
    b.reopen().await;
    b.same("after a restart", &b.status().await.proven.as_deref(), &Some("more"));
}

/// Legs of their own and fences have no unit around them whose guard could look: the transaction that
/// would write them reads the flag. What is stored is answered as it is stored.
async fn the_ledger_writes_nothing_new_under_a_halt(b: &mut JournalFixture) {
    let hold = op(1, Leg::Withdraw, 10);
    let held = b.ledger("a hold", vec![hold.clone()]).await;
    b.holds(matches!(held.as_slice(), [Answer::Done(_)]), "held", &held);
    b.written("a halt", plain(vec![halt("stop")])).await;
    let image = b.image().await;
    let fresh = [op(1, Leg::Settle, 10), op(1, Leg::Refund, 10), op(2, Leg::Deposit, 7)];
    for _ in 0..2 {
        let again = b.ledger("what is stored", vec![hold.clone()]).await;
        b.same("as it was answered", &again, &held);
        // a group answers each leg for itself
        let mut legs = fresh.to_vec();
        legs.insert(1, hold.clone());
        let answers = b.ledger("new legs", legs).await;
        let halted =
            |answer: &Answer| matches!(answer, Answer::Unknown(why) if why.class == Cause::HALTED);
        let new = answers.iter().filter(|answer| halted(answer)).count();
        b.holds(new == 3 && answers.get(1) == held.first(), "written under HALT", &answers);
        let found = b.fence(hold.key).await;
        b.holds(matches!(&found, Ok(Stored::Found(_))), "a fence of what is stored", &found);
        let fenced = b.fence(Key { id: id(3), leg: Leg::Withdraw }).await;
        let undecided = matches!(&fenced, Err(why) if why.class == Cause::HALTED);
        b.holds(undecided, "fenced under HALT", &fenced);
        b.same("what it wrote", &b.image().await, &image);
        b.reopen().await;
    }
    b.written("a resume", plain(vec![resume(&[])])).await;
    let answers = b.ledger("the same legs", fresh.to_vec()).await;
    let done = |answer: &Answer| matches!(answer, Answer::Done(_));
    b.holds(answers.len() == 3 && answers.first().is_some_and(done), "not settled", &answers);
    b.holds(answers.last().is_some_and(done), "not deposited", &answers);
    let fenced = b.fence(Key { id: id(3), leg: Leg::Withdraw }).await;
    b.holds(matches!(&fenced, Ok(Stored::Found(_))), "not fenced", &fenced);
}
