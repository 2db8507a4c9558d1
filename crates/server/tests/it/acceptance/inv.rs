//! Fund conservation (§10.1): whatever became of a transfer, the money is there.

use super::{USER, after, fund, with};
use crate::fixture::points::{At, When, point};
use crate::fixture::{Direction, Money, Setup, TransferRequest};
use kernel::ids::LedgerId;

/// After a normal transfer: SUM(source) + SUM(target) is constant.
pub(super) fn inv_001(setup: Setup) {
    let fixture = with(setup, 100, 20);
    let before = fixture.money(USER);
    let mut money = before;
    for (way, amount) in
        [(Direction::ToSpot, 30), (Direction::ToFunding, 5), (Direction::ToSpot, 75)]
    {
        let reply = fixture.post(&TransferRequest::new(USER, way, amount));
        money = after(money, way, amount);
        let now = fixture.money(USER);
        assert_eq!(now.total(), before.total(), "INV-001: source and target add up as before");
        assert_eq!(now, money, "INV-001: {amount} went {way:?}");
        assert_eq!(reply.status, 200, "INV-001: it is committed: {reply:?}");
    }
    assert_eq!(money, Money::at(0, 120), "INV-001: all of it was moved");
    fixture.sound("INV-001");
}

/// After a failed transfer: the source is unchanged.
pub(super) fn inv_002(setup: Setup) {
    let fixture = with(setup, 100, 20);
    let before = fixture.money(USER);
    let fails = |way, amount, code: &str| {
        let reply = fixture.post(&TransferRequest::new(USER, way, amount));
        assert_eq!(fixture.money(USER), before, "INV-002: the source is unchanged ({code})");
        assert_eq!(reply.text("code"), code, "INV-002: {reply:?}");
        assert_eq!((reply.status, reply.text("state")), (422, "FAILED"), "INV-002: it failed");
    };
    fails(Direction::ToFunding, 21, "INSUFFICIENT_BALANCE");
    fails(Direction::ToSpot, 101, "INSUFFICIENT_BALANCE");
    for way in Direction::BOTH {
        for (status, code) in [("FROZEN", "ACCOUNT_FROZEN"), ("DISABLED", "ACCOUNT_DISABLED")] {
            fixture.set_status(USER, way.source(), status);
            fails(way, 1, code);
        }
        fixture.set_status(USER, way.source(), "ACTIVE");
    }
    let unfunded = fixture.post(&TransferRequest::new(USER + 1, Direction::ToSpot, 1));
    assert_eq!(unfunded.text("code"), "SOURCE_ACCOUNT_NOT_FOUND", "INV-002: {unfunded:?}");
    assert_eq!(fixture.money(USER + 1), Money::default(), "INV-002: nothing comes of nothing");
    fixture.sound("INV-002");
}

/// After a rollback: the source is restored in full.
pub(super) fn inv_003(setup: Setup) {
    let fixture = with(setup, 100, 20);
    let before = fixture.money(USER);
    for way in [Direction::ToFunding, Direction::ToSpot] {
        fixture.set_status(USER, way.target(), "DISABLED");
        let reply = fixture.post(&TransferRequest::new(USER, way, 8));
        assert_eq!(fixture.money(USER), before, "INV-003: the source has everything back");
        let seen = (reply.status, reply.text("state"), reply.text("code"));
        assert_eq!(seen, (422, "ROLLED_BACK", "ACCOUNT_DISABLED"), "INV-003: it was rolled back");
        fixture.set_status(USER, way.target(), "ACTIVE");
    }
    // a user whom Funding never heard of cannot be paid there
    let stranger = USER + 1;
    fixture.deposit(stranger, 9, "stranger");
    fixture.post(&TransferRequest::new(stranger, Direction::ToSpot, 9));
    fixture.set_status(stranger, LedgerId::FUNDING, "DISABLED");
    fixture.post(&TransferRequest::new(stranger, Direction::ToFunding, 9));
    assert_eq!(fixture.money(stranger), Money::at(0, 9), "INV-003: the last unit came back too");
    fixture.sound("INV-003");
}

/// After a crash with many transfers on their way: every balance adds up, nothing is on its way
/// any more.
pub(super) fn inv_004(setup: Setup) {
    let mut fixture = with(setup, 100, 100);
    let users = [USER, USER + 1, USER + 2];
    for user in &users[1..] {
        fund(&fixture, *user, 100, 100);
    }
    for (round, step) in [1, 2, 4].into_iter().enumerate() {
        fixture.control().stop_at(point(At::Step(step), When::After));
        let ask = |user: u64, way: Direction| {
            TransferRequest::new(user, way, 3)
                .keyed(format!("{round}-{user}-{}", way.source().name()))
        };
        let all = || users.iter().flat_map(|user| Direction::BOTH.map(|way| ask(*user, way)));
        for ask in all() {
            drop(fixture.send(&ask));
        }
        fixture.crashed("many transfers on their way");
        // what was only opened has moved nothing yet: balances alone would add up with it on its way
        let left = |user| {
            let money = fixture.money(user);
            (money.funding + money.spot, fixture.open(user))
        };
        // looked at once: what was on its way to the one that died may be opened a moment later, and is asked for below
        let rests = fixture.until(|| users.iter().all(|user| left(*user) == (200, 0)));
        let now = users.map(left);
        assert!(
            rests,
            "INV-004: the balances add up after the crash, and nothing is left: {now:?}"
        );
        for ask in all() {
            let reply = fixture.post(&ask);
            assert_eq!(reply.status, 200, "INV-004: it ends once, asked again or not: {reply:?}");
        }
        for user in users {
            assert_eq!(fixture.money(user), Money::at(100, 100), "INV-004: to and fro is nothing");
        }
        fixture.sound("INV-004");
    }
}
