//! Balances and status (§10.3): what an account may pay, and what not.

use super::{USER, with};
use crate::fixture::{Direction, Money, Reply, Setup, TransferRequest};

/// More than available: refused, and nothing changes.
pub(super) fn bal_001(setup: Setup) {
    let fixture = with(setup, 100, 50);
    for (way, amount) in
        [(Direction::ToSpot, 101), (Direction::ToFunding, 51), (Direction::ToSpot, 1_000_000)]
    {
        let before = fixture.money(USER);
        let reply = fixture.post(&TransferRequest::new(USER, way, amount));
        let code = reply.text("code");
        assert_eq!(code, "INSUFFICIENT_BALANCE", "BAL-001: more than available: {reply:?}");
        assert_eq!((reply.status, reply.text("state")), (422, "FAILED"), "BAL-001: {reply:?}");
        assert_eq!(fixture.money(USER), before, "BAL-001: nothing changed");
    }
    fixture.sound("BAL-001");
}

/// Exactly what is available: it goes, and nothing is left.
pub(super) fn bal_002(setup: Setup) {
    let fixture = with(setup, 100, 50);
    for (way, amount, then) in
        [(Direction::ToFunding, 50, Money::at(150, 0)), (Direction::ToSpot, 150, Money::at(0, 150))]
    {
        let reply = fixture.post(&TransferRequest::new(USER, way, amount));
        assert_eq!(reply.status, 200, "BAL-002: all that is available may go: {reply:?}");
        assert_eq!(fixture.money(USER), then, "BAL-002: nothing is left behind");
    }
    fixture.sound("BAL-002");
}

/// Two at the same time that are more than the balance together: one goes, one is refused.
pub(super) fn bal_003(setup: Setup) {
    let fixture = with(setup, 100, 100);
    for way in Direction::BOTH {
        let before = fixture.money(USER);
        let sent = [
            fixture.send(&TransferRequest::new(USER, way, 60)),
            fixture.send(&TransferRequest::new(USER, way, 60)),
        ];
        let mut replies: Vec<Reply> = sent.into_iter().map(|sent| fixture.reply(sent)).collect();
        replies.sort_by_key(|reply| reply.status);
        let seen: Vec<_> = replies.iter().map(|r| (r.status, r.text("code"))).collect();
        let expected = [(200, ""), (422, "INSUFFICIENT_BALANCE")];
        assert_eq!(seen, expected, "BAL-003: one goes and one is refused: {replies:?}");
        assert_eq!(fixture.money(USER), super::after(before, way, 60), "BAL-003: one amount moved");
        let back = fixture.post(&TransferRequest::new(USER, other(way), 60));
        assert_eq!(back.status, 200, "BAL-003: {back:?}");
    }
    fixture.sound("BAL-003");
}

const fn other(way: Direction) -> Direction {
    match way {
        Direction::ToSpot => Direction::ToFunding,
        Direction::ToFunding => Direction::ToSpot,
    }
}

/// An account with this status pays nothing.
fn barred(id: &str, setup: &Setup, status: &str, code: &str) {
    let fixture = with(*setup, 100, 50);
    for way in Direction::BOTH {
        let before = fixture.money(USER);
        fixture.set_status(USER, way.source(), status);
        let reply = fixture.post(&TransferRequest::new(USER, way, 5));
        assert_eq!(reply.text("code"), code, "{id}: it pays nothing: {reply:?}");
        assert_eq!((reply.status, reply.text("state")), (422, "FAILED"), "{id}: {reply:?}");
        fixture.set_status(USER, way.source(), "ACTIVE");
        assert_eq!(fixture.money(USER), before, "{id}: nothing changed");
        let after = fixture.post(&TransferRequest::new(USER, way, 5));
        assert_eq!(after.status, 200, "{id}: it pays once it may: {after:?}");
    }
    fixture.sound(id);
}

/// From a frozen account.
pub(super) fn bal_004(setup: Setup) {
    barred("BAL-004", &setup, "FROZEN", "ACCOUNT_FROZEN");
}

/// From a disabled account.
pub(super) fn bal_005(setup: Setup) {
    barred("BAL-005", &setup, "DISABLED", "ACCOUNT_DISABLED");
}
