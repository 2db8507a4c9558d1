//! Checks operators' actions, each once for its key and in the audit, and proposals that wait for another person.

use super::checks;
use super::fixture::{JournalFixture, RICH, guarded, id, plain};
use kernel::audit::{genesis, link};
use kernel::ids::{Id, Millis};
use kernel::operators::{
    Accepted, Action, ActionResult, AdminAction, Approval, ApprovalStatus, JOURNAL, PastAction,
    Proposal, RESUME, STATUS, UNPAUSE,
};
use kernel::unit::{Guard, Put, Then, Unit, Wrote};
use std::sync::Arc;

checks! {
    an_action_is_done_once,
    an_action_that_lost_was_not_done,
    the_actions_that_ended_a_halt_are_read_in_their_order,
    the_actions_of_a_kind_on_a_subject_are_read_newest_first,
    what_is_done_is_an_entry_of_the_operators_chain,
    a_note_is_an_entry_of_the_chain_under_halt_and_after_the_end,
    a_proposal_waits_for_a_decision,
    a_decision_is_made_once,
    a_proposal_lapses_by_the_journals_time,
    a_halt_and_a_resume_supersede_what_was_proposed_of_a_resume,
}

fn action(caller: &str, key: &str) -> Action {
    Action {
        caller: caller.into(),
        key: key.into(),
        kind: "HALT",
        subject: "service".into(),
        value: r#"{"a":"ü \"1\""}"#.into(),
        reason: "a check | with\nwords".into(),
        result: r#"{"state":"HALTED"}"#.into(),
    }
}

/// The action, where it is new.
fn doing(action: Action) -> Unit {
    let then = Then { puts: vec![Put::Action(action.clone())], ..Then::default() };
    Unit { guards: vec![unacted(&action)], then }
}

fn unacted(action: &Action) -> Guard {
    Guard::NoPastAction { caller: action.caller.clone(), key: action.key.clone() }
}

async fn past_action(b: &JournalFixture, caller: &str, key: &str) -> Option<PastAction> {
    b.ok("past action", b.on().journal.past_action(caller.into(), key.into()).await)
}

async fn an_action_is_done_once(b: &mut JournalFixture) {
    let first = action("ops|1", "k");
    b.wins("no action yet", unacted(&first)).await;
    b.same("what was done", &past_action(b, "ops|1", "k").await, &None);
    let at = b.written("an action", doing(first.clone())).await.at;
    b.clock.set(at + 1_000);
    let found = past_action(b, "ops|1", "k").await;
    let number = found.as_ref().map_or(0, |past_action| past_action.number);
    let Action { caller, key, kind, subject, value, reason, result } = first.clone();
    let kind = kind.into();
    let should = PastAction { number, at, caller, key, kind, subject, value, reason, result };
    b.same("what was done", &found, &Some(should));
    b.loses("it was done", unacted(&first)).await;
    b.lost("again", doing(first.clone()), unacted(&first)).await;
    // once for ever, whether a guard looks or not, and whatever is done
    let other = Action { kind: "RESUME", subject: "x".into(), value: "{}".into(), ..first.clone() };
    let puts = vec![Put::Halt { reason: "no".into() }, Put::Action(other)];
    b.lost("something else under the key", plain(puts), unacted(&first)).await;
    for (caller, key) in [("ops|2", "k"), ("ops|1", "K"), ("k", "ops|1")] {
        b.same("what was not done", &past_action(b, caller, key).await, &None);
        b.written("another", doing(action(caller, key))).await;
        let after = past_action(b, caller, key).await.map_or(0, |past_action| past_action.number);
        b.holds(after > number, "a number that does not rise", &(number, after));
    }
    b.reopen().await;
    b.same("after a restart", &past_action(b, "ops|1", "k").await, &found);
    b.loses("and after a restart", unacted(&first)).await;
    let unguarded = plain(vec![Put::Action(first.clone())]);
    b.lost("and without a guard", unguarded, unacted(&first)).await;
}

async fn the_actions_that_ended_a_halt_are_read_in_their_order(b: &mut JournalFixture) {
    let resumed = |amount| {
        let accepted = vec![Accepted { key: "x".into(), amount }];
        ActionResult::Resumed { accepted }
    };
    let results =
        [("c", resumed(3)), ("b", ActionResult::Refused), ("a", resumed(1)), ("d", resumed(2))];
    for (key, result) in results {
        let done =
            Action { reason: "RESUMED".into(), result: result.stored(), ..action("ops|1", key) };
        b.written(key, doing(done)).await;
    }
    let read = b.on().journal.resumes().await;
    let keys = read.map(|all| all.iter().map(|past| past.key.to_string()).collect::<Vec<_>>());
    b.same("the actions", &keys, &Ok(["c", "a", "d"].map(str::to_owned).to_vec()));
}

