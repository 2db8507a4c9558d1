//! Tests of the checker on a small world: no alarm while the world moves, and one for each thing that a
//! test changes.

use crate::reconciliation::world::{FLOWS, FUNDING, Fake, FakeLedger, Holds, SPOT, World};
use crate::reconciliation::{Checker, PROVEN, Proven, Report};
use kernel::answer::Cause;
use kernel::audit::hex;
use kernel::audit::seal::SealKey;
use kernel::flow::life::Leg;
use kernel::ids::{Id, LedgerId, Millis, UserId};
use kernel::operation::{Key, Operation, StoredOutcome};
use kernel::ports::journal::Line;
use kernel::ports::ledger::Ledger;
use kernel::record::{Account, System};
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn key() -> SealKey {
    SealKey::new(b"the key of a test")
}

/// As it is stored, with the MAC of our key.
fn stored(body: &str) -> String {
    format!("{} {body}", hex(&key().certify(PROVEN, body)))
}

struct Test {
    fake: Fake,
    ledgers: Vec<Arc<dyn Ledger>>,
    checker: Checker,
}

impl Test {
    fn new(transfers: u64, seed: u64) -> Self {
        let fake = Fake::default();
        let ledgers: Vec<Arc<dyn Ledger>> = vec![
            Arc::new(FakeLedger(fake.clone(), Some(Holds))),
            Arc::new(FakeLedger(fake.clone(), None)),
        ];
        let test = Self { fake, ledgers, checker: Checker::default() };
        test.change(|world| {
            world.bring(1_000_000);
            world.to_open = transfers;
            world.dice = seed;
        });
        test
    }

    fn change(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.fake.0.lock().unwrap());
    }

    fn round(&mut self) -> Result<Report, Cause> {
        let mut round = Box::pin(self.checker.round(&self.fake, &self.ledgers, &FLOWS));
        match round.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(report) => report,
            Poll::Pending => Err(Cause::of("PENDING")),
        }
    }

    fn sound(&mut self) -> Report {
        let report = self.round().unwrap();
        assert!(report.ok, "{:#?}", report.breaks);
        report
    }
}

#[test]
fn no_alarm_while_transfers_run() {
    for seed in 0..20 {
        let mut test = Test::new(150, seed);
        let mut waited = 0;
        for _ in 0..150 {
            waited += test.sound().waiting;
        }
        assert!(waited > 0, "no effect was ever seen before its receipt");
        test.change(World::settle);
        assert_eq!(test.sound().waiting, 0);
        assert_eq!(test.sound().round, 152);
    }
}

#[test]
fn a_store_above_all_pages_is_walked_to_its_end() {
    let mut test = Test::new(0, 1);
    test.change(|world| {
        (0..21_000).for_each(|_| world.open());
        world.settle();
    });
    for _ in 0..3 {
        test.sound();
    }
    test.change(|world| {
        let (_, operation) = world.lines[20_990].operations.last_mut().unwrap();
        operation.op.account = Account::User(UserId(77));
    });
    let found = (0..2).map(|_| test.round().unwrap()).find(|report| !report.ok).unwrap();
    assert_eq!(found.breaks.len(), 1, "{:#?}", found.breaks);
}

/// A day, as the checker takes it.
const DAY: Millis = 86_400_000;

/// Turns red where the running sums are believed for ever: a row whose amount, asset or account is in
/// order and that no transfer asked for stands in no transfer's line that is looked at again.
#[test]
fn a_row_that_was_changed_is_found_by_the_count_of_the_day() {
    let mut test = Test::new(40, 5);
    (0..60).for_each(|_| drop(test.sound()));
    test.change(World::settle);
    test.sound();
    // as if a row had lost one unit since it was counted
    test.change(|world| {
        world.ahead = 1;
        world.funding.clearing -= 1;
        world.funding.users += 1;
        world.now = 2 * DAY - 1;
    });
    let report = test.sound();
    assert!(!report.recounted, "the running sums say that it adds up");
    test.change(|world| world.now = 2 * DAY);
    let of_count = ("FUNDING/3/rows/deposit", -1);
    for n in 0..3 {
        let report = test.round().unwrap();
        let mut found: Vec<_> = report.breaks.iter().map(|b| (&*b.key, b.amount)).collect();
        if n == 0 {
            assert_eq!(found.pop(), Some(of_count), "the count before said something else");
        }
        assert_eq!(found, [("FUNDING/3/clearing", -1)], "and it is not forgotten again");
    }
}

