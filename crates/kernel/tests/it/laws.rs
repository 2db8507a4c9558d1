//! What each state of a flow between two ledgers says of the operations behind it.

use crate::pair::table;
use kernel::answer::Evidence;
use kernel::flow::life::Leg;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Serial, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::ports::journal::{KeyRow, Line};
use kernel::reconcile::{Break, Laws};
use kernel::record::{Account, Party, System};

const SOURCE: LedgerId = LedgerId::FUNDING;
const TARGET: LedgerId = LedgerId::SPOT;
const ID: Id = Id(7);

fn laws() -> Laws {
    Laws::of(&Flows(vec![table()]), vec![SOURCE])
}

fn user(n: u64) -> Account {
    Account::User(UserId(n))
}

fn op(leg: Leg) -> Op {
    let account = user(if leg == Leg::Deposit { 2 } else { 1 });
    Op { key: Key { id: ID, leg }, account, other: None, asset: AssetId(3), amount: Amount(100) }
}

fn stored(leg: Leg, outcome: StoredOutcome) -> (LedgerId, Operation) {
    let ledger = if leg == Leg::Deposit { TARGET } else { SOURCE };
    (ledger, Operation { seq: 5, op: op(leg), outcome })
}

fn done(leg: Leg) -> (LedgerId, Operation) {
    stored(leg, StoredOutcome::Done)
}

fn refused(leg: Leg) -> (LedgerId, Operation) {
    stored(leg, StoredOutcome::Rejected(Evidence::code("NO")))
}

fn line(state: &str, operations: Vec<(LedgerId, Operation)>) -> Line {
    let party = |ledger, n| Party {
        system: System::Ledger(ledger),
        account: user(n),
        asset: AssetId(3),
        amount: Amount(100),
    };
    Line {
        serial: Serial(1),
        id: ID,
        flow: FlowId(0),
        state: table().named(state).unwrap_or(99),
        source: party(SOURCE, 1),
        target: party(TARGET, 2),
        refund_fee: Amount::ZERO,
        key_row: KeyRow::Keyless,
        operations,
    }
}

/// What each state has, at least.
fn whole() -> Vec<(&'static str, Vec<(LedgerId, Operation)>)> {
    let (take, give) = (done(Leg::Withdraw), refused(Leg::Deposit));
    vec![
        ("begun", vec![]),
        ("taking", vec![]),
        ("taken", vec![take.clone()]),
        ("giving", vec![take.clone()]),
        ("given", vec![take.clone(), done(Leg::Deposit), done(Leg::Settle)]),
        ("refused", vec![refused(Leg::Withdraw)]),
        ("giving back", vec![take.clone(), give.clone()]),
        ("returned", vec![take, give, done(Leg::Refund)]),
    ]
}

fn says(breaks: &[Break], what: &str) {
    assert!(matches!(breaks, [one] if one.what.contains(what)), "{what}: {breaks:#?}");
}

/// Turns red where a state demands more than it has.
#[test]
fn every_state_is_sound_with_its_own() {
    for (state, operations) in whole() {
        assert_eq!(laws().line(&line(state, operations)), [], "{state}");
    }
    for (state, call) in [("taking", Leg::Withdraw), ("giving", Leg::Deposit)] {
        let begun = if state == "giving" { vec![done(Leg::Withdraw)] } else { vec![] };
        for made in [done(call), refused(call), stored(call, StoredOutcome::Fenced)] {
            let operations = begun.iter().cloned().chain([made]).collect();
            assert_eq!(laws().line(&line(state, operations)), [], "{state}");
        }
    }
}

