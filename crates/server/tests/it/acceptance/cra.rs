//! Crash recovery (§10.5): stopped dead at an exact point, it ends as it must after the next start.

use super::road::{self, INIT, SOURCE_DONE};
use super::{USER, after, with};
use crate::fixture::points::{At, Point, When, point};
use crate::fixture::{Crash, Direction, Fixture, Money, Setup, TransferRequest};
use kernel::flow::life::Leg;
use kernel::ids::LedgerId;

/// After, in the middle of, and before a write or an effect.
const ALL: [When; 3] = [When::After, When::Torn(50), When::Before];
const UNDONE: [When; 2] = [When::Torn(50), When::Before];

/// A server with one kind of transfer under test.
pub(super) struct CrashCase {
    pub id: &'static str,
    pub fixture: Fixture,
    pub setup: Setup,
    pub way: Direction,
    /// The target refuses, so it comes back.
    pub back: bool,
    count: u64,
}

impl CrashCase {
    pub(super) fn new(id: &'static str, setup: &Setup, way: Direction, back: bool) -> Self {
        let fixture = with(*setup, 1_000, 500);
        if back {
            fixture.set_status(USER, way.target(), "DISABLED");
        }
        Self { id, fixture, setup: *setup, way, back, count: 0 }
    }

    /// The next transfer, with a key of its own.
    pub(super) fn ask(&mut self) -> TransferRequest {
        self.count += 1;
        TransferRequest::new(USER, self.way, 2).keyed(format!("{}-{}", self.id, self.count))
    }

    pub(super) fn end(&self) -> &'static str {
        if self.back { "ROLLED_BACK" } else { "COMMITTED" }
    }

    /// What the user has once a transfer ended.
    pub(super) fn then(&self, before: Money) -> Money {
        if self.back { before } else { after(before, self.way, 2) }
    }

    /// A crash at each of the points, one transfer each.
    fn crash_at(&mut self, at: At, whens: &[When]) {
        for when in whens {
            let (before, ask) = (self.fixture.money(USER), self.ask());
            let point = point(at, *when);
            let tails = self.fixture.torn_tails();
            let crash = self.fixture.crash_at(point, &ask);
            let torn =
                matches!(point, Point { at: At::Call(LedgerId::SPOT, _), when: When::Torn(_) });
            let found = self.fixture.torn_tails() - tails;
            assert_eq!(
                found,
                u32::from(torn),
                "{}: half a batch is seen to be half, {at:?}",
                self.id
            );
            let row = road::row(&self.setup, self.way, self.back, point);
            self.recovers(crash, row, point, (&ask, before));
        }
    }

    /// The row was where the point says, and everything ends as it must.
    fn recovers(
        &self,
        crash: Crash,
        row: Option<i16>,
        point: Point,
        (ask, before): (&TransferRequest, Money),
    ) {
        let (id, fixture) = (self.id, &self.fixture);
        let at = format!("{:?} {point:?}", self.way);
        assert_eq!(
            crash.state, row,
            "{id}: the row is in the journal as far as it was written, {at}"
        );
        if row.is_some() {
            let story = fixture.reaches(USER, crash.id, self.end());
            let (now, then) = (fixture.money(USER).total(), before.total());
            assert_eq!(now, then, "{id}: no money is made or lost, {at}");
            assert_eq!(story.state, self.end(), "{id}: recovery ends the transfer by itself, {at}");
        } else {
            assert_eq!(fixture.get(USER, crash.id).status, 404, "{id}: nothing was opened, {at}");
        }
        self.ended(ask, before, &at);
    }

    /// It ended once, asked again or not, and the money is where it belongs.
    pub(super) fn ended(&self, ask: &TransferRequest, before: Money, at: &str) {
        let (id, fixture) = (self.id, &self.fixture);
        let reply = fixture.post(ask);
        let story = fixture.reaches(USER, reply.id(), self.end());
        assert_eq!(story.state, self.end(), "{id}: asked again it is what it is, {at}");
        assert_eq!(fixture.money(USER), self.then(before), "{id}: the balances are exact, {at}");
        assert!(story.is_legal(), "{id}: each step follows from the one before, {at}: {story:?}");
        let again = fixture.post(ask);
        let replay = (again.replayed(), again.id());
        assert_eq!(replay, (true, reply.id()), "{id}: a key is bound to one transfer, {at}");
        fixture.sound(id);
    }
}

/// Both ways, committed and rolled back.
pub(super) fn crash_cases(id: &'static str, setup: &Setup) -> impl Iterator<Item = CrashCase> {
    let kinds = Direction::BOTH.into_iter().flat_map(|way| [(way, false), (way, true)]);
    kinds.map(move |(way, back)| CrashCase::new(id, setup, way, back))
}

