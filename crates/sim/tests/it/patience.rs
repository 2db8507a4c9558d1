//! The lengths that nobody set: a target that answers nothing for 90 s, on the virtual clock.

use crate::many::{Asked, COIN, Member, Town, plain, terms};
use crate::outside::spot;
use kernel::answer::{Answer, Cause};
use kernel::ids::{Id, UserId};
use kernel::people::About;
use kernel::ports::Fut;
use kernel::ports::ledger::{Heard, Known, Ledger};
use kernel::record::Account;
use kernel::unit::Op;
use sim::disk::SimDisk;
use sim::shell::{LedgerShell, Shell};
use sim::world::Sim;
use std::sync::Arc;

/// How long the row is held.
const HELD: u64 = 90_000;
/// When a person is asked, by the defaults.
const ALERT: u64 = 60_000;
/// The longest wait between two attempts, by the defaults, with what chance adds to it.
const LONGEST: u64 = 40_000;
/// Every so often the neighbours' next transfer begins.
const STEP: u64 = 1_000;

/// Somebody holds the accounts of this user until then: what needs them is unknown.
struct Locked {
    inner: Arc<dyn Ledger>,
    sim: Sim,
    user: UserId,
    until: u64,
}

impl LedgerShell for Locked {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            let held =
                |op: &Op| op.account == Account::User(self.user) && self.sim.time() < self.until;
            let free: Arc<[Op]> = ops.iter().filter(|op| !held(op)).cloned().collect();
            let heard = self.inner.execute(known, free).await;
            let Heard::Said(said, answers) = heard else { return heard };
            let mut answers = answers.into_iter();
            let locked = || Answer::Unknown(Cause::of("LOCKED"));
            let one =
                |op: &Op| if held(op) { locked() } else { answers.next().unwrap_or_else(locked) };
            Heard::Said(said, ops.iter().map(one).collect())
        })
    }
}

fn id(town: &Town, asked: &Asked) -> Id {
    for _ in 0..100 {
        if let Some(came) = asked.lock().expect("no panic").first() {
            return came.as_ref().expect("it is opened").record.id;
        }
        town.passes(10);
    }
    panic!("nobody answers")
}

fn alerts(town: &Town, member: &Member, of: Id) -> usize {
    let engine = member.engine.clone();
    let cases = town.sim.block_on(async move { engine.journal().open_cases().await });
    let cases = cases.expect("it lives").expect("it answers");
    let mine = cases.iter().filter(|case| &*case.kind == "TARGET_PENDING");
    mine.filter(|case| case.about == About::Transfer(of)).count()
}

/// Turns red where a default is another one: a transfer that is not at its target after 60 s is told
/// of, not before; it ends by itself within the longest wait after the row is free; its neighbours
/// end within a second all the while.
#[test]
fn a_row_that_is_held_for_ninety_seconds_by_the_defaults() {
    for seed in 0..5 {
        let town = Town::new(seed);
        let me = town.sim.process(1);
        let inner = me.block_on(spot(me.clone(), SimDisk::new(seed, town.sim.crash()), 0));
        let inner: Arc<dyn Ledger> = inner.expect("it opens");
        // key 0 is the first user's
        let (user, until) = (terms(0).user, town.sim.time() + HELD);
        let locked = Arc::new(Shell(Locked { inner, sim: me, user, until }));
        let member = town.join(1, (locked, Vec::new()), plain).expect("it starts");
        town.fund(&member);
        let begun = town.sim.time();
        let held = id(&town, &town.ask(&member, 0..1));
        let stands = |town: &Town| {
            let open = town.open(&member);
            open.iter().find(|(id, _)| *id == held).map(|(_, state)| *state)
        };
        let (mut told, mut ended, mut next) = (None, None, 1);
        while ended.is_none() {
            let passed = town.sim.time() - begun;
            assert!(passed <= HELD + LONGEST, "seed {seed}: no end after {passed} ms");
            // never the first user's
            next += if (next + 1) % 4 == 0 { 2 } else { 1 };
            let neighbour = town.ask(&member, next..next + 1);
            town.passes(STEP);
            let neighbour = id(&town, &neighbour);
            let open = town.open(&member);
            assert!(!open.iter().any(|(id, _)| *id == neighbour), "seed {seed}: a neighbour waits");
            match stands(&town) {
                Some(state) => assert_eq!(state, "TARGET_PENDING", "seed {seed}"),
                None => ended = Some(town.sim.time() - begun),
            }
            if told.is_none() && alerts(&town, &member, held) > 0 {
                told = Some(town.sim.time() - begun);
            }
        }
        let told = told.expect("a person is asked");
        assert!((ALERT..ALERT + 5_000).contains(&told), "seed {seed}: told after {told} ms");
        assert!(ended >= Some(until - begun), "seed {seed}: ended while the row was held");
        town.passes(5_000);
        assert_eq!(alerts(&town, &member, held), 0, "seed {seed}: the question is closed");
        assert_eq!(town.faults(&member), [""; 0], "seed {seed}");
        assert_eq!(terms(0).asset, COIN);
    }
}
