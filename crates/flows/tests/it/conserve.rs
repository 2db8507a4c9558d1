//! What conservation demands of an internal transfer in each state, and the change that breaks it.

use flows::registry;
use kernel::answer::Evidence;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Serial, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::ports::journal::{KeyRow, Line};
use kernel::reconcile::{Laws, Matched};
use kernel::record::{Account, Party, System};

const FUNDING: LedgerId = LedgerId::FUNDING;
const SPOT: LedgerId = LedgerId::SPOT;

fn laws() -> Laws {
    Laws::of(&registry(), vec![FUNDING])
}

fn refused() -> StoredOutcome {
    StoredOutcome::Rejected(Evidence::code("ACCOUNT_DISABLED"))
}

fn operation(leg: Leg, outcome: StoredOutcome) -> Operation {
    let op = Op {
        key: Key { id: Id(7), leg },
        account: Account::User(UserId(4)),
        other: None,
        asset: AssetId(3),
        amount: Amount(100),
    };
    Operation { seq: 5, op, outcome }
}

/// A transfer in a state, with these operations.
fn line(
    from: LedgerId,
    to: LedgerId,
    state: &str,
    done: &[(LedgerId, Leg, StoredOutcome)],
) -> Line {
    let flow = registry().0.swap_remove(0);
    let party = |ledger| Party {
        system: System::Ledger(ledger),
        account: Account::User(UserId(4)),
        asset: AssetId(3),
        amount: Amount(100),
    };
    Line {
        serial: Serial(1),
        id: Id(7),
        flow: FlowId(0),
        state: flow.named(state).unwrap_or(u8::MAX),
        source: party(from),
        target: party(to),
        refund_fee: Amount::ZERO,
        key_row: KeyRow::Keyless,
        operations: done.iter().map(|(at, leg, o)| (*at, operation(*leg, o.clone()))).collect(),
    }
}

/// The keys of what is broken, without the transfer.
fn broken(line: &Line) -> Vec<String> {
    let breaks = laws().line(line);
    for b in &breaks {
        assert_eq!(b.amount, 100, "{b:?}");
        assert!(b.what.starts_with(&b.key), "{b:?}");
    }
    breaks.iter().filter_map(|b| b.key.split_once('/').map(|key| key.1.to_owned())).collect()
}

/// Every state with what it demands, both ways.
fn sound() -> Vec<Line> {
    use Leg::{Deposit, Refund, Settle, Withdraw};
    use StoredOutcome::Done;
    let mut lines = Vec::new();
    for (from, to) in [(FUNDING, SPOT), (SPOT, FUNDING)] {
        let withdrawn = (from, Withdraw, Done);
        let mut committed = vec![withdrawn.clone(), (to, Deposit, Done)];
        if from == FUNDING {
            committed.push((FUNDING, Settle, Done));
        }
        let compensating = vec![withdrawn.clone(), (to, Deposit, refused())];
        let mut rolled_back = compensating.clone();
        rolled_back.push((from, Refund, Done));
        let states = [
            ("INIT", vec![]),
            ("SOURCE_PENDING", vec![]),
            ("SOURCE_DONE", vec![withdrawn.clone()]),
            ("TARGET_PENDING", vec![withdrawn]),
            ("COMMITTED", committed),
            ("FAILED", vec![(from, Withdraw, refused())]),
            ("COMPENSATING", compensating),
            ("ROLLED_BACK", rolled_back),
        ];
        lines.extend(states.iter().map(|(state, done)| line(from, to, state, done)));
    }
    lines
}

#[test]
fn what_a_state_demands_is_no_break() {
    for line in sound() {
        assert_eq!(broken(&line), [""; 0], "{line:?}");
    }
}

#[test]
fn a_receipt_may_be_stored_while_its_call_is_open() {
    for outcome in [StoredOutcome::Done, refused(), StoredOutcome::Fenced] {
        let pending =
            line(SPOT, FUNDING, "SOURCE_PENDING", &[(SPOT, Leg::Withdraw, outcome.clone())]);
        assert_eq!(broken(&pending), [""; 0]);
        let withdrawn = (FUNDING, Leg::Withdraw, StoredOutcome::Done);
        let pending = [withdrawn, (SPOT, Leg::Deposit, outcome)];
        assert_eq!(broken(&line(FUNDING, SPOT, "TARGET_PENDING", &pending)), [""; 0]);
    }
}

#[test]
fn an_operation_fewer_is_a_break_in_every_state() {
    for sound in sound() {
        for n in 0..sound.operations.len() {
            let mut fewer = sound.clone();
            let (ledger, gone) = fewer.operations.remove(n);
            let key = format!("{}/{}", ledger.name(), gone.op.key.leg.name());
            assert_eq!(broken(&fewer), [key], "{fewer:?}");
        }
    }
}