/// Turns red where a running sum that is wrong counts more than the rows, once they were counted; or
/// where it is believed to be right from then on.
#[test]
fn a_running_sum_that_is_wrong_breaks_nothing_once_the_rows_were_counted() {
    let mut test = Test::new(60, 9);
    (0..20).for_each(|_| drop(test.sound()));
    test.change(|world| world.ahead = 7);
    let report = test.round().unwrap();
    assert_eq!((report.breaks[0].key.as_str(), report.breaks[0].amount), ("FUNDING/3/clearing", 7));
    assert!(!report.recounted);
    test.checker.invalidate();
    assert!(test.sound().recounted);
    for _ in 0..20 {
        assert!(!test.sound().recounted, "the difference is known, and rows are added to it");
    }
    test.change(|world| world.ahead = 8);
    assert!(!test.round().unwrap().ok, "another one");
}

type Tampering = fn(&mut World);

/// A change of the stores past the engine, and a part of the key under which it is named.
const TAMPERINGS: &[(&str, Tampering)] = &[
    ("FUNDING/3/total", |w| w.funding.users += 1),
    ("FUNDING/3/frozen", |w| w.funding.frozen += 1),
    ("FUNDING/3/clearing", |w| w.funding.clearing += 1),
    ("FUNDING/3/world", |w| w.funding.world += 1),
    ("SPOT/3/total", |w| w.spot.users += 1),
    ("SPOT/3/clearing", |w| {
        w.spot.users += 1;
        w.spot.clearing -= 1;
    }),
    ("FUNDING/3/clearing", |w| {
        w.funding.users += 1;
        w.funding.clearing -= 1;
    }),
    ("FUNDING/3/world", |w| w.external += 1),
    ("SPOT/3/clearing", |w| w.spot_line(Leg::Deposit).op.amount.0 += 1),
    ("/SPOT/DEPOSIT", |w| w.spot_line(Leg::Deposit).outcome = StoredOutcome::Fenced),
    ("/SPOT/WITHDRAW", |w| w.spot_line(Leg::Withdraw).op.account = Account::User(UserId(99))),
    ("/SPOT/WITHDRAW", |w| w.spot_line(Leg::Withdraw).seq -= 1),
    ("SPOT/receipts", |w| {
        w.lines[3].operations.retain(|(at, _)| *at != SPOT);
    }),
    ("SPOT/receipts", |w| {
        // a refusal moves no money, and its row is missed all the same
        let refused =
            |(at, o): &(LedgerId, Operation)| *at == SPOT && o.outcome != StoredOutcome::Done;
        let line = w.lines.iter_mut().find(|line| line.operations.iter().any(refused)).unwrap();
        line.operations.retain(|row| !refused(row));
    }),
    ("/FUNDING/DEPOSIT", |w| {
        let row =
            |line: &&mut Line| line.target.system == System::Ledger(FUNDING) && line.state == 4;
        w.lines.iter_mut().find(row).unwrap().operations.retain(|(at, _)| *at != FUNDING);
    }),
    ("/FUNDING/SETTLE", |w| {
        let settle = |(_, o): &(LedgerId, Operation)| o.op.key.leg == Leg::Settle;
        let line = w.lines.iter_mut().find(|line| line.operations.iter().any(settle)).unwrap();
        line.operations.retain(|row| !settle(row));
    }),
    ("/FUNDING/REFUND", |w| {
        let line = w.lines.iter_mut().find(|l| l.state == 4 && l.operations.len() == 3).unwrap();
        let (_, mut more) = line.operations[0].clone();
        more.op.key.leg = Leg::Refund;
        line.operations.push((FUNDING, more));
    }),
    ("/SPOT/DEPOSIT", |w| {
        let mut op = w.spot_log[0].op.clone();
        op.key = Key { id: Id(1 << 90), leg: Leg::Deposit };
        let seq = w.spot_log.last().unwrap().seq + 1;
        w.post(SPOT, &op, &StoredOutcome::Done);
        w.spot_log.push(Operation { seq, op, outcome: StoredOutcome::Done });
    }),
    ("SPOT/highest", |w| {
        w.spot_log.truncate(5);
    }),
];

