//! Ledgers elsewhere at the door: asked at once, named where they are silent or cannot be proven.

use super::{Door, USER};
use axum::Router;
use axum::routing::get;
use kernel::ids::LedgerId;
use serde_json::{Value, json};
use server::config::{Config, Ledger, LedgerForm, LedgerKind};
use server::http::listener::serve::serve;
use server::runtime::{Tasks, beside};
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Barrier;

const WATCHER: (&str, &str) = ("ops", "ops:read");

/// A ledger at this address.
fn remote(at: SocketAddr, timeout_ms: u64) -> Ledger {
    Ledger {
        kind: Some(LedgerKind::Remote),
        url: format!("http://{at}").as_str().into(),
        timeout_ms,
        connect_timeout_ms: 500,
        ..Ledger::default()
    }
}

/// An address where no server listens.
fn unused_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its number")
}

/// Serves these routes and no others.
async fn served(routes: Router) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let at = listener.local_addr().expect("its number");
    beside(async move {
        let tasks = Tasks::new(Arc::new(|what| panic!("{what}")));
        serve(listener, routes, &tasks, pending(), Duration::ZERO).await;
    });
    at
}

/// A door with these ledgers.
async fn door(ledgers: impl IntoIterator<Item = (LedgerId, Ledger)>) -> Door {
    let put = |config: &mut Config| {
        for (id, ledger) in ledgers {
            config.ledgers = std::mem::take(&mut config.ledgers).with(id, ledger);
        }
    };
    Door::set(put).await
}

/// The rows of an account type that no ledger answers for.
fn unavailable(rows: &Value) -> Vec<&str> {
    let rows = rows.as_array().expect("rows").iter();
    let silent = rows.filter(|row| row["status"] == "UNAVAILABLE");
    silent.map(|row| row["account"].as_str().expect("a name")).collect()
}

/// Each of two ledgers answers once the other one was asked, too. Seen red with a build that asks one
/// after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ledgers_are_asked_at_once() {
    let both = Arc::new(Barrier::new(2));
    let waits = || {
        let both = Arc::clone(&both);
        let answer = move || async move {
            both.wait().await;
            "[]"
        };
        Router::new().route("/accounts/{user}", get(answer))
    };
    let (future, margin) = (served(waits()).await, served(waits()).await);
    let ledgers =
        [(LedgerId::FUTURE, remote(future, 10_000)), (LedgerId::MARGIN, remote(margin, 10_000))];
    let door = door(ledgers).await;
    let balances = door.get(("4001", USER), "/api/v1/balances").await;
    assert_eq!((balances.status, unavailable(&balances.body)), (200, vec![]), "{balances:?}");
}

/// Seen red with a build that waits as long as the ledger's settings say, for each of two pages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_caller_waits_as_long_as_a_ledger_may_take() {
    let never = || get(async || pending::<&str>().await);
    let routes = Router::new().route("/accounts/{user}", never()).route("/hello", never());
    let at = served(routes).await;
    let door = door([(LedgerId::MARGIN, remote(at, 20_000))]).await;
    let asked = async {
        let balances = door.get(("4001", USER), "/api/v1/balances").await;
        (balances, door.get(WATCHER, "/health").await)
    };
    let soon = tokio::time::timeout(Duration::from_secs(15), asked).await;
    let (balances, health) = soon.expect("an answer before the ledger's");
    assert_eq!(unavailable(&balances.body), ["MARGIN"], "{balances:?}");
    assert_eq!((health.status, &health.body["margin"]), (200, &json!("unavailable")), "{health:?}");
}

