//! Tests the decisions of the core rule by rule, where the suite of all ledgers does not reach.

use super::*;
use kernel::operation::{Known, StoredOutcome};
use kernel::ports::ledger::Stored;

#[test]
fn deciding_changes_nothing() {
    let core = born();
    let before = core.clone();
    let request = Request {
        known: core.known(),
        halt: None,
        command: Command::Execute([op(1, Leg::Deposit, 7, 5)].into()),
    };
    let decided = core.decide([&request]);
    assert_eq!(decided.records.len(), 1);
    assert_eq!(core, before);
}

#[test]
fn a_refusal_is_numbered_and_final_and_moves_nothing() {
    let mut core = born();
    let missing = op(1, Leg::Withdraw, 7, 5);
    assert_eq!(core.one(missing.clone()), refused("SOURCE_ACCOUNT_NOT_FOUND", 1));
    assert!(core.accounts.is_empty());
    assert_eq!(core.one(op(2, Leg::Deposit, 7, 5)), done(2));
    assert_eq!(core.one(missing), refused("SOURCE_ACCOUNT_NOT_FOUND", 1));
    assert_eq!(core.one(op(3, Leg::Withdraw, 7, 6)), refused("INSUFFICIENT_BALANCE", 3));
    assert_eq!((core.balance(7), core.sequence), (5, 3));
    core.whole();
}

/// Wrong builds that turn it red: a number that is compared with what the batch began with; a lower number that is
/// taken.
#[test]
fn who_does_not_know_of_a_halt_moves_nothing() {
    let mut core = born();
    let numbered = |core: &mut Core, requests: &[(Option<u64>, Command)]| {
        let known = core.known();
        let request = |(halt, command): &(Option<u64>, Command)| Request {
            known,
            halt: *halt,
            command: command.clone(),
        };
        let decided = core.decide(&requests.iter().map(request).collect::<Vec<_>>());
        core.apply(through_bytes(&decided.records)).unwrap();
        decided.replies
    };
    let deposit = |id| Command::Execute([op(id, Leg::Deposit, 7, 5)].into());
    let replies = numbered(
        &mut core,
        &[
            (Some(0), deposit(1)),
            (None, Command::Halt(5)),
            (Some(4), deposit(2)),
            (Some(5), deposit(3)),
            (None, Command::Halt(3)),
            (Some(4), deposit(4)),
            // the core is in the sender's process
            (None, deposit(5)),
        ],
    );
    let stale = CoreReply::StaleHalt(5);
    let moved = |seq| CoreReply::Answers(vec![done(seq)]);
    let should = [
        moved(1),
        CoreReply::Halt(5),
        stale.clone(),
        moved(2),
        CoreReply::Halt(5),
        stale.clone(),
        moved(3),
    ];
    assert_eq!(replies, should);
    assert_eq!((core.halt, core.balance(7)), (5, 15));
    // a question and a fence move no money
    let fence = numbered(&mut core, &[(Some(0), Command::Fence(key(2, Leg::Deposit)))]);
    assert!(matches!(fence[..], [CoreReply::Stored(Stored::Found(_))]), "{fence:?}");
    assert_eq!(numbered(&mut core, &[(Some(4), deposit(1))]), [stale], "a repeat is refused too");
}

#[test]
fn a_batch_is_decided_against_itself() {
    let mut core = born();
    let ops = [
        op(1, Leg::Deposit, 7, 5),
        op(2, Leg::Withdraw, 7, 5),
        op(3, Leg::Withdraw, 7, 1),
        op(2, Leg::Refund, 7, 5),
        op(2, Leg::Withdraw, 7, 5),
    ];
    let (records, replies) = core.run(vec![
        Command::Execute(ops.into()),
        Command::Status(change(7, AccountStatus::Frozen, "k")),
        Command::Execute([op(4, Leg::Withdraw, 7, 1)].into()),
        Command::Fence(key(5, Leg::Deposit)),
        Command::Execute([op(5, Leg::Deposit, 7, 1)].into()),
    ]);
    let answers = vec![done(1), done(2), refused("INSUFFICIENT_BALANCE", 3), done(4), done(2)];
    assert_eq!(replies[0], CoreReply::Answers(answers));
    assert_eq!(replies[1], CoreReply::Status(true));
    assert_eq!(replies[2], CoreReply::Answers(vec![refused("ACCOUNT_FROZEN", 5)]));
    assert!(matches!(&replies[3], CoreReply::Stored(Stored::Found(fence))
        if fence.outcome == StoredOutcome::Fenced && fence.seq == 6));
    assert_eq!(replies[4], CoreReply::Answers(vec![refused("FENCED", 6)]));
    // Six results and one status: repeats write nothing.
    assert_eq!(records.len(), 7);
    core.whole();
}

