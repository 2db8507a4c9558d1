//! The toy's table: it holds, its diagram is exact, its rules wait, its crash points are listed.

use crate::toy::{Rule, State, rule_fact};
use expect_test::expect;
use kernel::flow::life::{Life, Ruling, Step, Via, Word};
use kernel::flow::table::Table;
use kernel::flow::{check, dataflow, mermaid};
use kernel::ids::{AssetId, ChainId, FlowId, Id, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::record::{Account, Fact, Facts, Head, Party, Record, System, Terms};
use std::collections::BTreeSet;
use std::sync::Arc;
use tables::crash_points::{self, Moment};

/// A transfer of the toy.
pub(crate) fn record(id: u128) -> Record {
    let party = |chain, name: &str, amount| Party {
        system: System::Chain(ChainId(chain)),
        account: Account::Named(name.into()),
        asset: AssetId(1),
        amount: Amount(amount),
    };
    let (source, target) = (party(30, "from", 100), party(31, "to", 99));
    let between = Terms::between("test|1".into(), TransferOwner::User(UserId(1)), source, target);
    let terms = Terms { fee: Amount(1), refund_fee: Amount(2), ..between };
    Record::new(Id(id), FlowId(0), Head::start(0), Arc::new(terms))
}

#[test]
fn the_table_holds() {
    assert_eq!(check::faults(&Table::of::<State>()), [""; 0]);
}

#[test]
fn the_diagram() {
    expect![[r#"
        stateDiagram-v2
            state "sent, not seen" as sent__not_seen
            state "payout dead" as payout_dead
            state "to refund" as to_refund
            state "refund ready" as refund_ready
            state "move ready" as move_ready
            state "moving out" as moving_out
            state "moved out" as moved_out
            [*] --> found
            found --> ready: receiver known yes
            found --> to_refund: receiver known no
            ready --> sending: claim
            sending --> sent: pay done
            sending --> to_refund: pay rejected
            sending --> payout_dead: pay dead
            sending --> sent__not_seen: pay unknown
            sent__not_seen --> sent: pay done
            sent__not_seen --> to_refund: pay rejected
            sent__not_seen --> payout_dead: pay dead
            sent__not_seen --> sent__not_seen: pay unknown
            payout_dead --> ready: try again yes
            payout_dead --> to_refund: try again no
            sent --> paid: arrived? done
            sent --> expired: arrived? rejected
            sent --> sent: arrived? unknown
            expired --> voiding: claim
            voiding --> to_refund: void done
            voiding --> sent: void rejected
            voiding --> expired: void dead
            voiding --> voiding: void unknown
            paid --> [*]
            to_refund --> refund_ready: refund possible yes
            to_refund --> held: refund possible no
            refund_ready --> refunding: claim
            refunding --> refunded: refund done
            refunding --> to_refund: refund rejected
            refunding --> to_refund: refund dead
            refunding --> refunding: refund unknown
            refunded --> [*]
            held --> move_ready: move out, not refund yes
            held --> to_refund: move out, not refund no
            move_ready --> moving_out: claim
            moving_out --> moved_out: move out done
            moving_out --> held: move out rejected
            moving_out --> held: move out dead
            moving_out --> moving_out: move out unknown
            moved_out --> [*]
    "#]]
    .assert_eq(&mermaid::draw(&Table::of::<State>()));
}

#[test]
fn the_diagram_is_the_table() {
    let table = Table::of::<State>();
    let drawn: BTreeSet<String> = mermaid::draw(&table).lines().map(str::to_owned).collect();
    let mut wanted = BTreeSet::from(["stateDiagram-v2".to_owned()]);
    let id = |s| mermaid::id(table.state(s).name);
    wanted.insert(format!("    [*] --> {}", id(table.start)));
    for s in table.all() {
        if id(s) != table.state(s).name {
            wanted.insert(format!("    state \"{}\" as {}", table.state(s).name, id(s)));
        }
        if table.ends(s) {
            wanted.insert(format!("    {} --> [*]", id(s)));
        }
    }
    for line in drawn.difference(&wanted) {
        let (from, rest) = line.trim().split_once(" --> ").expect("an arrow");
        let (to, label) = rest.split_once(": ").expect("a label");
        let (what, via) = label.rsplit_once(' ').unwrap_or(("", label));
        let s = table.all().find(|s| id(*s) == from).expect("a state");
        let edge = table.edges(s).into_iter().find(|e| format!("{:?}", e.0).to_lowercase() == via);
        let (_, leads) = edge.expect("an edge of that state");
        assert_eq!(id(leads), to, "{line}");
        let ruled = matches!(table.step(s), Step::Decide { rule, .. } if table.rules[usize::from(rule)] == what);
        let made = table.makes(s).map_or("", |a| table.act(a).name);
        assert!(ruled || made == what, "{line}");
    }
    let edges: usize = table.all().map(|s| table.edges(s).len()).sum();
    assert_eq!(drawn.difference(&wanted).count(), edges);
    assert_eq!(wanted.difference(&drawn).count(), 0);
}

#[test]
fn a_rule_waits_for_its_fact() {
    let record = record(1);
    let table = Table::of::<State>();
    for (r, rule) in (0..).zip([Rule::Mapped, Rule::TryAgain, Rule::MayRefund, Rule::Release]) {
        let ask = |fact: Option<Fact>| {
            let facts: Facts = fact.into_iter().map(|fact| (rule_fact(rule), fact)).collect();
            (table.rule)(r, &record, &facts)
        };
        if rule == Rule::MayRefund {
            assert_eq!(ask(None), Ruling::Yes, "decides from the record alone");
            continue;
        }
        assert_eq!(ask(None), Ruling::NotYet, "{rule:?}");
        assert_eq!(ask(Some(Fact::Number(1))), Ruling::NotYet, "{rule:?}");
        assert_eq!(ask(Some(Fact::Flag(true))), Ruling::Yes, "{rule:?}");
        assert_eq!(ask(Some(Fact::Flag(false))), Ruling::No, "{rule:?}");
    }
    assert_eq!((table.rule)(99, &record, &Facts::new()), Ruling::NotYet, "no such rule");
}

#[test]
fn the_crash_points_of_a_send() {
    let table = Table::of::<State>();
    let points = crash_points::of(&table);
    let at = |state: State, via: Option<Via>| -> Vec<Moment> {
        let s = table.named(state.name()).unwrap();
        points.iter().filter(|p| p.state == s && p.via == via).map(|p| p.moment).collect()
    };
    use Moment::*;
    let claim = [BeforeWrite, SignedNotStored, TornWrite, AfterWrite];
    assert_eq!(at(State::Ready, Some(Via::Claim)), claim);
    let call = [BeforeSend, ReplyLost, ReplyNotStored, ProofNotStored];
    for state in [State::Sending, State::Awaiting, State::Voiding, State::Refunding, State::Moving]
    {
        assert_eq!(at(state, None), call, "{state:?}");
        for via in [Via::Done, Via::Rejected, Via::Dead] {
            assert_eq!(at(state, Some(via)), [TornWrite, AfterWrite], "{state:?} {via:?}");
        }
        assert_eq!(at(state, Some(Via::Unknown)), [], "{state:?}");
    }
    assert_eq!(at(State::Sent, None), [BeforeSend, ReplyLost, ReplyNotStored]);
    assert_eq!(at(State::Found, None), [BeforeWrite]);
    assert_eq!(at(State::Found, Some(Via::No)), [TornWrite, AfterWrite]);
    assert_eq!(at(State::Paid, None), []);
    assert_eq!(points.len(), 93);
}

/// Turns red where a claimed send has no effect yet, or what was taken back still has one.
#[test]
fn what_may_stand_when_a_state_is_entered() {
    let table = Table::of::<State>();
    let possible = dataflow::possible(&table);
    let at = |state: State| -> Vec<&str> {
        let s = table.named(state.name()).unwrap();
        possible.at(s).iter().map(|act| table.act(*act).name).collect()
    };
    assert_eq!(at(State::Ready), [""; 0]);
    assert_eq!(at(State::Sending), ["pay"]);
    assert_eq!(at(State::Paid), ["pay"]);
    assert_eq!(at(State::Voiding), ["pay", "void"]);
    assert_eq!(at(State::ToRefund), [""; 0]);
    assert_eq!(at(State::Refunding), ["refund"]);
    assert_eq!(at(State::Refunded), ["refund"]);
    assert_eq!(at(State::MovedOut), ["move out"]);
}

#[test]
fn stored_numbers_find_their_states() {
    let table = Table::of::<State>();
    for s in table.all() {
        assert_eq!(table.coded(table.state(s).code), Some(s));
        assert_eq!(table.named(table.state(s).name), Some(s));
    }
    assert_eq!(table.coded(1234), None);
    assert_eq!(table.state(table.start).name, State::START.name());
}
