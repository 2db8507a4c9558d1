//! What a unit of writing says of itself: everything that it may write, and the way that an answer
//! chooses.

use crate::{pair, table, toy};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::flow::life::Leg;
use kernel::flow::table::{Flows, Table};
use kernel::ids::{AssetId, FlowId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::record::{Account, Head};
use kernel::unit::{Fork, Guard, Hold, Put, Then, Unit};
use std::ptr;

fn op() -> Op {
    Op {
        key: Key { id: Id(7), leg: Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset: AssetId(1),
        amount: Amount(5),
    }
}

fn fork(rejected: Option<Then>) -> Fork {
    Fork { ledger: LedgerId::FUNDING, op: op(), done: Then::default(), rejected }
}

#[test]
fn a_unit_writes_its_own_part_and_both_ways() {
    let guarded = || Unit::guarded(vec![Guard::Pending(Id(1))], vec![Put::Unpause(1)]);
    assert_eq!((guarded().guards.len(), guarded().then.puts.len()), (1, 1));
    let free = Unit::puts(vec![Put::Unpause(1), Put::Unpause(2)]);
    assert_eq!((free.guards.len(), free.then.puts.len(), free.thens().count()), (0, 2, 1));
    let mut forked = guarded();
    forked.then.fork = Some(Box::new(fork(Some(Then::default()))));
    assert_eq!(forked.thens().count(), 3);
    forked.then.fork = Some(Box::new(fork(None)));
    assert_eq!(forked.thens().count(), 2);
}

#[test]
fn an_answer_chooses_the_way_that_is_spelled_for_it() {
    let (done, evidence) = (Answer::Done(Receipt::seq(1)), Evidence::code("NO"));
    let refused = Answer::Rejected(evidence.clone(), Receipt::seq(1));
    let both = fork(Some(Then::default()));
    assert!(both.chosen(&done).is_some_and(|way| ptr::eq(way, &raw const both.done)));
    let way = both.chosen(&refused).map(ptr::from_ref);
    assert_eq!(way, both.rejected.as_ref().map(ptr::from_ref));
    assert!(fork(None).chosen(&refused).is_none(), "a push cannot be refused");
    for unknown in [Answer::Dead(evidence), Answer::Unknown(Cause::of("TIMEOUT"))] {
        assert!(both.chosen(&unknown).is_none(), "{unknown:?}");
    }
}

#[test]
fn a_row_of_a_transfer_names_it() {
    let head = Head::start(0);
    let operation = Operation { seq: 1, op: op(), outcome: StoredOutcome::Done };
    let all = [
        (Put::Open(table::record(7)), Some(Id(7))),
        (Put::Head { id: Id(7), head, error: None, hold: Hold::Mine }, Some(Id(7))),
        (Put::Receipt { ledger: LedgerId::SPOT, operation }, Some(Id(7))),
        (Put::Horizon(Id(7)), None),
        (Put::Unpause(7), None),
    ];
    for (put, id) in all {
        assert_eq!(put.transfer(), id, "{put:?}");
    }
}

#[test]
fn a_flow_is_found_by_its_name() {
    let flows = Flows(vec![Table::of::<toy::State>(), pair::table()]);
    assert_eq!(flows.named("toy"), Some(FlowId(0)));
    assert_eq!(flows.named("pair"), Some(FlowId(1)));
    assert_eq!(flows.named("swap"), None);
}