#[test]
fn an_operation_more_is_a_break_in_every_state() {
    let flows = registry();
    for sound in sound() {
        for leg in Leg::ALL {
            for outcome in [StoredOutcome::Done, refused(), StoredOutcome::Fenced] {
                for ledger in [FUNDING, SPOT, LedgerId::MARGIN] {
                    let there =
                        |(at, op): &(LedgerId, Operation)| *at == ledger && op.op.key.leg == *leg;
                    let state = flows.0[0].state(sound.state).name;
                    let open = matches!(
                        (state, leg),
                        ("SOURCE_PENDING", Leg::Withdraw) | ("TARGET_PENDING", Leg::Deposit)
                    ) || (state, *leg) == ("COMPENSATING", Leg::Refund);
                    if open || sound.operations.iter().any(there) {
                        continue;
                    }
                    let mut more = sound.clone();
                    more.operations.push((ledger, operation(*leg, outcome.clone())));
                    let key = format!("{}/{}", ledger.name(), leg.name());
                    assert_eq!(broken(&more), [key], "{more:?}");
                }
            }
        }
    }
}

#[test]
fn an_operation_changed_is_a_break_in_every_state() {
    for sound in sound() {
        for n in 0..sound.operations.len() {
            let changes: [fn(&mut Operation); 4] = [
                |o| o.op.amount = Amount(101),
                |o| o.op.asset = AssetId(4),
                |o| o.op.account = Account::User(UserId(5)),
                |o| {
                    o.outcome = if o.outcome == StoredOutcome::Done {
                        refused()
                    } else {
                        StoredOutcome::Done
                    };
                },
            ];
            for change in changes {
                let mut changed = sound.clone();
                change(&mut changed.operations[n].1);
                assert!(!broken(&changed).is_empty(), "{changed:?}");
            }
        }
    }
}

#[test]
fn a_settle_is_demanded_where_a_withdraw_only_holds() {
    let committed = |operations: &[(LedgerId, Leg, StoredOutcome)]| {
        let line = line(FUNDING, SPOT, "COMMITTED", operations);
        Laws::of(&registry(), vec![]).line(&line).len()
    };
    let both =
        [(FUNDING, Leg::Withdraw, StoredOutcome::Done), (SPOT, Leg::Deposit, StoredOutcome::Done)];
    assert_eq!(committed(&both), 0, "nothing to settle where nothing is held");
}

fn matched(line: Option<&Line>, op: &Operation) -> Matched {
    laws().effect(SPOT, op, line)
}

#[test]
fn an_effect_without_a_receipt_waits_while_its_call_is_open() {
    let deposit = operation(Leg::Deposit, StoredOutcome::Done);
    let open =
        line(FUNDING, SPOT, "TARGET_PENDING", &[(FUNDING, Leg::Withdraw, StoredOutcome::Done)]);
    assert_eq!(matched(Some(&open), &deposit), Matched { receipt: false, fault: None });
    for state in ["INIT", "SOURCE_PENDING", "SOURCE_DONE", "COMMITTED", "FAILED", "ROLLED_BACK"] {
        let line = line(FUNDING, SPOT, state, &[]);
        let found = matched(Some(&line), &deposit);
        assert!(found.fault.is_some() && !found.receipt, "{state}: {found:?}");
    }
}

#[test]
fn an_effect_without_a_transfer_is_a_break() {
    let found = matched(None, &operation(Leg::Withdraw, StoredOutcome::Done));
    let fault = found.fault.unwrap();
    assert_eq!(
        (fault.key.as_str(), fault.amount),
        ("00000000000000000000000007/SPOT/WITHDRAW", 100)
    );
}

#[test]
fn an_effect_is_what_the_transfer_claimed() {
    let open = line(FUNDING, SPOT, "TARGET_PENDING", &[]);
    let mut changed = vec![operation(Leg::Deposit, StoredOutcome::Done); 3];
    changed[0].op.amount = Amount(99);
    changed[1].op.asset = AssetId(1);
    changed[2].op.account = Account::User(UserId(9));
    // legs that this transfer has at the other ledger, or nowhere
    for leg in [Leg::Withdraw, Leg::Refund, Leg::Settle, Leg::Move] {
        changed.push(operation(leg, StoredOutcome::Done));
    }
    for op in changed {
        assert!(matched(Some(&open), &op).fault.is_some(), "{op:?}");
    }
}

#[test]
fn a_receipt_says_what_the_ledger_says() {
    let done = line(SPOT, FUNDING, "SOURCE_DONE", &[(SPOT, Leg::Withdraw, StoredOutcome::Done)]);
    let op = operation(Leg::Withdraw, StoredOutcome::Done);
    assert_eq!(matched(Some(&done), &op), Matched { receipt: true, fault: None });
    let mut other = vec![op.clone(), op.clone(), op.clone(), op];
    other[0].seq = 6;
    other[1].op.amount = Amount(99);
    other[2].outcome = refused();
    other[3].outcome = StoredOutcome::Fenced;
    for op in other {
        let found = matched(Some(&done), &op);
        assert!(found.receipt && found.fault.is_some(), "{op:?}");
    }
    let failed = line(SPOT, FUNDING, "FAILED", &[(SPOT, Leg::Withdraw, StoredOutcome::Fenced)]);
    let mut fence = operation(Leg::Withdraw, StoredOutcome::Fenced);
    fence.op.amount = Amount(0);
    assert_eq!(matched(Some(&failed), &fence), Matched { receipt: true, fault: None });
}
