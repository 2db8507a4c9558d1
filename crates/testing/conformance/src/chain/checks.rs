//! The checks of a chain port, in the order of an attempt's life.

use super::Fresh;
use super::fixture::{ChainFixture, all_dead, all_done};
use kernel::answer::Answer;
use kernel::attempt::{Lock, Purpose};
use kernel::ports::chain::{
    AttemptProof, CHAIN_UNBOUND, LANE_AHEAD, LaneMark, Signed, WRONG_CHAIN,
};
use kernel::record::Record;
use std::sync::Arc;

/// Runs the named checks, each over a chain of its own.
macro_rules! checks {
    ($($check:ident),* $(,)?) => {
        pub(super) async fn run(fresh: &impl Fresh) {
            $(
                let fixture = ChainFixture::open(stringify!($check), fresh()).await;
                Box::pin($check(&fixture)).await;
            )*
        }
    };
}

checks![
    a_form_says_what_it_pays,
    signing_sends_nothing,
    what_is_sent_is_paid_and_proven,
    nothing_is_proven_before_it_is_final,
    identical_bytes_pay_once,
    another_process_proves_it_too,
    one_spoils_all_and_is_named,
    a_spoiler_alone_is_refused,
    what_never_arrived_is_not_dead_before_it_expired,
    what_expired_is_paid_once_or_dead,
    every_attempt_has_a_lock_of_its_own,
    a_key_that_is_used_elsewhere_is_noticed,
    what_a_stranger_signed_is_found_and_proven,
    a_new_key_counts_from_where_it_stood,
    each_process_is_shown_the_same_chain,
    nothing_is_known_before_the_journal_is_bound,
    another_chain_is_not_worked_with,
];

async fn a_form_says_what_it_pays(f: &ChainFixture) {
    let members = f.members(3);
    let lock = f.lock(None, &members).await;
    let signed = f.sign((&lock, Purpose::Pay), &members, Vec::new()).await;
    let Ok(Signed { form, pays }) = signed else {
        return f.holds(false, "it signs", &signed.err());
    };
    f.holds(!form.name.is_empty() && form.purpose == Purpose::Pay, "a form with a name", &form);
    f.same("payments", &pays.len(), &members.len());
    for (member, pay) in members.iter().zip(&pays) {
        f.same("the account", &pay.account, &member.target().account);
        f.same("the asset", &pay.asset, &member.target().asset);
        f.same("the amount", &pay.amount, &member.target().amount);
    }
    let void = f.sign((&lock, Purpose::Void), &members, vec![form.clone()]).await;
    if let Ok(Signed { form: void, pays }) = void {
        f.holds(pays.is_empty(), "what takes the lock makes no payment", &pays);
        f.holds(void.name != form.name, "each form has a name of its own", &void.name);
    }
}

async fn signing_sends_nothing(f: &ChainFixture) {
    let attempt = f.stored(f.members(2), None).await;
    f.site.settle().await;
    let proof = f.prove(&attempt).await;
    let done = matches!(&proof, AttemptProof::Closed(verdicts) if !all_dead(verdicts));
    f.holds(!done, "what was not sent is not done", &proof);
    f.all_paid("payments", &attempt.members, 0).await;
}

async fn what_is_sent_is_paid_and_proven(f: &ChainFixture) {
    let mut attempt = f.stored(f.members(3), None).await;
    let verdicts = f.see_through(&mut attempt, false).await;
    f.holds(all_done(&verdicts), "all are done", &verdicts);
    for verdict in &verdicts {
        let Answer::Done(receipt) = &verdict.answer else { continue };
        f.holds(receipt.doc.is_some(), "the proof is kept", receipt);
    }
    f.all_paid("payments", &attempt.members, 1).await;
}

async fn nothing_is_proven_before_it_is_final(f: &ChainFixture) {
    let attempt = f.stored(f.members(1), None).await;
    f.send(&attempt).await;
    let proof = f.prove(&attempt).await;
    f.holds(
        matches!(proof, AttemptProof::NotYet(_)),
        "a block that is not final proves nothing",
        &proof,
    );
}

async fn identical_bytes_pay_once(f: &ChainFixture) {
    let mut attempt = f.stored(f.members(2), None).await;
    if attempt.forms.iter().any(|form| !form.repeatable) {
        return;
    }
    for _ in 0..3 {
        f.send(&attempt).await;
    }
    f.site.settle().await;
    f.send(&attempt).await;
    let verdicts = f.see_through(&mut attempt, true).await;
    f.holds(all_done(&verdicts), "all are done", &verdicts);
    f.send(&attempt).await;
    f.site.settle().await;
    f.all_paid("payments", &attempt.members, 1).await;
}

