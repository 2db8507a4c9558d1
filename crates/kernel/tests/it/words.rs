//! Words and numbers that are stored or shown: each is written down here once more, since a store
//! that was written with one spelling is read with it for ever.

use crate::table::record;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::audit::hex;
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, ChainId, FlowId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operators::{ApprovalStatus, Scope, Severity, Subject};
use kernel::owner::TransferOwner;
use kernel::ports::admin_queries::Tells;
use kernel::ports::ledger::AccountStatus;
use kernel::record::{Account, Binding, Origin, Party, System, Terms};
use std::borrow::Cow;
use std::collections::BTreeSet;

#[test]
fn legs() {
    let names = ["WITHDRAW", "DEPOSIT", "SETTLE", "REFUND", "MOVE", "QUARANTINE", "COST"];
    assert_eq!(Leg::ALL.iter().map(|leg| leg.name()).collect::<Vec<_>>(), names);
    for leg in Leg::ALL {
        assert_eq!(Leg::parse(leg.name()), Some(*leg));
        let (takes, gives) = (Leg::Withdraw, Leg::Deposit);
        assert_eq!(leg.refusable(), [takes, gives, Leg::Move].contains(leg), "{leg:?}");
        assert_eq!(leg.fenceable(), [takes, gives].contains(leg), "{leg:?}");
    }
    assert_eq!(Leg::parse("withdraw"), None);
}

#[test]
fn ledgers_and_chains() {
    for (code, name) in [(1, "FUNDING"), (2, "SPOT"), (3, "FUTURE"), (4, "MARGIN")] {
        let ledger = LedgerId(code);
        assert_eq!((ledger.name(), LedgerId::parse(name)), (name, Some(ledger)));
        assert_eq!(System::Ledger(ledger).code(), code);
        assert_eq!(System::coded(code), System::Ledger(ledger));
    }
    assert_eq!(LedgerId::parse("LEDGER"), None);
    for code in [20, 30, 31] {
        assert_eq!(System::Chain(ChainId(code)).code(), code);
        assert_eq!(System::coded(code), System::Chain(ChainId(code)));
    }
}

/// `ledgers.md` §1: who is frozen receives and does not pay; who is disabled does neither.
#[test]
fn what_bars_an_account() {
    let (frozen, disabled) = (Some(Code::AccountFrozen), Some(Code::AccountDisabled));
    for (status, name, withdraw, deposit) in [
        (AccountStatus::Active, "ACTIVE", None, None),
        (AccountStatus::Frozen, "FROZEN", frozen, None),
        (AccountStatus::Disabled, "DISABLED", disabled, disabled),
    ] {
        assert_eq!((status.name(), AccountStatus::parse(name)), (name, Some(status)));
        assert_eq!((status.bars_withdraw(), status.bars_deposit()), (withdraw, deposit), "{name}");
    }
    assert_eq!(AccountStatus::parse("active"), None);
}

#[test]
fn what_may_be_stopped() {
    let all = [
        (Scope::Flow(FlowId(0)), "flow"),
        (Scope::Ledger(LedgerId::SPOT), "ledger"),
        (Scope::Chain(ChainId(20)), "chain"),
        (Scope::Asset(AssetId(1)), "asset"),
        (Scope::Account(UserId(1), LedgerId::SPOT), "account"),
        (Scope::Transfer(Id(7)), "transfer"),
        (Scope::Group("execution-group"), "group"),
    ];
    for (scope, kind) in all {
        assert_eq!(scope.kind(), kind);
    }
}

#[test]
fn cases_and_what_tells_of_them() {
    assert_eq!(
        [Severity::Warning, Severity::Critical].map(Severity::name),
        ["WARNING", "CRITICAL"]
    );
    assert_eq!([Tells::Opened, Tells::Closed].map(Tells::name), ["case.opened", "case.closed"]);
}

#[test]
fn answers() {
    let evidence = || Evidence::code(Code::InvalidAmount);
    assert_eq!(evidence().code, "INVALID_AMOUNT");
    assert_eq!(Cow::from(Code::InvalidAmount), "INVALID_AMOUNT");
    let all = [
        (Answer::Done(Receipt::seq(1)), "done"),
        (Answer::Rejected(evidence(), Receipt::seq(1)), "rejected"),
        (Answer::Dead(evidence()), "dead"),
        (Answer::Unknown(Cause::of("TIMEOUT")), "unknown"),
    ];
    for (answer, word) in all {
        assert_eq!(answer.word(), word);
    }
}

