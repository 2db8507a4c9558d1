//! The suite that every ledger is held to, over HTTP to the guide's service; and the guide's
//! mistakes, each of which must not pass it.

use super::script::{Elsewhere, Program, TOKEN};
use crate::fixture::runtime;
use conformance::ledger::{Profile, run};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply};
use kernel::record::Account;
use ledgers::remote::{Remote, Settings, Token};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, thread};
use tempfile::TempDir;

/// The service of the check that runs.
#[derive(Clone, Default)]
struct Alive(Arc<Mutex<Vec<(Elsewhere, TempDir)>>>);

/// A fresh service with what user 1 is to have.
async fn fresh(program: Program, alive: Alive, funds: Vec<(AssetId, Amount)>) -> Arc<dyn Ledger> {
    let dir = tempfile::tempdir().expect("a folder");
    let service = Elsewhere::start(&program, dir.path(), 0);
    let settings = Settings {
        url: format!("http://{}", service.at),
        token: Token(TOKEN.to_owned()),
        timeout_ms: 5_000,
        connect_timeout_ms: 1_000,
        max_in_flight: 8,
        batch: 1_000,
    };
    {
        let mut alive = alive.0.lock().unwrap_or_else(PoisonError::into_inner);
        // a check is over when the next one asks for its ledger
        alive.clear();
        alive.push((service, dir));
    }
    let symbols = crate::remote::served::symbols();
    let ledger = Arc::new(Remote::new(LedgerId::FUTURE, &settings, symbols).expect("a client"));
    let deposit = |(asset, amount): (AssetId, Amount)| Op {
        key: Key { id: Id(1 + u128::from(asset.0)), leg: Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset,
        amount,
    };
    let Reply::Answered(known, ()) = ledger.hello().await else {
        panic!("it does not say who it is")
    };
    ledger.execute(known, funds.into_iter().map(deposit).collect()).await;
    ledger
}

async fn held(program: Program) {
    let alive = Alive::default();
    let fresh = move |funds| -> Fut<'static, Arc<dyn Ledger>> {
        Box::pin(fresh(program.clone(), alive.clone(), funds))
    };
    run(Profile::SPOT, fresh).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guides_ledger_is_a_ledger() {
    held(Program::guide("own_ledger.py")).await;
}

/// What it is, how the file is changed, and the check that finds it.
type Mistake = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// What the guide warns of, as changes of its file, and the check that finds each.
const MISTAKES: [Mistake; 5] = [
    (
        "an error that is not stored",
        &[(
            "return keep(op, \"INSUFFICIENT_BALANCE\")",
            "return {\"req_id\": op[\"req_id\"], \"leg\": leg, \"seq\": 1, \"error\": \"INSUFFICIENT_BALANCE\"}",
        )],
        "rejected_is_sticky",
    ),
    (
        "a forgotten key",
        &[
            ("if before := stored(op[\"req_id\"], leg):", "if before := None:"),
            ("INSERT INTO operations (", "INSERT OR REPLACE INTO operations ("),
        ],
        "done_is_sticky",
    ),
    (
        "a horizon that is ignored",
        &[(
            "    if forgotten(op[\"req_id\"]):\n        return unknown(",
            "    if False:\n        return unknown(",
        )],
        "nothing_is_executed_afresh_below_the_horizon",
    ),
    (
        "each host is served",
        &[("if method == \"POST\" or \"ledger\" in asked:", "if False:")],
        "a_request_for_another_ledger_executes_nothing",
    ),
    (
        "the number of a HALT that is not compared",
        &[(
            "case \"POST\", \"operations\" if halt < last_halt():",
            "case \"POST\", \"operations\" if False:",
        )],
        "who_does_not_know_of_a_halt_moves_nothing",
    ),
];

#[test]
fn the_guides_mistakes_are_found() {
    let Program::Python(file) = Program::guide("own_ledger.py") else { panic!("it is Python") };
    let right = fs::read_to_string(file).expect("the file");
    let dir = tempfile::tempdir().expect("a folder");
    for (n, (mistake, changes, check)) in MISTAKES.into_iter().enumerate() {
        let mut wrong = right.clone();
        for (from, to) in changes {
            assert_eq!(wrong.matches(from).count(), 1, "{mistake}: {from}");
            wrong = wrong.replace(from, to);
        }
        let file = dir.path().join(format!("mistake_{n}.py"));
        fs::write(&file, wrong).expect("it is written");
        let wrong = held(Program::Python(file));
        let fault = thread::spawn(|| runtime().block_on(wrong)).join().expect_err(mistake);
        let why = fault.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(why.starts_with(check), "{mistake}: {why}");
    }
}
