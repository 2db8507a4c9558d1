//! Everything that follows from a write follows whichever driver made it: each duty of the writer through each driver
//! that has it.

mod driver;

use crate::fixture::defaults::SPOT;
use crate::fixture::write_faults::WriteFault;
use driver::{Driver, DriverFixture};
use engine::operators::{ActionResult, AdminAction};
use kernel::answer::Cause;
use kernel::unit::{Guard, Wrote};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use testkit::wait_until;
use tokio::sync::{Notify, watch};

/// The longest wait for what a wrong build never does.
const SOON: Duration = Duration::from_secs(60);
/// The interval at which the publisher looks into the outbox by itself, in milliseconds.
const POLL: u64 = 200;
/// The number of fixtures that are played at once.
const AT_ONCE: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// A HALT waits for a write that goes on.
    Ticket,
    /// A unit that relies on a ledger is guarded by the ledger's incarnation, or by the owner of its core.
    LedgerGuard,
    /// Nothing is taken in while the store has no room.
    Room,
    /// A write that is lost to a HALT stops this process.
    Halted,
    /// A write that is lost to another owner of a core ends this process.
    Retired,
    /// A write that is lost to another incarnation has the ledger asked who it is.
    OtherIncarnation,
    /// A message that was written is published, though no poll finds it.
    OutboxBell,
    /// A unit that contradicts the journal opens a case and pauses its flow.
    Contradiction,
    /// A unit whose outcome is not known, and which was written, is written once and not forgotten.
    WrittenUnanswered,
    /// The same of one that was not written.
    NotWritten,
}

impl Duty {
    const ALL: [Self; 10] = [
        Self::Ticket,
        Self::LedgerGuard,
        Self::Room,
        Self::Halted,
        Self::Retired,
        Self::OtherIncarnation,
        Self::OutboxBell,
        Self::Contradiction,
        Self::WrittenUnanswered,
        Self::NotWritten,
    ];

    /// Whether a driver has it: only what a station writes relies on a ledger here, and only account transfers have messages.
    fn is_of(self, driver: Driver) -> bool {
        match self {
            Self::LedgerGuard => driver == Driver::Station,
            Self::OutboxBell => matches!(driver, Driver::Opening | Driver::Consumer),
            // taking an attempt over says nothing that the journal could contradict
            Self::Contradiction => driver != Driver::Recovery,
            Self::Ticket
            | Self::Room
            | Self::Halted
            | Self::Retired
            | Self::OtherIncarnation
            | Self::WrittenUnanswered
            | Self::NotWritten => true,
        }
    }
}

/// Each cell of the table, on a runtime of its own.
///
/// Turns red where a duty is left out: all cells of its row, whichever driver they are of.
#[test]
fn each_duty_of_a_write_is_done_through_each_driver() {
    let of = |duty: Duty| Driver::ALL.into_iter().filter(move |driver| duty.is_of(*driver));
    let cells = Duty::ALL.into_iter().flat_map(|duty| of(duty).map(move |driver| (duty, driver)));
    let (cells, red) = (Mutex::new(cells), Mutex::new(Vec::new()));
    let next = || cells.lock().expect("no panic").next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((duty, driver)) = next() {
                    if thread::spawn(move || plays(duty, driver)).join().is_err() {
                        red.lock().expect("no panic").push(format!("{duty:?} through {driver:?}"));
                    }
                }
            });
        }
    });
    assert_eq!(red.into_inner().expect("no panic"), [""; 0]);
}

fn plays(duty: Duty, driver: Driver) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(play(duty, driver));
    // what goes on in the fixture ends with it
    runtime.shutdown_background();
}

async fn play(duty: Duty, driver: Driver) {
    let mut fixture = DriverFixture::open(driver, (duty == Duty::OutboxBell).then_some(POLL)).await;
    match duty {
        Duty::Ticket => ticket(&mut fixture).await,
        Duty::LedgerGuard => ledger_guard(&mut fixture).await,
        Duty::Room => room(&mut fixture).await,
        Duty::Halted => halted(&mut fixture).await,
        Duty::Retired => retired(&mut fixture).await,
        Duty::OtherIncarnation => other_incarnation(&mut fixture).await,
        Duty::OutboxBell => outbox_bell(&mut fixture).await,
        Duty::Contradiction => contradiction(&mut fixture).await,
        Duty::WrittenUnanswered => {
            fixture.begins(WriteFault::Unanswered).await;
            fixture.ends().await;
        }
        Duty::NotWritten => {
            let unknown = Wrote::Unknown(Cause::of("TIMEOUT"));
            fixture.begins(WriteFault::Answered(unknown)).await;
            fixture.ends().await;
        }
    }
}

