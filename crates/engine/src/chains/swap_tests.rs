//! Tests of what an attempt of swaps may pay, and which transfers may share one, without a chain.

use crate::plan::planner::{FuseMode, Plan};
use flows::swaps::rules::PAYOUT_RESTED;
use kernel::attempt::{Attempt, AttemptId, Form, Lock, Purpose};
use kernel::flow::life::Leg;
use kernel::flow::table::{A, S};
use kernel::ids::{AssetId, ChainId, Id};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::chain::{Payment, SignRequest, Signed};
use kernel::record::{Account, Fact, Facts, Head, Party, Record, System, Terms};
use kernel::unit::Put;
use std::sync::Arc;

const USDC: AssetId = AssetId(5);
const USDD: AssetId = AssetId(6);

fn plan() -> Plan {
    Plan { flows: Arc::new(flows::registry()), capabilities: Default::default() }
}

fn party(chain: u8, account: &str, asset: AssetId, amount: u128) -> Party {
    let (system, account) = (System::Chain(ChainId(chain)), Account::Named(account.into()));
    Party { system, account, asset, amount: Amount(amount) }
}

/// A swap of 1000 for 990 at a fee of 10; a refund costs 4.
fn swap(plan: &Plan, flow: &str) -> Record {
    let owner = TransferOwner::Principal("sender".into());
    let (source, target) = (party(30, "sender", USDC, 1_000), party(31, "receiver", USDD, 990));
    let (fee, refund_fee) = (Amount(10), Amount(4));
    let between = Terms::between("watcher".into(), owner, source, target);
    let terms = Terms { fee, refund_fee, ..between };
    let flow = plan.flows.named(flow).unwrap();
    let start = plan.table(flow).start;
    Record::new(Id(1), flow, Head::start(start), Arc::new(terms))
}

fn act(plan: &Plan, record: &Record, name: &str) -> A {
    let table = plan.table(record.flow);
    let acts = table.all().filter_map(|state| table.makes(state));
    acts.into_iter().find(|act| table.act(*act).name == name).unwrap()
}

/// Why a form is refused that makes this payment.
fn refused(plan: &Plan, record: &Record, name: &'static str, pay: Payment) -> Option<String> {
    let form = Form {
        purpose: Purpose::Pay,
        name: b"form".as_slice().into(),
        bytes: b"form".as_slice().into(),
        repeatable: true,
        expires: None,
        anchor: None,
        reference: None,
    };
    let request = SignRequest {
        flow: plan.table(record.flow).flow,
        act: name,
        lane: "vault".into(),
        lock: Lock::from("1"),
        members: vec![record.clone()].into(),
        purpose: Purpose::Pay,
        forms: Vec::new(),
    };
    plan.mismatch(act(plan, record, name), &request, &Signed { form, pays: vec![pay] })
}

fn pays(account: &str, asset: AssetId, amount: u128) -> Payment {
    Payment { account: Account::Named(account.into()), asset, amount: Amount(amount) }
}

const QUARANTINES: [(&str, &str); 2] =
    [("swap_in", "quarantine USDC"), ("swap_out", "quarantine USDD")];

/// Turns red where money to be quarantined is compared with the account that it came from.
#[test]
fn a_quarantine_pays_all_of_it_to_an_account_of_ours() {
    let plan = plan();
    for (flow, name) in QUARANTINES {
        let record = swap(&plan, flow);
        let refused = |pay| refused(&plan, &record, name, pay);
        assert_eq!(refused(pays("quarantine", USDC, 1_000)), None);
        for wrong in [
            pays("quarantine", USDC, 990),
            pays("quarantine", USDC, 1_001),
            pays("quarantine", USDD, 1_000),
        ] {
            assert!(refused(wrong.clone()).is_some(), "{wrong:?}");
        }
    }
}

/// Turns red where what should be quarantined may be paid to one of the two who wait for it.
#[test]
fn a_quarantine_pays_neither_party() {
    let plan = plan();
    for (flow, name) in QUARANTINES {
        let record = swap(&plan, flow);
        for own in ["sender", "receiver"] {
            let why = refused(&plan, &record, name, pays(own, USDC, 1_000)).unwrap();
            assert!(why.contains("an account of ours"), "{why}");
        }
        let unnamed = Payment { account: Account::Unnamed, ..pays("", USDC, 1_000) };
        assert!(refused(&plan, &record, name, unnamed).is_some());
    }
}

/// Turns red where another act of a swap may pay an account of ours, or a stranger.
#[test]
fn every_other_act_pays_its_own_party() {
    let plan = plan();
    for (flow, name, right) in [
        ("swap_in", "debit USDD", pays("receiver", USDD, 990)),
        ("swap_in", "void", pays("receiver", USDD, 0)),
        ("swap_in", "refund USDC", pays("sender", USDC, 996)),
        ("swap_out", "pay USDC", pays("receiver", USDD, 990)),
        ("swap_out", "void refund", pays("sender", USDC, 0)),
        ("swap_out", "refund USDD", pays("sender", USDC, 996)),
    ] {
        let record = swap(&plan, flow);
        assert_eq!(refused(&plan, &record, name, right.clone()), None, "{name}");
        let ours = Payment { account: Account::Named("quarantine".into()), ..right };
        let why = refused(&plan, &record, name, ours).unwrap();
        assert!(why.contains("to quarantine"), "{why}");
    }
}

/// Turns red where a rule between two attempts has one that spoiled the first join the next in company: there
/// it spoils the others' attempts too, until they are given up.
#[test]
fn one_that_spoiled_stays_alone_until_its_next_attempt() {
    let plan = plan();
    let facts = Facts::from([(PAYOUT_RESTED, Fact::Flag(true))]);
    for (alone, deaths, stays) in [(true, 0, true), (false, 0, false), (true, 1, false)] {
        let mut record = swap(&plan, "swap_in");
        let table = plan.table(record.flow);
        let dead = table.named("debit dead").unwrap();
        record.head = Head { alone, deaths, ..Head::start(dead) };
        let planned = plan.resume(&record, FuseMode::Plain, Some(&facts)).unwrap();
        assert_eq!(table.state(planned.next.otherwise.state).name, "accepted");
        assert_eq!(planned.next.otherwise.alone, stays, "{alone} {deaths}");
        let heads = planned.unit.then.puts.iter().filter_map(|put| {
            let Put::Head { head, .. } = put else { return None };
            Some(head.alone)
        });
        assert!(heads.eq([stays]), "what is stored");
    }
}

/// Attempts of two flows and of two acts on one chain: each is what its own flow and state say.
#[test]
fn each_attempt_moves_what_its_own_state_says() {
    let plan = plan();
    let attempt = |flow: &str, name: &str| {
        let record = swap(&plan, flow);
        let table = plan.table(record.flow);
        let makes = |state: &S| table.makes(*state).is_some_and(|act| table.act(act).name == name);
        Attempt {
            id: AttemptId(1),
            chain: ChainId(30),
            flow: record.flow,
            state: table.all().find(makes).unwrap(),
            version: Attempt::FIRST,
            lane: "vault".into(),
            lock: Lock::from("1"),
            members: vec![record].into(),
            forms: Vec::new(),
            sent: false,
            due_at: None,
            closed: None,
        }
    };
    for (flow, name) in QUARANTINES {
        let moves = plan.moves_in(&attempt(flow, name));
        assert_eq!(moves, [(Id(1), Leg::Quarantine)], "{flow}");
    }
    let back = plan.moves_in(&attempt("swap_in", "refund USDC"));
    assert_eq!(back, [(Id(1), Leg::Refund)]);
}