#[test]
fn every_tampering_is_named_within_two_rounds() {
    for (n, (key, tampering)) in TAMPERINGS.iter().enumerate() {
        let mut test = Test::new(120, 7);
        for _ in 0..80 {
            test.sound();
        }
        test.change(World::settle);
        test.sound();
        test.change(tampering);
        let found = (0..2).map(|_| test.round().unwrap()).find(|report| !report.ok);
        let breaks = found.unwrap_or_else(|| panic!("tampering {n} went unseen")).breaks;
        assert!(breaks.iter().any(|b| b.key.contains(key)), "tampering {n}: {key}: {breaks:#?}");
    }
}

/// Turns red where a worker that stood still takes what another let the ledger forget for receipts of
/// nothing, and halts all workers; and where it then takes any receipt of nothing.
#[test]
fn what_was_forgotten_before_it_was_listed_is_no_break() {
    let mut test = Test::new(120, 7);
    (0..20).for_each(|_| drop(test.sound()));
    let listed = test.fake.0.lock().unwrap().spot_log.last().unwrap().seq;
    test.change(World::settle);
    test.change(|world| {
        let highest = world.spot_log.last().unwrap().seq;
        assert!(highest > listed + 10, "much happened since");
        world.spot_log.retain(|o| o.seq <= listed || o.seq == highest);
        world.to_open = 0;
    });
    (0..3).for_each(|_| drop(test.sound()));
    test.change(|world| {
        let (at, mut more) = (SPOT, world.spot_line(Leg::Withdraw).clone());
        more.op.key.leg = Leg::Refund;
        more.outcome = StoredOutcome::Fenced;
        world.lines[0].operations.push((at, more));
    });
    let report = test.round().unwrap();
    assert!(report.breaks.iter().any(|b| b.key == "SPOT/receipts"), "{:#?}", report.breaks);
}

#[test]
fn a_transfer_that_vanishes_while_it_is_open_is_named() {
    let mut test = Test::new(30, 3);
    for _ in 0..4 {
        test.sound();
    }
    test.change(|world| {
        world.to_open = 0;
        let open = world.lines.iter().position(|line| line.state == 0 || line.state == 1);
        world.lines.remove(open.unwrap());
    });
    let report = test.round().unwrap();
    assert!(report.breaks.iter().any(|b| b.what.contains("gone")), "{:#?}", report.breaks);
}

/// Turns red where one silent ledger hides what the others say, or is said to be proven.
#[test]
fn a_ledger_that_is_silent_has_its_own_line_and_hides_no_break() {
    let mut test = Test::new(10, 1);
    test.change(|world| world.now = 7);
    test.sound();
    test.change(|world| (world.silent, world.now) = (true, 9));
    let report = test.round().expect("a report of the others");
    assert!(report.ok, "what was proven adds up");
    let lines = report.ledgers.iter().map(|proof| (proof.ledger, proof.proven_at, &proof.silent));
    let silent = Some(Cause::of("TIMEOUT"));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [(FUNDING, Some(9), &None), (SPOT, Some(7), &silent)],
        "each ledger has its own line"
    );
    test.change(|world| world.funding.users += 1);
    let report = test.round().unwrap();
    assert_eq!(report.breaks.len(), 1);
    assert_eq!((report.breaks[0].key.as_str(), report.breaks[0].amount), ("FUNDING/3/total", 1));
    test.change(|world| {
        world.funding.users -= 1;
        world.silent = false;
    });
    assert_eq!(test.sound().assets.len(), 2);
}