async fn is_quiet_after_a_halt(fixture: &DriverFixture, key: &str) -> bool {
    let done = fixture.service.execute_as("eve", key, AdminAction::Halt).await;
    let done = done.expect("it halts").outcome;
    let ActionResult::Halted { quiet, .. } = done else { panic!("{done:?}") };
    quiet
}

async fn ticket(fixture: &mut DriverFixture) {
    let release = Arc::new(Notify::new());
    fixture.begins(WriteFault::Waits(release.clone())).await;
    assert!(!is_quiet_after_a_halt(fixture, "1").await, "quiet, while a write goes on");
    release.notify_one();
    let mut times = 1;
    let quiet = wait_until(SOON, async || {
        times += 1;
        is_quiet_after_a_halt(fixture, &times.to_string()).await
    });
    assert!(quiet.await, "never quiet");
}

async fn ledger_guard(fixture: &mut DriverFixture) {
    fixture.begins(WriteFault::Unanswered).await;
    let unit = fixture.service.write_faults.met().expect("it is written");
    // its core runs in this process, so its owner says which incarnation it is
    let is = |guard: &Guard| matches!(guard, Guard::Owner { ledger, .. } if *ledger == SPOT);
    assert!(unit.guards.iter().any(is), "{:?}", unit.guards);
    fixture.ends().await;
}

async fn room(fixture: &mut DriverFixture) {
    fixture.begins(WriteFault::Full).await;
    let full = wait_until(SOON, async || fixture.service.engine.full());
    assert!(full.await, "transfers are taken in without room");
}

async fn halted(fixture: &mut DriverFixture) {
    fixture.begins(WriteFault::Answered(Wrote::Lost(Guard::NotHalted))).await;
    let halted = wait_until(SOON, async || fixture.service.engine.halted().is_some());
    assert!(halted.await, "money moves on");
}

async fn retired(fixture: &mut DriverFixture) {
    let faults = fixture.service.write_faults.clone();
    faults.may_retire.store(true, Ordering::SeqCst);
    let owner = Guard::Owner { ledger: SPOT, epoch: 7 };
    fixture.begins(WriteFault::Answered(Wrote::Lost(owner))).await;
    let retired = wait_until(SOON, async || faults.retired.load(Ordering::SeqCst));
    assert!(retired.await, "the process goes on");
}

async fn other_incarnation(fixture: &mut DriverFixture) {
    if fixture.driver != Driver::Recovery {
        fixture.moves_money().await;
    }
    let (say, answer) = watch::channel(None);
    fixture.begins(WriteFault::AnsweredLater(answer)).await;
    if fixture.driver == Driver::Recovery {
        fixture.moves_money().await;
    }
    let guard = Guard::Incarnation { ledger: SPOT, known: fixture.spot_lies().await };
    say.send_replace(Some(Wrote::Lost(guard)));
    let asked = wait_until(SOON, async || fixture.service.engine.halted().is_some());
    assert!(asked.await, "the ledger is not asked who it is");
}

async fn outbox_bell(fixture: &mut DriverFixture) {
    let release = Arc::new(Notify::new());
    release.notify_one();
    fixture.begins(WriteFault::Waits(release)).await;
    fixture.ends().await;
}

async fn contradiction(fixture: &mut DriverFixture) {
    let contradicts = Wrote::Unknown(Cause::of(Cause::CONTRADICTION));
    fixture.begins(WriteFault::Answered(contradicts)).await;
    let told = wait_until(SOON, async || {
        let status = fixture.service.opened.journal.service_status().await.expect("the journal");
        fixture.has_case("CONTRADICTION").await && !status.paused.is_empty()
    });
    assert!(told.await, "no case, or no pause");
}