/// Turns red where something that a state demands may be missing.
#[test]
fn nothing_that_a_state_demands_may_be_missing() {
    for (state, operations) in whole() {
        for n in 0..operations.len() {
            let mut rest = operations.clone();
            let (ledger, gone) = rest.remove(n);
            let breaks = laws().line(&line(state, rest));
            says(&breaks, "nothing says it was");
            let word = if gone.outcome == StoredOutcome::Done { "done" } else { "refused" };
            says(&breaks, &format!("{state}, and nothing says it was {word}"));
            let key = format!("{ID}/{}/{}", ledger.name(), gone.op.key.leg.name());
            assert_eq!(breaks.first().map(|one| (one.key.clone(), one.amount)), Some((key, 100)));
        }
    }
}

/// Turns red where a state takes an operation that it excludes, or a leg that no act has there.
#[test]
fn nothing_that_a_state_excludes_may_be_there() {
    let excluded = [
        ("begun", done(Leg::Withdraw)),
        ("begun", refused(Leg::Withdraw)),
        ("taken", done(Leg::Deposit)),
        ("taken", done(Leg::Settle)),
        ("giving", done(Leg::Refund)),
        ("giving back", done(Leg::Settle)),
    ];
    for (state, more) in excluded {
        let mut operations = whole().into_iter().find(|(name, _)| *name == state).unwrap().1;
        operations.push(more);
        says(&laws().line(&line(state, operations)), &format!("which {state} excludes"));
    }
    let elsewhere = [
        (TARGET, done(Leg::Withdraw).1),
        (SOURCE, done(Leg::Deposit).1),
        (SOURCE, done(Leg::Move).1),
    ];
    for (ledger, operation) in elsewhere {
        let operations = vec![done(Leg::Withdraw), (ledger, operation)];
        says(&laws().line(&line("giving", operations)), "no such leg there");
    }
}

/// Turns red where a settle is asked of, or taken from, a ledger that does not hold.
#[test]
fn a_settle_belongs_to_the_source_that_holds() {
    let given = |more: Vec<(LedgerId, Operation)>| {
        let mut operations = vec![done(Leg::Withdraw), done(Leg::Deposit)];
        operations.extend(more);
        line("given", operations)
    };
    let none = Laws::of(&Flows(vec![table()]), vec![]);
    assert_eq!(none.line(&given(vec![])), []);
    says(&none.line(&given(vec![done(Leg::Settle)])), "which given excludes");
    let settle = (TARGET, done(Leg::Settle).1);
    let both = Laws::of(&Flows(vec![table()]), vec![SOURCE, TARGET]);
    says(&both.line(&given(vec![done(Leg::Settle), settle])), "which given excludes");
}

/// Turns red where an operation may have another amount, asset or account than its transfer.
#[test]
fn an_operation_says_what_its_transfer_says() {
    let with = |change: &dyn Fn(&mut Op)| {
        let (ledger, mut operation) = done(Leg::Withdraw);
        change(&mut operation.op);
        laws().line(&line("taken", vec![(ledger, operation)]))
    };
    says(&with(&|op| op.amount = Amount(99)), "its amount is 99, the transfer's 100");
    says(&with(&|op| op.asset = AssetId(4)), "its asset is 4, the transfer's 3");
    says(&with(&|op| op.account = user(2)), "its account is");
    says(&with(&|op| op.other = Some(user(2))), "its account is");
    // a fence knows only the key
    let mut fence = stored(Leg::Deposit, StoredOutcome::Fenced);
    fence.1.op.amount = Amount::ZERO;
    let operations = vec![done(Leg::Withdraw), fence];
    assert_eq!(laws().line(&line("giving back", operations)), []);
}

#[test]
fn an_end_is_an_end_and_a_strange_state_is_named() {
    let ends = |state| laws().ended(&line(state, vec![]));
    assert_eq!([ends("given"), ends("returned"), ends("giving")], [true, true, false]);
    let strange = line("nowhere", vec![]);
    assert!(!laws().ended(&strange));
    says(&laws().line(&strange), "no such flow or state");
    assert_eq!(laws().line(&strange).first().map(|one| one.key.clone()), Some(ID.to_string()));
}