/// Seen red with a build that answers 500 where one of them is silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_ledger_is_named_and_the_others_are_shown() {
    let simple = Ledger { form: LedgerForm::Simple, ..remote(unused_address(), 1_000) };
    let ledgers = [(LedgerId::FUTURE, remote(unused_address(), 1_000)), (LedgerId::MARGIN, simple)];
    let door = door(ledgers).await;
    door.fund(4001, "10").await;
    for path in ["/api/v1/ops/accounts?user=4001", "/api/v1/ops/accounts"] {
        let page = door.get(WATCHER, path).await;
        let silent = json!([
            {"account": "FUTURE", "why": "UNREACHABLE"}, {"account": "MARGIN", "why": "NOT_OFFERED"},
        ]);
        assert_eq!((page.status, &page.body["silent"]), (200, &silent), "{page:?}");
        let rows = page.body["accounts"].as_array().expect("rows");
        assert_eq!(rows.len(), 1, "{page:?}");
        assert_eq!((&rows[0]["account"], &rows[0]["user_id"]), (&json!("FUNDING"), &json!("4001")));
    }
    // a bar that waits for the silent ledger is shown, to a reader of its user and of all
    let freeze = json!({"status": "FROZEN", "reason": "court order 12"});
    let path = "/api/v1/ops/accounts/4001/FUTURE/status";
    let waits = door.post(("ops", "ops:act"), path, freeze).await;
    assert_eq!((waits.status, &waits.body["outcome"]), (500, &json!("unknown")), "{waits:?}");
    let waiting = json!([{
        "user_id": "4001", "account": "FUTURE", "status": "FROZEN", "by": "portage|ops", "reason": "court order 12",
    }]);
    for (query, should) in [("", &waiting), ("?user=4001", &waiting), ("?user=4002", &json!([]))] {
        let page = door.get(WATCHER, &format!("/api/v1/ops/accounts{query}")).await;
        assert_eq!(page.body["waiting"], *should, "{query}: {page:?}");
    }
    let health = door.get(WATCHER, "/health").await;
    assert_eq!((health.status, &health.body["status"]), (200, &json!("degraded")), "{health:?}");
    let whole = super::Door::open().await.get(WATCHER, "/api/v1/ops/accounts").await;
    assert_eq!(whole.body["silent"], json!([]), "{whole:?}");
}

/// A dry run asks every ledger that shows accounts, and names the one that does not: what it would
/// refuse is unknown. Seen red with a build that answers 500.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_names_whom_it_cannot_ask() {
    let simple = Ledger { form: LedgerForm::Simple, ..remote(unused_address(), 1_000) };
    let door = door([(LedgerId::MARGIN, simple)]).await;
    door.fund(4001, "10").await;
    let path = "/api/v1/internal_transfer?dry_run=true";
    for (from, to, amount, would) in [
        ("FUNDING", "MARGIN", "10", "COMMITTED"),
        ("MARGIN", "FUNDING", "99999", "COMMITTED"),
        ("FUNDING", "MARGIN", "10.000001", "INSUFFICIENT_BALANCE"),
        ("MARGIN", "FUNDING", "0", "INVALID_AMOUNT"),
    ] {
        let body = json!({"from": from, "to": to, "asset": "USDT", "amount": amount});
        let dry = door.post(("4001", USER), path, body).await;
        let mut said = json!({"dry_run": true, "would": would});
        if would == "COMMITTED" {
            said["unasked"] = json!(["MARGIN"]);
        }
        assert_eq!((dry.status, dry.body), (200, said), "{from} {to} {amount}");
    }
    // nobody at MARGIN was asked, and FUNDING refuses whom it does not know
    let body = json!({"from": "MARGIN", "to": "FUNDING", "asset": "USDT", "amount": "1"});
    let dry = door.post(("4002", USER), path, body).await;
    assert_eq!(dry.body, json!({"dry_run": true, "would": "TARGET_ACCOUNT_NOT_FOUND"}));
    assert_eq!(door.rows().await, 0, "nothing is written");
}

/// Seen red with a build that names no ledger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_names_what_it_does_not_prove() {
    let simple = Ledger { form: LedgerForm::Simple, ..remote(unused_address(), 1_000) };
    let door = door([(LedgerId::MARGIN, simple)]).await;
    door.fund(4001, "10").await;
    let proof = door.get(WATCHER, "/api/v1/ops/conservation?fresh=true").await;
    let unproven =
        json!([{"ledger": "MARGIN", "what": ["sums", "operations", "world", "accounts"]}]);
    assert_eq!((proof.status, &proof.body["unproven"]), (200, &unproven), "{proof:?}");
    assert_eq!(proof.body["ok"], json!(true), "{proof:?}");
    let whole = Door::open().await.get(WATCHER, "/api/v1/ops/conservation?fresh=true").await;
    assert_eq!(whole.body["unproven"], json!([]), "{whole:?}");
}
