//! Concurrency (§10.6): callers at the same time: money is spent once.

use super::{USER, after, fund, with};
use crate::fixture::points::Fault;
use crate::fixture::{Direction, Money, Setup, TransferRequest};
use kernel::flow::life::Leg;
use kernel::unit::{Guard, Hold, Put, Then, Unit, Wrote};

/// Several workers on one transfer: only one compare-and-swap wins, the others skip.
pub(super) fn con_001(setup: Setup) {
    one_swap(setup);
    // the same with whole engines that take what another one holds; who is asked does not always
    // hear of the end
    let fixture = with(Setup { rivals: 2, timeout_ms: 50, ..setup }, 100, 50);
    for way in Direction::BOTH {
        let before = fixture.money(USER);
        fixture.control().hinder(way.source(), Leg::Withdraw, Fault::LoseReply, 4);
        fixture.control().hinder(way.target(), Leg::Deposit, Fault::LoseReply, 8);
        let reply = fixture.post(&TransferRequest::new(USER, way, 5));
        let story = fixture.reaches(USER, reply.id(), "COMMITTED");
        fixture.control().heal();
        assert_eq!(story.state, "COMMITTED", "CON-001: it ends");
        assert_eq!(story.path.len(), 5, "CON-001: each step is taken once: {story:?}");
        assert!(story.is_legal(), "CON-001: each step follows from the one before: {story:?}");
        assert_eq!(fixture.money(USER), after(before, way, 5), "CON-001: it arrived once");
    }
    fixture.sound("CON-001");
}

/// Eight workers that believe the same write the same step.
fn one_swap(setup: Setup) {
    let mut fixture = with(Setup { timeout_ms: 20, ..setup }, 100, 50);
    let before = fixture.money(USER);
    let ask = TransferRequest::new(USER, Direction::ToSpot, 5);
    fixture.control().hinder(Direction::ToSpot.target(), Leg::Deposit, Fault::HangBefore, 1);
    let reply = fixture.post(&ask);
    let id = reply.id();
    assert_eq!(fixture.reaches(USER, id, "TARGET_PENDING").state, "TARGET_PENDING");
    let record = fixture.journal(async |journal| journal.get(vec![id]).await);
    let record = record.expect("the journal answers").pop().expect("the transfer is there");
    let mut head = record.head;
    head.version += 1;
    let step = || Unit {
        guards: vec![Guard::Transfer {
            id,
            state: record.head.state,
            version: record.head.version,
        }],
        then: Then {
            puts: vec![Put::Head { id, head, error: None, hold: Hold::Free }],
            ..Then::default()
        },
    };
    let wrote = fixture.race(8, step);
    let won = wrote.iter().filter(|wrote| matches!(wrote, Wrote::Written(_))).count();
    assert_eq!(won, 1, "CON-001: one compare-and-swap wins: {wrote:?}");
    let lost = wrote.iter().filter(|w| matches!(w, Wrote::Lost(Guard::Transfer { .. }))).count();
    assert_eq!(lost, 7, "CON-001: the others are told that they lost: {wrote:?}");
    // whoever won went away without carrying it on
    fixture.crash();
    assert_eq!(fixture.reaches(USER, id, "COMMITTED").state, "COMMITTED", "CON-001: it goes on");
    assert_eq!(fixture.money(USER), after(before, ask.way, 5), "CON-001: it arrived once");
    fixture.sound("CON-001");
}

/// Two requests of the same amount at the same time: two transfers, both executed.
pub(super) fn con_002(setup: Setup) {
    let fixture = with(setup, 100, 50);
    for (way, keyed) in
        [(Direction::ToSpot, true), (Direction::ToFunding, true), (Direction::ToSpot, false)]
    {
        let before = fixture.money(USER);
        let ask = |n: u8| match keyed {
            true => {
                TransferRequest::new(USER, way, 8).keyed(format!("{}-{n}", way.source().name()))
            }
            false => TransferRequest::new(USER, way, 8),
        };
        let (first, second) = (fixture.send(&ask(1)), fixture.send(&ask(2)));
        let (first, second) = (fixture.reply(first), fixture.reply(second));
        let both = [first.status, second.status];
        assert_eq!(both, [200, 200], "CON-002: both are executed: {first:?} {second:?}");
        assert_ne!(first.id(), second.id(), "CON-002: they are two transfers");
        assert_eq!(fixture.money(USER), after(before, way, 16), "CON-002: both amounts moved");
    }
    fixture.sound("CON-002");
}

/// A transfer and an external withdrawal of the whole balance: together they take no more than
/// there was.
pub(super) fn con_003(setup: Setup) {
    let fixture = with(setup, 0, 1);
    for round in 0..12 {
        fixture.deposit(USER, 40, &format!("round-{round}"));
        let before = fixture.money(USER);
        let ask = TransferRequest::new(USER, Direction::ToSpot, 40);
        // the first ones in a known order, the others as it happens
        let (moved, paid) = match round {
            0 => {
                let moved = fixture.post(&ask);
                (moved, fixture.external("withdrawals", USER, 40, "out-0"))
            }
            1 => {
                let paid = fixture.external("withdrawals", USER, 40, "out-1");
                (fixture.post(&ask), paid)
            }
            _ => {
                let paid = fixture.send_withdrawal(USER, 40, &format!("out-{round}"));
                let moved = fixture.send(&ask);
                (fixture.reply(moved), fixture.reply(paid))
            }
        };
        let outcome = (moved.status, paid.status);
        assert!(
            matches!(outcome, (200, 422) | (422, 201)),
            "CON-003: one of the two is refused: {moved:?} {paid:?}"
        );
        let spot = before.spot + if moved.status == 200 { 40 } else { 0 };
        assert_eq!(fixture.money(USER), Money::at(0, spot), "CON-003: the balance is spent once");
    }
    fixture.sound("CON-003");
}

/// Many transfers of more than half the balance: one gets it.
pub(super) fn con_004(setup: Setup) {
    let fixture = with(setup, 1, 0);
    for (user, way) in [(USER + 1, Direction::ToSpot), (USER + 2, Direction::ToFunding)] {
        let (funding, spot) = if way == Direction::ToSpot { (100, 1) } else { (1, 100) };
        fund(&fixture, user, funding, spot);
        let sent: Vec<_> =
            (0..12).map(|_| fixture.send(&TransferRequest::new(user, way, 60))).collect();
        let replies: Vec<_> = sent.into_iter().map(|sent| fixture.reply(sent)).collect();
        let done = replies.iter().filter(|reply| reply.status == 200).count();
        assert_eq!(done, 1, "CON-004: no double deduction, {way:?}: {replies:?}");
        let refused = |code: &str| code == "INSUFFICIENT_BALANCE";
        let others = replies.iter().filter(|reply| refused(reply.text("code"))).count();
        assert_eq!(others, 11, "CON-004: the others are refused: {replies:?}");
        let money = after(Money::at(funding, spot), way, 60);
        assert_eq!(fixture.money(user), money, "CON-004: the balance is spent once");
    }
    fixture.sound("CON-004");
}