async fn the_actions_of_a_kind_on_a_subject_are_read_newest_first(b: &mut JournalFixture) {
    let done = [
        ("c", STATUS, "account/1/SPOT"),
        ("x", UNPAUSE, "account/1/SPOT"),
        ("a", STATUS, "account/1/SPOT"),
        ("y", STATUS, "account/1/FUNDING"),
        ("b", STATUS, "account/1/SPOT"),
        ("z", STATUS, "ACCOUNT/1/SPOT"),
    ];
    for (key, kind, subject) in done {
        let done = Action { kind, subject: subject.into(), ..action("ops|1", key) };
        b.written(key, doing(done)).await;
    }
    for _ in 0..2 {
        let read = b.on().journal.actions_on(STATUS, "account/1/SPOT".into()).await;
        let read = b.ok("the actions", read);
        let keys: Vec<_> = read.iter().map(|past| &*past.key).collect();
        b.same("the actions", &keys, &vec!["b", "a", "c"]);
        for past in &read {
            let whole = past_action(b, "ops|1", &past.key).await;
            b.same("an action", &Some(past.clone()), &whole);
        }
        let none = b.on().journal.actions_on("HALT", "account/1/SPOT".into()).await;
        b.same("none of another kind", &none, &Ok(Vec::new()));
        b.reopen().await;
    }
}

async fn an_action_that_lost_was_not_done(b: &mut JournalFixture) {
    let first = action("ops|1", "k");
    let mut unit = doing(first.clone());
    let missing = Guard::Transfer { id: id(9), state: b.state("INIT"), version: 0 };
    unit.guards.push(missing.clone());
    b.lost("with a guard that fails", unit, missing).await;
    b.same("what was done", &past_action(b, "ops|1", "k").await, &None);
    let twice = vec![Put::Action(first.clone()), Put::Action(first.clone())];
    b.lost("twice in one unit", plain(twice), unacted(&first)).await;
    b.same("what was done", &past_action(b, "ops|1", "k").await, &None);
    let raise = |to| Put::Raise { name: "raised".into(), to };
    let mut second = doing(first.clone());
    second.then.puts.push(raise(9));
    let group =
        vec![doing(first.clone()), second, plain(vec![Put::Action(first.clone()), raise(9)])];
    let wrote = b.all(group).await;
    let lost: Vec<_> = wrote.iter().map(|w| *w == Wrote::Lost(unacted(&first))).collect();
    b.same("those that were lost in a group", &lost, &vec![false, true, true]);
    b.wins("what they raised", Guard::AtMost { name: "raised".into(), n: 1, limit: 1 }).await;
    b.same("the operators' chain", &b.history(Id(0)).await.len(), &1);
}

/// The operators' chain is whole, and these are its entries.
async fn chain(b: &JournalFixture, should: &[(Action, Millis)]) {
    let history = b.history(Id(0)).await;
    b.same("what was done", &history.len(), &should.len());
    let mut prev = genesis(Id(0));
    for ((seq, linked), (action, at)) in (0..).zip(&history).zip(should) {
        b.same("an entry", &linked.entry, &action.entry(seq, *at));
        b.same("the hash before", &linked.prev, &prev);
        prev = link(prev, &linked.entry);
        b.same("the hash", &linked.hash, &prev);
    }
}

async fn what_is_done_is_an_entry_of_the_operators_chain(b: &mut JournalFixture) {
    chain(b, &[]).await;
    let mut should = vec![];
    for (n, key) in (1..).zip(["a", "b", "c"]) {
        let mut unit = b.opening(&b.record(n, RICH, 1));
        let (first, second) = (action("ops|1", key), action("ops|2", key));
        unit.then.puts.extend([Put::Action(first.clone()), Put::Action(second.clone())]);
        let at = b.written("a unit with two actions", unit).await.at;
        b.clock.set(at + 7);
        should.extend([(first, at), (second, at)]);
        chain(b, &should).await;
        b.same("the transfer's own history", &b.history(id(n)).await.len(), &1);
        b.reopen().await;
        chain(b, &should).await;
    }
}