#[test]
fn sums_stay_within_what_can_be_added_up() {
    let mut core = born();
    let most = i128::MAX.unsigned_abs();
    assert_eq!(core.unknown(op(1, Leg::Deposit, 7, most + 1)), "BAD_OPERATION");
    assert_eq!(core.one(op(1, Leg::Deposit, 7, most)), done(1));
    assert_eq!(core.unknown(op(2, Leg::Deposit, 7, 1)), "OVERFLOW");
    assert_eq!(core.unknown(op(2, Leg::Deposit, 8, 1)), "OVERFLOW");
    core.whole();
    let user = Op { account: Account::User(UserId(1 << 63)), ..op(3, Leg::Deposit, 1, 1) };
    assert_eq!(core.unknown(user), "BAD_OPERATION");
}

#[test]
fn a_stranger_is_told_and_nothing_is_done() {
    let mut core = born();
    core.one(op(1, Leg::Deposit, 7, 5));
    let own = core.known();
    let strangers = [
        Known { identity: Identity(0), ..own },
        Known { incarnation: Incarnation(0), ..own },
        Known { highest: own.highest + 1, ..own },
    ];
    for known in strangers {
        let command = Command::Execute([op(2, Leg::Deposit, 7, 5)].into());
        let decided = core.decide(&[Request { known, halt: None, command }]);
        assert_eq!((decided.records, decided.replies), (vec![], vec![CoreReply::Wrong]));
    }
}

#[test]
fn a_key_of_a_status_is_used_once() {
    let mut core = born();
    let quiesce = change(7, AccountStatus::Frozen, "k");
    // No such account: nothing is bound.
    assert_eq!(core.ask(Command::Status(quiesce.clone())), CoreReply::Status(false));
    core.one(op(1, Leg::Deposit, 7, 5));
    assert_eq!(core.ask(Command::Status(quiesce.clone())), CoreReply::Status(true));
    let thaw = change(7, AccountStatus::Active, "l");
    assert_eq!(core.ask(Command::Status(thaw)), CoreReply::Status(true));
    assert_eq!(core.ask(Command::Status(quiesce)), CoreReply::Status(true));
    assert_eq!(core.accounts[&UserId(7)].status, AccountStatus::Active);
    let other = change(7, AccountStatus::Disabled, "k");
    assert!(matches!(core.ask(Command::Status(other)), CoreReply::Nothing(c)
        if c.class == "CONTRADICTION"));
}

#[test]
fn an_id_that_was_not_kept_open_is_never_executed_afresh() {
    let mut core = born();
    for id in 1..=9 {
        core.one(op(id, Leg::Deposit, 7, 10));
    }
    let horizon = |id: u128, open: &[u128]| Command::Horizon {
        id: Id(id),
        open: open.iter().copied().map(Id).collect(),
    };
    // An id above the horizon is not "open below it".
    core.run(vec![horizon(5, &[2, 4, 8])]);
    assert_eq!(core.open.len(), 2);
    assert_eq!(core.results.len(), 6);
    assert_eq!(core.unknown(op(1, Leg::Deposit, 7, 10)), "BELOW_HORIZON");
    assert_eq!(core.one(op(2, Leg::Deposit, 7, 10)), done(2));
    let listed: Vec<_> = core.operations(0, 99).iter().map(|o| o.seq).collect();
    assert_eq!(listed, [2, 4, 6, 7, 8, 9]);
    // A late, lower horizon and a longer list of open ids bring nothing back.
    core.run(vec![horizon(3, &[1, 2, 3])]);
    core.run(vec![horizon(5, &[1, 4])]);
    assert_eq!(core.unknown(op(1, Leg::Deposit, 7, 10)), "BELOW_HORIZON");
    assert_eq!(core.unknown(op(2, Leg::Deposit, 7, 10)), "BELOW_HORIZON");
    assert_eq!(core.one(op(4, Leg::Withdraw, 7, 1)), done(10));
    assert!(core.query(key(1, Leg::Deposit)).is_err());
    // In the batch that raises it, what follows is held to it.
    let late = Command::Execute([op(6, Leg::Deposit, 7, 10), op(7, Leg::Deposit, 7, 10)].into());
    let (_, replies) = core.run(vec![horizon(7, &[4, 7]), late]);
    assert!(matches!(&replies[1], CoreReply::Answers(answers)
        if matches!(answers[0], Answer::Unknown(_)) && answers[1] == done(7)));
    core.run(vec![horizon(u128::MAX, &[])]);
    assert_eq!((core.results.len(), core.operations(0, 9).len()), (0, 0));
    core.whole();
}

#[test]
fn the_books_take_no_record_that_contradicts_them() {
    let mut core = born();
    let (records, _) = core.run(vec![Command::Execute([op(1, Leg::Deposit, 7, 5)].into())]);
    assert!(core.clone().apply(records).is_err());
    assert!(core.clone().apply(vec![Record::Identity(Identity(9))]).is_err());
    let status = AccountStatus::Active;
    let (user, key) = (UserId(99), "k".into());
    let unknown = Record::Status { user, status, key, reason: "".into(), caller: "".into() };
    assert!(core.apply(vec![unknown]).is_err());
}