/// Turns red where an operation that a ledger lists is taken though the journal says otherwise.
#[test]
fn what_a_ledger_lists_is_matched() {
    let effect = |(ledger, operation): &(LedgerId, Operation), line: Option<&Line>| {
        let matched = laws().effect(*ledger, operation, line);
        (matched.receipt, matched.fault.map(|fault| (fault.amount, fault.what)))
    };
    let take = done(Leg::Withdraw);
    let taken = line("taken", vec![take.clone()]);
    assert_eq!(effect(&take, Some(&taken)), (true, None));
    // its call is open
    assert_eq!(effect(&take, Some(&line("taking", vec![]))), (false, None));
    let faulty =
        |listed: &(LedgerId, Operation), line: Option<&Line>, receipt: bool, what: &str| {
            let (found, fault) = effect(listed, line);
            let (amount, said) = fault.expect(what);
            assert!(found == receipt && said.contains(what), "{what}: {said}");
            assert_eq!(Some(amount), listed.1.op.amount.signed());
        };
    faulty(&take, None, false, "there is no such transfer");
    faulty(&take, Some(&line("taken", vec![])), false, "and no receipt of it");
    faulty(&take, Some(&line("begun", vec![])), false, "which begun excludes");
    faulty(&take, Some(&line("nowhere", vec![])), false, "no such flow or state");
    let early = line("begun", vec![take.clone()]);
    faulty(&take, Some(&early), true, "which begun excludes");
    let mut other = take.clone();
    other.1.seq = 6;
    faulty(&other, Some(&taken), true, "its receipt is");
    other.1 = Operation { seq: 5, op: Op { amount: Amount(1), ..op(Leg::Withdraw) }, ..take.1 };
    faulty(&other, Some(&taken), true, "its receipt is");
}

/// Turns red where a refusal is another one, or where its words must be the same.
#[test]
fn a_refusal_is_known_by_its_code() {
    let refusal =
        |code: &'static str| stored(Leg::Withdraw, StoredOutcome::Rejected(Evidence::code(code)));
    let line = line("refused", vec![refusal("NO")]);
    let fault = |(ledger, listed): (LedgerId, Operation)| {
        laws().effect(ledger, &listed, Some(&line)).fault.map(|fault| fault.what)
    };
    assert_eq!(fault(refusal("NO")), None);
    let (ledger, mut worded) = refusal("NO");
    if let StoredOutcome::Rejected(why) = &mut worded.outcome {
        why.doc = Some("in other words".into());
    }
    assert_eq!(fault((ledger, worded)), None);
    assert!(fault(refusal("YES")).is_some_and(|what| what.contains("its receipt is")));
    let (ledger, mut less) = refusal("NO");
    less.op.amount = Amount(1);
    assert!(fault((ledger, less)).is_some_and(|what| what.contains("its receipt is")));
    assert!(fault(stored(Leg::Withdraw, StoredOutcome::Fenced)).is_some());
}

/// An act on a chain has no place in a ledger.
#[test]
fn a_chain_has_no_operations() {
    let mut line = line("taken", vec![]);
    line.source.system = System::Chain(kernel::ids::ChainId(10));
    assert_eq!(laws().line(&line), []);
}

/// Turns red where a key without a row, or with a row that names another transfer, is in order.
#[test]
fn the_row_of_a_key_names_its_own_transfer() {
    for (key_row, what) in [
        (KeyRow::Keyless, None),
        (KeyRow::Names(Serial(1)), None),
        (KeyRow::Names(Serial(2)), Some("its client's key names transfer number 2")),
        (KeyRow::Missing, Some("its client's key has no row")),
    ] {
        let breaks = laws().line(&Line { key_row, ..line("begun", vec![]) });
        let Some(what) = what else {
            assert_eq!(breaks, [], "{key_row:?}");
            continue;
        };
        says(&breaks, what);
        let found = breaks.first().map(|one| (one.key.clone(), one.amount));
        assert_eq!(found, Some((format!("{ID}/key"), 0)));
    }
}