/// After INIT, before SOURCE_PENDING. A row stands at INIT where intake had no room for the
/// transfer and left it to the scanner.
pub(super) fn cra_001(setup: Setup) {
    let narrow = Setup { ring: 1, timeout_ms: 60, ..setup };
    for way in Direction::BOTH {
        let mut crash_case = CrashCase::new("CRA-001", &narrow, way, false);
        for when in ALL {
            let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
            fill(&mut crash_case);
            let point = point(At::Write("CREATED"), when);
            let crash = crash_case.fixture.crash_at(point, &ask);
            let row = (when == When::After).then_some(INIT);
            crash_case.recovers(crash, row, point, (&ask, before));
        }
        // stopped after the caller was told that it is open
        let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
        fill(&mut crash_case);
        let reply = crash_case.fixture.post(&ask);
        assert!(matches!(reply.status, 200 | 202), "CRA-001: it is open: {reply:?}");
        let crash = crash_case.fixture.crash();
        assert!(crash.state.is_some(), "CRA-001: what was answered as open is in the journal");
        let point = point(At::Write("CREATED"), When::After);
        crash_case.recovers(crash, crash.state, point, (&ask, before));
        // the first claim of a transfer that came in by the front door
        crash_case.setup = setup;
        crash_case.crash_at(At::Write("SOURCE_CALL"), &UNDONE);
    }
}

/// The number of openings that are under way at once.
const WORKERS: usize = 2;

/// Each worker's opening is held up and another waits behind them: there is no room for one more.
fn fill(crash_case: &mut CrashCase) {
    for _ in 0..WORKERS {
        let (ask, fixture) = (crash_case.ask(), &crash_case.fixture);
        let before = fixture.control().opened().len();
        fixture.control().hold_opening();
        fixture.nudge(&ask);
        let held = fixture.until(|| fixture.control().opened().len() > before);
        assert!(held, "an opening is held up");
    }
    let behind = crash_case.ask();
    crash_case.fixture.nudge(&behind);
}

/// During SOURCE_PENDING, before the call.
pub(super) fn cra_002(setup: Setup) {
    for way in Direction::BOTH {
        let mut crash_case = CrashCase::new("CRA-002", &setup, way, false);
        crash_case.crash_at(At::Write("SOURCE_CALL"), &[When::After]);
        crash_case.crash_at(At::Call(way.source(), Leg::Withdraw), &[When::Before]);
    }
}

/// During SOURCE_PENDING, after the call: the answer is lost, or read and not stored.
pub(super) fn cra_003(setup: Setup) {
    for way in [Direction::ToFunding, Direction::ToSpot] {
        let mut crash_case = CrashCase::new("CRA-003", &setup, way, false);
        crash_case.crash_at(At::Call(way.source(), Leg::Withdraw), &[When::After, When::Torn(50)]);
        crash_case.crash_at(At::Write("SOURCE_OK"), &UNDONE);
    }
}

/// After SOURCE_DONE, before TARGET_PENDING. A row stands at SOURCE_DONE where a halt came between
/// the call and its answer: the answer is written without the next claim.
pub(super) fn cra_004(setup: Setup) {
    for way in Direction::BOTH {
        let mut crash_case = CrashCase::new("CRA-004", &setup, way, false);
        crash_case.crash_at(At::Write("SOURCE_OK"), &UNDONE);
        crash_case.crash_at(At::Write("SOURCE_OK"), &[When::After]);
        if setup.fuse && way == Direction::ToSpot {
            continue;
        }
        let again = point(At::Write("TARGET_CALL"), When::Before);
        for ahead in [vec![], vec![again]] {
            let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
            crash_case.fixture.control().halt_at("SOURCE_OK");
            crash_case.fixture.crash_again_at(&ahead);
            let point = point(At::Write("SOURCE_OK"), When::After);
            let mut crash = crash_case.fixture.crash_at(point, &ask);
            for next in ahead {
                assert_eq!(crash.state, Some(SOURCE_DONE), "CRA-004: it is SOURCE_DONE");
                crash = crash_case.fixture.crashed(&format!("{next:?}"));
            }
            crash_case.recovers(crash, Some(SOURCE_DONE), point, (&ask, before));
        }
    }
}

/// A crash while the transfer is TARGET_PENDING.
pub(super) fn cra_005(setup: Setup) {
    for way in Direction::BOTH {
        let mut crash_case = CrashCase::new("CRA-005", &setup, way, false);
        crash_case.crash_at(At::Write("TARGET_CALL"), &[When::After]);
        crash_case.crash_at(At::Call(way.target(), Leg::Deposit), &ALL);
        crash_case.crash_at(At::Write("TARGET_OK"), &ALL);
    }
}

/// A crash while the transfer is COMPENSATING.
pub(super) fn cra_006(setup: Setup) {
    for way in [Direction::ToFunding, Direction::ToSpot] {
        let mut crash_case = CrashCase::new("CRA-006", &setup, way, true);
        crash_case.crash_at(At::Write("TARGET_FAIL"), &[When::After]);
        crash_case.crash_at(At::Call(way.source(), Leg::Refund), &ALL);
        crash_case.crash_at(At::Write("ROLLBACK_OK"), &ALL);
    }
}