/// Turns red where no round looks at a number that was lower than those that were read when it was
/// committed (run: `walk` without `complete`).
#[test]
fn a_transfer_that_is_committed_late_is_looked_at_as_a_new_one() {
    let mut test = Test::new(0, 1);
    // more than the window comes by in a round
    test.change(|world| (0..50_000).for_each(|_| world.open()));
    test.sound();
    let mut late = None;
    test.change(|world| {
        (0..20).for_each(|_| world.open());
        late = Some(world.lines.remove(50_009));
        world.complete = Some(50_009);
    });
    test.sound();
    test.change(|world| {
        let mut late = late.take().unwrap();
        // no state of its flow
        late.state = 99;
        world.lines.insert(50_009, late);
        world.complete = None;
    });
    let report = test.round().unwrap();
    assert!(!report.ok, "the transfer that was committed late was not looked at");
}

/// Turns red where only sums over all users are proven: what one user loses another has (seen: `accounts`
/// holds no account against its operations).
#[test]
fn what_moves_from_one_user_to_another_is_named_at_both() {
    for (n, ledger) in [(0, "FUNDING"), (1, "SPOT")] {
        let mut test = Test::new(80, 11);
        (0..40).for_each(|_| drop(test.sound()));
        test.change(|world| world.moved[n] = 5);
        assert!(!test.sound().recounted, "no sum shows it");
        test.change(|world| world.now = 2 * DAY);
        let report = test.round().unwrap();
        let found: Vec<_> = report.breaks.iter().map(|b| (b.key.clone(), b.amount)).collect();
        let of = |user| format!("{ledger}/3/account/{user}");
        assert_eq!(found, [(of(1), 5), (of(2), -5)]);
    }
}

/// Turns red where an account that moves while accounts are read is taken for a break.
#[test]
fn no_alarm_while_accounts_are_read_and_transfers_run() {
    for seed in 0..20 {
        let mut test = Test::new(400, seed);
        for _ in 0..100 {
            test.checker.invalidate();
            let report = test.sound();
            assert!(report.ledgers.iter().all(|proof| proof.accounts.is_some()));
        }
    }
}

/// Turns red where operations that another worker let the ledger forget, while its accounts were read, are
/// missing in a sum, and halt all workers.
#[test]
fn accounts_are_not_proven_where_operations_were_forgotten_meanwhile() {
    let mut postponed = 0;
    for seed in 0..20 {
        let mut test = Test::new(400, seed);
        (0..20).for_each(|_| drop(test.sound()));
        test.change(|world| world.forgets = true);
        test.checker.invalidate();
        let report = test.sound();
        let spot = report.ledgers.iter().find(|proof| proof.ledger == SPOT).unwrap();
        if let Some(cause) = &spot.unlisted {
            assert_eq!(cause.class, "FORGOTTEN");
            assert!(test.checker.wants_count(0), "seed {seed}: the next count waits for no day");
            postponed += 1;
        }
    }
    assert!(postponed > 0, "it never met");
}

/// A row of the store that did not change for long, while more come in each round than the window comes
/// by in one: it is looked at again within the bound.
///
/// Turns red where a pass ends only where the store ends (run: `upto` as `seen` in each round).
#[test]
fn an_old_row_is_looked_at_again_however_many_new_ones_come() {
    const ROUND: Millis = 10_000;
    let mut test = Test::new(0, 1);
    let more = |world: &mut World| {
        (0..25_000).for_each(|_| world.open());
        world.now += ROUND;
    };
    test.change(more);
    test.sound();
    test.change(more);
    test.sound();
    // no state of its flow: any look at it tells
    test.change(|world| world.lines[10].state = 99);
    // the pass that has begun and the next one come by 25 000 and 50 000, 20 000 in a round
    for _ in 0..5 {
        test.change(more);
        if !test.round().unwrap().ok {
            return;
        }
    }
    panic!("the window did not come by");
}