#[test]
fn what_operators_decide() {
    let names = ["PENDING", "APPROVED", "REJECTED", "SUPERSEDED", "LAPSED"];
    for (stand, name) in ApprovalStatus::ALL.into_iter().zip(names) {
        assert_eq!((stand.name(), ApprovalStatus::parse(name)), (name, Some(stand)));
        assert_eq!(stand.at(5, 6), stand);
        let later = if stand == ApprovalStatus::Pending { ApprovalStatus::Lapsed } else { stand };
        assert_eq!(stand.at(6, 6), later);
    }
    assert_eq!(ApprovalStatus::parse(""), None);
    let id = Id(7);
    for (about, text, transfer) in [
        (Subject::Service, "service".to_owned(), None),
        (Subject::Transfer(id), format!("transfer/{id}"), Some(id)),
        (Subject::User(UserId(4001)), "user/4001".to_owned(), None),
        (Subject::Ledger(LedgerId::SPOT), "ledger/SPOT".to_owned(), None),
    ] {
        assert_eq!(about.to_string(), text);
        assert_eq!((Subject::parse(&text), about.transfer()), (Some(about), transfer));
    }
    assert_eq!(Subject::parse("services"), None);
}

/// The keys that 0.1.0 bound are replayed: a user's request between two ledgers has the bytes that it had.
#[test]
fn a_request_of_one_amount_has_the_fingerprint_of_the_first_release() {
    let ends = [LedgerId::FUNDING, LedgerId::SPOT];
    let user = UserId(4001);
    let mut terms = Terms::between_ledgers("i|4001".into(), user, ends, AssetId(3), Amount(100));
    terms.reference = Some("invoice-7".into());
    terms.metadata = [("order".to_owned(), "17".to_owned())].into();
    assert_eq!(
        hex(&terms.fingerprint()),
        "086ce6b60f81b3e1f652450217d2b2c89aa9707dd85b356db0bfff1afce343f0"
    );
    assert_eq!(Account::parse(&Account::Unnamed.key()), Some(Account::Unnamed));
}

/// A key that comes with another request is a conflict: every word of a request counts.
#[test]
fn every_field_is_in_the_fingerprint() {
    let plain = Terms::clone(&record(1).terms);
    let changed = |change: &dyn Fn(&mut Terms)| {
        let mut terms = plain.clone();
        change(&mut terms);
        terms.fingerprint()
    };
    let words = |pairs: &[(&str, &str)]| {
        changed(&|terms| {
            terms.metadata = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        })
    };
    let other = |code| Party {
        system: System::coded(code),
        account: Account::User(UserId(1)),
        ..plain.target.clone()
    };
    let origin = |chain, key: &str| Origin { chain: ChainId(chain), key: key.into() };
    let all = [
        plain.fingerprint(),
        changed(&|terms| terms.owner = TransferOwner::User(UserId(2))),
        changed(&|terms| terms.source = other(1)),
        changed(&|terms| terms.target = other(1)),
        changed(&|terms| terms.target = other(2)),
        changed(&|terms| terms.owner = TransferOwner::Principal("1".into())),
        changed(&|terms| terms.source.asset.0 += 1),
        changed(&|terms| terms.target.asset.0 += 1),
        changed(&|terms| terms.source.amount.0 += 1),
        changed(&|terms| terms.target.amount.0 += 1),
        changed(&|terms| terms.source.account = Account::Unnamed),
        changed(&|terms| terms.origin = Some(origin(30, "a"))),
        changed(&|terms| terms.origin = Some(origin(31, "a"))),
        changed(&|terms| terms.origin = Some(origin(30, "b"))),
        changed(&|terms| terms.memo = Some("a".into())),
        changed(&|terms| terms.reference = Some("a".into())),
        words(&[("a", "b")]),
        words(&[("ab", "")]),
        words(&[("", "ab")]),
        words(&[("a", "b"), ("c", "")]),
    ];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    // what the service adds is none of the request's
    let key = Binding { scope: "s".into(), key: "k".into(), fingerprint: [1; 32] };
    assert_eq!(changed(&|terms| terms.binding = Some(key.clone())), plain.fingerprint());
}