async fn another_process_proves_it_too(f: &ChainFixture) {
    let attempt = f.stored(f.members(2), None).await;
    f.send(&attempt).await;
    let next = ChainFixture::open("another_process_proves_it_too", f.site.clone()).await;
    let mut attempt = attempt;
    let verdicts = next.see_through(&mut attempt, true).await;
    f.holds(all_done(&verdicts), "all are done", &verdicts);
    f.all_paid("payments", &attempt.members, 1).await;
}

async fn one_spoils_all_and_is_named(f: &ChainFixture) {
    if f.cap() < 3 {
        return;
    }
    let members: Arc<[Record]> = [f.site.member(), f.site.spoiler(), f.site.member()].into();
    let mut attempt = f.stored(members, None).await;
    let verdicts = f.see_through(&mut attempt, false).await;
    f.holds(all_dead(&verdicts), "all are dead", &verdicts);
    let alone: Vec<bool> = verdicts.iter().map(|verdict| verdict.alone).collect();
    f.same("who goes alone", &alone, &vec![false, true, false]);
    f.same("payments", &f.paid(&attempt.members).await, &vec![0, 0, 0]);
}

async fn a_spoiler_alone_is_refused(f: &ChainFixture) {
    // where a contract has its say, it has to serve another one after it refused this one first
    let spoiler = f.site.spoiler();
    if f.cap() > 1 {
        let members: Arc<[Record]> = [f.site.member(), spoiler.clone()].into();
        f.see_through(&mut f.stored(members, None).await, false).await;
    }
    let served = f.see_through(&mut f.stored(f.members(1), None).await, false).await;
    f.holds(all_done(&served), "another one is paid", &served);
    let mut attempt = f.stored([spoiler].into(), None).await;
    let verdicts = f.see_through(&mut attempt, false).await;
    let refused =
        verdicts.iter().all(|v| matches!(&v.answer, Answer::Rejected(why, _) if why.doc.is_some()));
    f.holds(refused, "it is refused, with its proof", &verdicts);
}

async fn what_never_arrived_is_not_dead_before_it_expired(f: &ChainFixture) {
    let attempt = f.stored(f.members(1), None).await;
    f.site.swallow(true);
    f.send(&attempt).await;
    let proof = f.prove(&attempt).await;
    f.holds(!matches!(proof, AttemptProof::Closed(_)), "not found is no proof", &proof);
    f.site.swallow(false);
}

async fn what_expired_is_paid_once_or_dead(f: &ChainFixture) {
    let mut attempt = f.stored(f.members(2), None).await;
    f.site.swallow(true);
    f.send(&attempt).await;
    f.site.expire().await;
    f.site.swallow(false);
    let verdicts = f.see_through(&mut attempt, true).await;
    let paid = if all_done(&verdicts) { 1 } else { 0 };
    f.holds(all_done(&verdicts) || all_dead(&verdicts), "it ended", &verdicts);
    f.all_paid("payments", &attempt.members, paid).await;
    // whatever is left of its forms lands no more
    for form in attempt.forms.clone() {
        if form.repeatable {
            let late = kernel::attempt::Attempt { forms: vec![form], ..attempt.clone() };
            f.send(&late).await;
        }
    }
    f.site.expire().await;
    f.all_paid("payments later", &attempt.members, paid).await;
}

async fn every_attempt_has_a_lock_of_its_own(f: &ChainFixture) {
    let mut last = None;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut attempt = f.stored(f.members(1), last.as_ref()).await;
        f.holds(!seen.contains(&attempt.lock), "the lock is a new one", &attempt.lock);
        let verdicts = f.see_through(&mut attempt, false).await;
        f.holds(all_done(&verdicts), "all are done", &verdicts);
        seen.push(attempt.lock.clone());
        last = Some(attempt.lock);
    }
}

async fn a_key_that_is_used_elsewhere_is_noticed(f: &ChainFixture) {
    let mut attempt = f.stored(f.members(1), None).await;
    f.see_through(&mut attempt, false).await;
    if !f.site.use_elsewhere(&f.lane(), None) {
        return;
    }
    f.site.settle().await;
    let next = f.port.next_lock(&f.lane(), Some(&attempt.lock), &f.members(1)).await;
    let noticed = matches!(&next, Err(cause) if cause.class == LANE_AHEAD);
    f.holds(noticed, "the chain is ahead of every stored attempt", &next);
}