/// A note on a transfer is an action alone: no guard keeps it out, and no row of the transfer changes.
async fn a_note_is_an_entry_of_the_chain_under_halt_and_after_the_end(b: &mut JournalFixture) {
    let open = b.opened(1).await;
    let ended = b.moved(&b.opened(2).await, "FAILED").await;
    b.written("a halt", plain(vec![Put::Halt { reason: "numbers".into() }])).await;
    let mut should = vec![];
    for (record, key) in [(&open, "a"), (&ended, "b"), (&ended, "c")] {
        let before = b.history(record.id).await;
        let note = Action {
            kind: AdminAction::NOTE,
            subject: record.id.to_string().into(),
            value: r#"{"text":"déjà\nvu"}"#.into(),
            result: ActionResult::Noted.stored(),
            ..action("ops|1", key)
        };
        let at = b.written("a note", plain(vec![Put::Action(note.clone())])).await.at;
        b.same("the transfer", &b.get(record.id).await.head, &record.head);
        b.same("the history that its user reads", &b.history(record.id).await, &before);
        should.push((note, at));
        chain(b, &should).await;
    }
    b.reopen().await;
    chain(b, &should).await;
}

/// How long a proposal of these checks may be decided.
const LASTS: Millis = 3_600_000;

fn proposal(n: u64) -> Proposal {
    Proposal {
        id: id(n),
        kind: RESUME,
        subject: "service".into(),
        value: r#"{"accept":["ü"]}"#.into(),
        reason: "a check".into(),
        caller: "ops|1".into(),
        lasts: LASTS,
    }
}

fn decide(n: u64, stand: ApprovalStatus, caller: &str) -> Put {
    Put::Decide { id: id(n), stand, caller: caller.into() }
}

/// How the n-th approval should read.
fn approval(
    n: u64,
    at: Millis,
    stand: ApprovalStatus,
    decided: Option<(Arc<str>, Millis)>,
) -> Approval {
    let Proposal { id, kind, subject, value, reason, caller, lasts } = proposal(n);
    let (kind, expires_at) = (kind.into(), at + lasts);
    Approval { id, kind, subject, value, reason, caller, at, expires_at, stand, decided }
}

async fn found(b: &JournalFixture, n: u64) -> Option<Approval> {
    b.ok("approval", b.on().journal.approval(id(n)).await)
}

async fn waiting(b: &JournalFixture) -> Vec<Approval> {
    b.ok("the approvals that wait", b.on().journal.pending_approvals().await)
}

async fn a_proposal_waits_for_a_decision(b: &mut JournalFixture) {
    b.same("one that is not there", &found(b, 1).await, &None);
    b.loses("one that is not there", Guard::Pending(id(1))).await;
    let at = b.written("a proposal", plain(vec![Put::Propose(proposal(1))])).await.at;
    for _ in 0..2 {
        b.same("it", &found(b, 1).await, &Some(approval(1, at, ApprovalStatus::Pending, None)));
        b.wins("it waits", Guard::Pending(id(1))).await;
        let waits = vec![approval(1, at, ApprovalStatus::Pending, None)];
        b.same("it among those that wait", &waiting(b).await, &waits);
        b.same("another", &found(b, 2).await, &None);
        b.loses("another", Guard::Pending(id(2))).await;
        let taken = Proposal { caller: "ops|2".into(), ..proposal(1) };
        b.unknown("its id again", plain(vec![Put::Propose(taken)]), "CONTRADICTION").await;
        b.reopen().await;
    }
}

async fn a_decision_is_made_once(b: &mut JournalFixture) {
    for (n, stand) in [(1, ApprovalStatus::Approved), (2, ApprovalStatus::Rejected)] {
        let at = b.written("a proposal", plain(vec![Put::Propose(proposal(n))])).await.at;
        b.clock.set(at + 500);
        let decision = Unit {
            guards: vec![Guard::Pending(id(n))],
            then: plain(vec![decide(n, stand, "ops|2")]).then,
        };
        let decided = b.written("a decision", decision.clone()).await.at;
        b.clock.set(decided + 500);
        let should = Some(approval(n, at, stand, Some(("ops|2".into(), decided))));
        b.same("it", &found(b, n).await, &should);
        b.lost("again", decision, Guard::Pending(id(n))).await;
        for stand in [ApprovalStatus::Approved, ApprovalStatus::Rejected] {
            let unguarded =
                plain(vec![Put::Resume { accepted: vec![] }, decide(n, stand, "ops|3")]);
            b.lost("another without a guard", unguarded, Guard::Pending(id(n))).await;
        }
        b.reopen().await;
        b.same("after a restart", &found(b, n).await, &should);
        b.loses("it is decided", Guard::Pending(id(n))).await;
        b.same("none waits", &waiting(b).await, &vec![]);
    }
    let none = plain(vec![decide(9, ApprovalStatus::Approved, "ops|2")]);
    b.lost("of one that is not there", none, Guard::Pending(id(9))).await;
    // one of two persons at the same moment
    b.written("a proposal", plain(vec![Put::Propose(proposal(3))])).await;
    let group = vec![
        plain(vec![decide(3, ApprovalStatus::Approved, "ops|2")]),
        plain(vec![decide(3, ApprovalStatus::Rejected, "ops|3")]),
        guarded(Guard::Pending(id(3))),
    ];
    let wrote = b.all(group).await;
    let lost: Vec<_> = wrote.iter().map(|w| *w == Wrote::Lost(Guard::Pending(id(3)))).collect();
    b.same("those that were lost in a group", &lost, &vec![false, true, true]);
    b.same("it", &found(b, 3).await.map(|a| a.stand), &Some(ApprovalStatus::Approved));
    // with one person alone a proposal may be decided by its own unit
    let both = vec![Put::Propose(proposal(4)), decide(4, ApprovalStatus::Approved, "ops|1")];
    b.written("both at once", plain(both)).await;
    b.same("it", &found(b, 4).await.map(|a| a.stand), &Some(ApprovalStatus::Approved));
}