/// Turns red where a start looks at every transfer and every operation before it says anything, or
/// where it leaves out what had not ended or was not in order when it was stored.
#[test]
fn a_checker_goes_on_where_another_one_stood() {
    let mut test = Test::new(0, 3);
    test.change(|world| {
        (0..60_000).for_each(|_| world.open());
        world.settle();
    });
    test.sound();
    // these stand still
    test.change(|world| (0..10).for_each(|_| world.open()));
    test.sound();
    let proven = test.checker.proven();
    assert_eq!(Proven::read(Some(&proven.text(&key())), &key()), proven);
    // the window has come by all of these, and does so again from the first on
    let mut was = 0;
    test.change(|world| {
        was = std::mem::replace(&mut world.lines[40_000].state, 99);
        world.lines[60_003].state = 99;
    });
    test.checker = Checker::behind(proven);
    let report = test.round().unwrap();
    let found: Vec<_> = report.breaks.iter().map(|b| b.key.clone()).collect();
    assert_eq!(found, [Id(60_004).to_string()], "what was open is looked at, and nothing before");
    // what was not in order keeps the number low, until persons accepted it
    test.checker = Checker::behind(test.checker.proven());
    assert!(!test.round().unwrap().ok, "it is looked at again");
    test.change(|world| {
        world.lines[40_000].state = was;
        world.lines[60_003].state = 0;
    });
    // a number beyond what there is proves nothing
    let beyond = r#"{"version":2,"transfers":999999999,"ledgers":[],"counts":null}"#;
    test.checker = Checker::behind(Proven::read(Some(&stored(beyond)), &key()));
    test.sound();
    test.change(|world| {
        world.open();
        world.lines.last_mut().unwrap().state = 99;
    });
    assert!(!test.round().unwrap().ok, "new ones are looked at");
}

/// A start goes on from the stored count of all rows, and the background counts them behind it.
///
/// Turns red where the count is not stored, where a start counts all the same, or where what differs
/// from the count is no break.
#[test]
fn a_start_goes_on_from_the_stored_count_until_the_background_has_counted() {
    let mut test = Test::new(60, 13);
    (0..30).for_each(|_| drop(test.sound()));
    test.change(World::settle);
    assert!(!test.sound().recounted && !test.checker.wants_count(0), "it counted when it began");
    let text = test.checker.proven().text(&key());
    test.checker = Checker::behind(Proven::read(Some(&text), &key()));
    // rows that were changed with the running sums and the books: a refused receipt, say
    test.change(|world| world.ahead = 3);
    test.change(|world| {
        (world.funding.clearing, world.funding.users) =
            (world.funding.clearing - 3, world.funding.users + 3)
    });
    assert!(!test.sound().recounted, "the sums that are stored are gone on from");
    assert!(test.checker.wants_count(0), "and the background counts");
    test.checker.count_all();
    let report = test.round().unwrap();
    assert!(report.recounted);
    let found: Vec<_> = report.breaks.iter().map(|b| (&*b.key, b.amount)).collect();
    assert_eq!(found, [("FUNDING/3/clearing", -3), ("FUNDING/3/rows/deposit", -3)]);
    assert!(!test.checker.wants_count(DAY - 1) && test.checker.wants_count(DAY));
}

/// Money that was taken, and a stored count that was changed to hide it.
///
/// Turns red where a cursor whose MAC is wrong is believed (seen: `Proven::read` without its
/// question to the key).
#[test]
fn a_count_that_was_changed_by_hand_is_not_believed() {
    let mut test = Test::new(60, 13);
    (0..30).for_each(|_| drop(test.sound()));
    test.change(World::settle);
    test.sound();
    let text = test.checker.proven().text(&key());
    let (mac, body) = text.split_once(' ').unwrap();
    let mut changed: serde_json::Value = serde_json::from_str(body).unwrap();
    let deposits = &mut changed["counts"][0]["rows"]["amounts"][1];
    let more = deposits.as_str().unwrap().parse::<i128>().unwrap() + 9;
    *deposits = more.to_string().into();
    test.change(|world| {
        world.funding.clearing -= 9;
        world.funding.users += 9;
    });
    // a holder of the key is believed, so the change would hide it
    let forged = stored(&changed.to_string());
    test.checker = Checker::behind(Proven::read(Some(&forged), &key()));
    test.sound();
    for text in [format!("{mac} {changed}"), changed.to_string()] {
        test.checker = Checker::behind(Proven::read(Some(&text), &key()));
        let report = test.round().unwrap();
        assert!(report.recounted, "every row is counted");
        assert_eq!(report.breaks[0].key, "FUNDING/3/clearing", "{:#?}", report.breaks);
    }
}