async fn what_a_stranger_signed_is_found_and_proven(f: &ChainFixture) {
    let mut attempt = f.stored(f.members(1), None).await;
    f.see_through(&mut attempt, false).await;
    let (lane, waits) = (f.lane(), f.site.member());
    let anchor = attempt.forms.first().and_then(|form| form.anchor);
    let mut mark = LaneMark { lane: lane.clone(), lock: attempt.lock.clone(), anchor, seen: None };
    let ahead = f.port.ahead(std::slice::from_ref(&mark)).await;
    f.same("what is ahead of the last attempt", &ahead, &Ok(Vec::new()));
    for pays in [Some(&waits), None] {
        if !f.site.use_elsewhere(&lane, pays) {
            return;
        }
        f.site.settle().await;
        let ahead = f.port.ahead(std::slice::from_ref(&mark)).await;
        let spent = ahead.iter().flatten().map(|spent| spent.lock.clone()).collect::<Vec<Lock>>();
        f.holds(spent.len() == 1, "the lane is ahead", &ahead);
        let found = f.port.foreign(&mark).await;
        let Ok([used]) = found.as_deref() else {
            return f.holds(false, "one transaction spent it", &found);
        };
        f.same("the lock that it took", &Some(&used.lock), &spent.first());
        f.holds(used.form.bytes.is_empty(), "it has no bytes to be sent again", &used.form);
        let members: Arc<[Record]> = pays.into_iter().cloned().collect();
        match (pays, used.pays.as_deref()) {
            (Some(record), Some([paid])) => {
                let is = (&paid.id, &paid.payment.account, &paid.payment.amount);
                let target = record.target();
                f.same("what it paid", &is, &(&record.id, &target.account, &target.amount));
                let mut foreign = f.foreign(used, members);
                let verdicts = f.see_through(&mut foreign, true).await;
                f.holds(all_done(&verdicts), "what it paid is done", &verdicts);
                f.same("payments", &f.paid(&foreign.members).await, &vec![1]);
            }
            (None, paid) => {
                f.holds(paid.is_none_or(<[_]>::is_empty), "it pays no transfer", &paid);
                f.holds(used.names.is_empty(), "it names none", &used.names);
            }
            (Some(_), other) => f.holds(false, "it pays the transfer", &other),
        }
        let anchor = used.form.anchor;
        mark = LaneMark { lock: used.lock.clone(), anchor, ..mark };
        let ahead = f.port.ahead(std::slice::from_ref(&mark)).await;
        f.same("what is ahead of what was stored", &ahead, &Ok(Vec::new()));
    }
}

async fn a_new_key_counts_from_where_it_stood(f: &ChainFixture) {
    let lanes = [f.lane()];
    let new = f.port.new_lanes(&lanes, None).await;
    let Ok(Some(unused)) = new else {
        return f.holds(new.is_ok(), "the keys are shown, or nothing else spends them", &new);
    };
    let [before] = unused.as_slice() else {
        return f.holds(false, "the chain has it", &unused);
    };
    f.same("where it counts from", &before.start, &Some(before.now.clone()));
    if !f.site.use_elsewhere(&f.lane(), None) {
        return f.holds(false, "a key can be used elsewhere", &unused);
    }
    f.site.settle().await;
    let new = f.port.new_lanes(&lanes, Some(before.now.height)).await;
    let Ok(Some([now])) = new.as_ref().map(Option::as_deref) else {
        return f.holds(false, "the chain has it still", &new);
    };
    f.holds(now.now.lock != before.now.lock, "it was used since", &now);
    let Some(start) = now.start.clone() else {
        return f.holds(false, "it is known where it stood", &now);
    };
    f.same("the lock that it had", &start.lock, &before.now.lock);
    // from there on the stranger's transaction is found, as for a key with a row
    let mark =
        LaneMark { lane: f.lane(), lock: start.lock, anchor: Some(start.height), seen: None };
    let found = f.port.foreign(&mark).await;
    let locks = found.iter().flatten().map(|used| used.lock.clone()).collect::<Vec<Lock>>();
    f.same("what spent it", &locks, &vec![now.now.lock.clone()]);
}

async fn each_process_is_shown_the_same_chain(f: &ChainFixture) {
    let identity = f.identity().await;
    f.holds(!identity.name.is_empty() && !identity.genesis.is_empty(), "it is named", &identity);
    let next = f.site.port().identity().await;
    f.same("the chain that another process is shown", &next, &Ok(Some(identity.clone())));
    let other = f.site.port_elsewhere().identity().await;
    let other = other.ok().flatten();
    let told_apart = other.as_ref().is_some_and(|other| *other != identity);
    f.holds(told_apart, "another chain is told from it", &other);
}

async fn nothing_is_known_before_the_journal_is_bound(f: &ChainFixture) {
    f.idle_with(f.site.port(), CHAIN_UNBOUND).await;
}

async fn another_chain_is_not_worked_with(f: &ChainFixture) {
    let port = f.site.port_elsewhere();
    port.bind(&f.identity().await);
    let shown = port.identity().await;
    let refused = matches!(&shown, Err(cause) if cause.class == WRONG_CHAIN);
    f.holds(refused, "it is not the one that the journal is bound to", &shown);
    f.idle_with(port, WRONG_CHAIN).await;
}