async fn a_proposal_lapses_by_the_journals_time(b: &mut JournalFixture) {
    let at = b.written("a proposal", plain(vec![Put::Propose(proposal(1))])).await.at;
    b.clock.set(at + LASTS - 1);
    b.wins("it waits until then", Guard::Pending(id(1))).await;
    b.same("one waits", &waiting(b).await.len(), &1);
    b.clock.set(at + LASTS);
    for _ in 0..2 {
        b.same("it", &found(b, 1).await, &Some(approval(1, at, ApprovalStatus::Lapsed, None)));
        b.loses("it has lapsed", Guard::Pending(id(1))).await;
        b.same("none waits", &waiting(b).await, &vec![]);
        for stand in [ApprovalStatus::Approved, ApprovalStatus::Rejected] {
            let late = plain(vec![Put::Action(action("ops|2", "late")), decide(1, stand, "ops|2")]);
            b.lost("without a guard", late, Guard::Pending(id(1))).await;
        }
        b.reopen().await;
    }
    b.same("nothing was done", &past_action(b, "ops|2", "late").await, &None);
    // one that was decided in time stays what it is
    let at = b.written("another", plain(vec![Put::Propose(proposal(2))])).await.at;
    let decided =
        b.written("a decision", plain(vec![decide(2, ApprovalStatus::Approved, "ops|2")])).await.at;
    b.clock.set(at + 2 * LASTS);
    let should = approval(2, at, ApprovalStatus::Approved, Some(("ops|2".into(), decided)));
    b.same("it", &found(b, 2).await, &Some(should));
}

async fn a_halt_and_a_resume_supersede_what_was_proposed_of_a_resume(b: &mut JournalFixture) {
    let (halt, resume) = (Put::Halt { reason: "stop".into() }, Put::Resume { accepted: vec![] });
    let verdict = Proposal { id: id(9), kind: "RESOLVE", ..proposal(9) };
    b.written("a verdict", plain(vec![Put::Propose(verdict)])).await;
    for (n, closes) in [(1, &halt), (3, &halt), (5, &resume)] {
        let both = vec![Put::Propose(proposal(n)), Put::Propose(proposal(n + 1))];
        let at = b.written("two proposals", plain(both)).await.at;
        b.clock.set(at + 5);
        let closed = b.written("what closes them", plain(vec![closes.clone()])).await.at;
        for n in [n, n + 1] {
            let decided = Some((JOURNAL.into(), closed));
            let should = approval(n, at, ApprovalStatus::Superseded, decided);
            b.same("it", &found(b, n).await, &Some(should));
            b.loses("it waits no more", Guard::Pending(id(n))).await;
            let late = plain(vec![resume.clone(), decide(n, ApprovalStatus::Approved, "ops|2")]);
            b.lost("it lifts nothing", late, Guard::Pending(id(n))).await;
        }
        b.reopen().await;
    }
    b.wins("of another kind", Guard::Pending(id(9))).await;
    // the one that its own unit decides is decided, in either order
    b.written("a halt", plain(vec![halt])).await;
    for (n, first) in [(11, true), (13, false)] {
        let both = vec![Put::Propose(proposal(n)), Put::Propose(proposal(n + 1))];
        b.written("two proposals", plain(both)).await;
        let mut puts = vec![resume.clone(), decide(n, ApprovalStatus::Approved, "ops|2")];
        if first {
            puts.reverse();
        }
        b.written("a resume", plain(puts)).await;
        let stands = (found(b, n).await, found(b, n + 1).await);
        let stands = (stands.0.map(|a| a.stand), stands.1.map(|a| a.stand));
        b.same(
            "both",
            &stands,
            &(Some(ApprovalStatus::Approved), Some(ApprovalStatus::Superseded)),
        );
    }
}
