//! The lengths that no setting gives: a target that answers nothing for 90 s, on the virtual clock.

use crate::spot::spot;
use crate::workers::processes::{Answers, COIN, Cluster, terms};
use kernel::answer::{Answer, Cause};
use kernel::ids::{Id, UserId};
use kernel::operation::{Known, Op};
use kernel::operators::Subject;
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply};
use kernel::record::Account;
use sim::disk::SimDisk;
use sim::service::SimWorker;
use sim::world::Sim;
use std::sync::Arc;
use testkit::wrapper::{LedgerWrapper, Wrapper};

/// How long the row is held.
const HELD: u64 = 90_000;
/// When a person is asked, by the defaults.
const ALERT: u64 = 60_000;
/// The longest wait between two attempts, by the defaults, with what chance adds to it.
const LONGEST: u64 = 40_000;
/// The time from one transfer of the neighbours to the next.
const STEP: u64 = 1_000;

/// Another transaction holds the accounts of this user until then: what needs them is unknown.
struct Locked {
    inner: Arc<dyn Ledger>,
    sim: Sim,
    user: UserId,
    until: u64,
}

impl LedgerWrapper for Locked {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            let held =
                |op: &Op| op.account == Account::User(self.user) && self.sim.time() < self.until;
            let free: Arc<[Op]> = ops.iter().filter(|op| !held(op)).cloned().collect();
            let reply = self.inner.execute(known, free).await;
            let Reply::Answered(said, answers) = reply else { return reply };
            let mut answers = answers.into_iter();
            let locked = || Answer::Unknown(Cause::of("LOCKED"));
            let one =
                |op: &Op| if held(op) { locked() } else { answers.next().unwrap_or_else(locked) };
            Reply::Answered(said, ops.iter().map(one).collect())
        })
    }
}

fn id(cluster: &Cluster, asked: &Answers) -> Id {
    for _ in 0..100 {
        if let Some(came) = asked.lock().expect("no panic").first() {
            return came.as_ref().expect("it is opened").record.id;
        }
        cluster.passes(10);
    }
    panic!("no answer comes")
}

fn alerts(cluster: &Cluster, member: &SimWorker, of: Id) -> usize {
    let engine = member.process.engine.clone();
    let cases = cluster.sim.block_on(async move { engine.journal().open_cases().await });
    let cases = cases.expect("it lives").expect("it answers");
    let mine = cases.iter().filter(|case| &*case.kind == "TARGET_PENDING");
    mine.filter(|case| case.subject == Subject::Transfer(of)).count()
}

/// Turns red where a default is another one: a transfer that is not at its target after 60 s is told
/// of, not before; it ends by itself within the longest wait after the row is free; its neighbours
/// end within a second all the while.
#[test]
fn a_row_that_is_held_for_ninety_seconds_by_the_defaults() {
    for seed in 0..5 {
        let cluster = Cluster::new(seed);
        let me = cluster.sim.process(1);
        let inner = me.block_on(spot(me.clone(), SimDisk::new(seed, cluster.sim.crash()), 0));
        let inner: Arc<dyn Ledger> = inner.expect("it opens");
        // key 0 is the first user's
        let (user, until) = (terms(0).owner.user().unwrap(), cluster.sim.time() + HELD);
        let locked = Arc::new(Wrapper(Locked { inner, sim: me, user, until }));
        let member = cluster.join(1, (locked, Vec::new())).expect("it starts");
        cluster.fund(&member);
        let begun = cluster.sim.time();
        let held = id(&cluster, &cluster.ask(&member, 0..1));
        let stands = |cluster: &Cluster| {
            let open = cluster.open(&member);
            open.iter().find(|(id, _)| *id == held).map(|(_, state)| *state)
        };
        let (mut told, mut ended, mut next) = (None, None, 1);
        while ended.is_none() {
            let passed = cluster.sim.time() - begun;
            assert!(passed <= HELD + LONGEST, "seed {seed}: no end after {passed} ms");
            // never the first user's
            next += if (next + 1) % 4 == 0 { 2 } else { 1 };
            let neighbour = cluster.ask(&member, next..next + 1);
            cluster.passes(STEP);
            let neighbour = id(&cluster, &neighbour);
            let open = cluster.open(&member);
            assert!(!open.iter().any(|(id, _)| *id == neighbour), "seed {seed}: a neighbour waits");
            match stands(&cluster) {
                Some(state) => assert_eq!(state, "TARGET_PENDING", "seed {seed}"),
                None => ended = Some(cluster.sim.time() - begun),
            }
            if told.is_none() && alerts(&cluster, &member, held) > 0 {
                told = Some(cluster.sim.time() - begun);
            }
        }
        let told = told.expect("a person is asked");
        assert!((ALERT..ALERT + 5_000).contains(&told), "seed {seed}: told after {told} ms");
        assert!(ended >= Some(until - begun), "seed {seed}: ended while the row was held");
        cluster.passes(5_000);
        assert_eq!(alerts(&cluster, &member, held), 0, "seed {seed}: the question is closed");
        assert_eq!(cluster.faults(&member), [""; 0], "seed {seed}");
        assert_eq!(terms(0).source.asset, COIN);
    }
}
