//! Transfers between numbered accounts over HTTP: made, carried by the bus of the process, and read.
//!
//! Wrong builds that were run: see the line above each test.

use crate::door::{Door, Reply, USER};
use serde_json::{Value, json};

pub(super) const OPS: (&str, &str) = ("ops-1", "ops:read ops:act");
pub(super) const PIPELINE: &str = "/api/v1/ops/accounts/pipeline";
pub(super) const TRANSFERS: &str = "/api/transfers";
pub(super) const ALICE: (&str, &str) = ("4001", USER);
pub(super) const BOB: (&str, &str) = ("4002", USER);
const SERVICE: (&str, &str) = ("payments", "transfers:create transfers:read transfers:any");

pub(super) fn transfer(from: &str, to: &str, amount: &str) -> Value {
    json!({"fromAccountNumber": from, "toAccountNumber": to, "amount": amount, "currency": "USDT"})
}

impl Door {
    /// ACC-1 of user 4001 with 1000, ACC-2 of user 4002 with nothing.
    pub(super) async fn with_two_accounts() -> Self {
        Self::open().await.has_two_accounts().await
    }

    /// The same on this server.
    pub(super) async fn has_two_accounts(self) -> Self {
        let door = self;
        for (number, owner) in [("ACC-1", 4001), ("ACC-2", 4002)] {
            let body =
                json!({"number": number, "owner": owner, "currency": "USDT", "reason": "a test"});
            assert_eq!(door.post(OPS, PIPELINE, body).await.status, 201);
        }
        let body =
            json!({"currency": "USDT", "amount": "1000", "ref": "wire-1", "reason": "a test"});
        let reply = door.post(OPS, &format!("{PIPELINE}/ACC-1/deposits"), body).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        door
    }

    /// The transfer of an answer, at its end.
    pub(super) async fn ended_account_transfer(&self, opened: &Reply) -> Value {
        let id = opened.body["transferId"].as_str().expect("an id").to_owned();
        for _ in 0..20_000 {
            let reply = self.get(ALICE, &format!("{TRANSFERS}/{id}")).await;
            assert_eq!(reply.status, 200, "{reply:?}");
            if matches!(reply.body["status"].as_str(), Some("COMPLETED" | "FAILED")) {
                return reply.body;
            }
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        }
        panic!("not ended: {opened:?}")
    }

    pub(super) async fn balance(&self, number: &str) -> Value {
        self.get(OPS, &format!("{PIPELINE}/{number}")).await.body["balance"].clone()
    }
}

fn refused(reply: &Reply, status: u16, code: &str) {
    assert_eq!((reply.status, reply.code()), (status, code), "{reply:?}");
}

/// Turns red where the caller waits for the end, and where nothing carries the transfer on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_is_answered_when_it_is_durable_and_completes_by_itself() {
    let door = Door::with_two_accounts().await;
    let mut body = transfer("ACC-1", "ACC-2", "12.50");
    body["description"] = json!("invoice 12");
    let key = [("Idempotency-Key", "k-1")];
    let opened = door.post_with(ALICE, TRANSFERS, &key, body.clone()).await;
    assert_eq!((opened.status, &opened.body["status"]), (201, &json!("PENDING")), "{opened:?}");
    let ended = door.ended_account_transfer(&opened).await;
    let fields = [
        "status",
        "fromAccountNumber",
        "toAccountNumber",
        "amount",
        "currency",
        "description",
        "reason",
    ];
    let said: Vec<Value> = fields.iter().map(|field| ended[*field].clone()).collect();
    let should = json!(["COMPLETED", "ACC-1", "ACC-2", "12.500000", "USDT", "invoice 12", null]);
    assert_eq!(Value::Array(said), should, "{ended}");
    let history = ended["history"].as_array().expect("a history").iter();
    let events: Vec<&str> = history.filter_map(|entry| entry["event"].as_str()).collect();
    let should = ["CREATED", "VALIDATION_CALL", "VALIDATION_OK", "EXECUTION_CALL", "EXECUTION_OK"];
    assert_eq!(events, should);
    assert_eq!(
        (door.balance("ACC-1").await, door.balance("ACC-2").await),
        (json!("987.500000"), json!("12.500000"))
    );
    // the same key: the same transfer as it is now, and another body is none of it
    let again = door.post_with(ALICE, TRANSFERS, &key, body.clone()).await;
    assert_eq!((again.status, &again.body["status"]), (200, &json!("COMPLETED")), "{again:?}");
    assert_eq!(again.body["transferId"], opened.body["transferId"]);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    body["amount"] = json!("12.51");
    let other = door.post_with(ALICE, TRANSFERS, &key, body).await;
    refused(&other, 409, "DUPLICATE_REQUEST");
    assert_eq!(other.body["mismatched_fields"], json!(["amount"]));
}

/// Turns red where the route looks at no owner, or reads another user's transfer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_leaves_an_account_by_its_owner_alone() {
    let door = Door::with_two_accounts().await;
    refused(&door.post(BOB, TRANSFERS, transfer("ACC-1", "ACC-2", "1")).await, 403, "FORBIDDEN");
    // one that is not there looks the same
    refused(&door.post(BOB, TRANSFERS, transfer("ACC-9", "ACC-2", "1")).await, 403, "FORBIDDEN");
    let opened = door.post(SERVICE, TRANSFERS, transfer("ACC-1", "ACC-2", "1")).await;
    assert_eq!(opened.status, 201, "{opened:?}");
    assert_eq!(door.ended_account_transfer(&opened).await["status"], "COMPLETED");
    let path = format!("{TRANSFERS}/{}", opened.body["transferId"].as_str().expect("an id"));
    assert_eq!(door.get(SERVICE, &path).await.status, 200, "the service made it");
    refused(&door.get(BOB, &path).await, 404, "NOT_FOUND");
    // the routes of another flow know nothing of it
    let internal = path.replace(TRANSFERS, "/api/v1/internal_transfer");
    refused(&door.get(ALICE, &internal).await, 404, "NOT_FOUND");
    assert_eq!(door.balance("ACC-1").await, "999.000000");
}

/// Turns red where a list shows another user's transfers, or repeats a row on the next page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_lists_its_own_transfers_and_no_others() {
    let door = Door::with_two_accounts().await;
    let mut made = Vec::new();
    for caller in [ALICE, ALICE, SERVICE] {
        let opened = door.post(caller, TRANSFERS, transfer("ACC-1", "ACC-2", "1")).await;
        assert_eq!(opened.status, 201, "{opened:?}");
        door.ended_account_transfer(&opened).await;
        made.push(opened.body["transferId"].clone());
    }
    made.reverse();
    let ids = |reply: &Reply| {
        let listed = reply.body["transfers"].as_array().expect("a list").iter();
        listed.map(|one| one["transferId"].clone()).collect::<Vec<_>>()
    };
    let first = door.get(ALICE, &format!("{TRANSFERS}?limit=2&status=COMPLETED")).await;
    assert_eq!((first.status, ids(&first)), (200, made[..2].to_vec()), "{first:?}");
    assert_eq!(first.body["transfers"][0]["amount"], "1.000000");
    assert!(first.body["transfers"][0].get("history").is_none(), "{first:?}");
    let cursor = first.body["next"].as_str().expect("a cursor");
    let second = door.get(ALICE, &format!("{TRANSFERS}?limit=2&cursor={cursor}")).await;
    assert_eq!((ids(&second), second.body.get("next")), (made[2..].to_vec(), None), "{second:?}");
    assert_eq!(ids(&door.get(SERVICE, TRANSFERS).await), made[..1], "what the service made");
    assert_eq!(ids(&door.get(BOB, TRANSFERS).await), [""; 0]);
    assert_eq!(ids(&door.get(ALICE, &format!("{TRANSFERS}?status=PENDING")).await), [""; 0]);
    for wrong in ["status=COMMITTED", "limit=0", "cursor=1", "flow=internal"] {
        refused(&door.get(ALICE, &format!("{TRANSFERS}?{wrong}")).await, 400, "BAD_REQUEST");
    }
}

/// Turns red where a refusal of the form opens a transfer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_opens_nothing() {
    let door = Door::with_two_accounts().await;
    for (field, value, code) in [
        ("fromAccountNumber", json!("acc-1"), "BAD_REQUEST"),
        ("toAccountNumber", json!(""), "BAD_REQUEST"),
        ("toAccountNumber", json!("ACC-1"), "SAME_ACCOUNT"),
        ("amount", json!("0"), "INVALID_AMOUNT"),
        ("amount", json!("1e3"), "INVALID_AMOUNT"),
        ("amount", json!("0.0000001"), "PRECISION_OVERFLOW"),
        ("amount", json!(1), "BAD_REQUEST"),
        ("currency", json!("GOLD"), "INVALID_ASSET"),
        ("description", json!(""), "BAD_REQUEST"),
        ("user_id", json!(4001), "BAD_REQUEST"),
    ] {
        let mut body = transfer("ACC-1", "ACC-2", "1");
        body[field] = value;
        refused(&door.post(ALICE, TRANSFERS, body).await, 400, code);
    }
    let query = format!("{TRANSFERS}?dry_run=true");
    refused(&door.post(ALICE, &query, transfer("ACC-1", "ACC-2", "1")).await, 400, "BAD_REQUEST");
    let all = door.get(OPS, "/api/v1/transfers?flow=account").await;
    assert_eq!(all.body["transfers"], json!([]), "{all:?}");
}

/// What the ledger refuses ends FAILED with its code, and moves nothing.
///
/// Turns red where a refusal leaves a transfer open, or moves money.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_ledger_ends_the_transfer() {
    let door = Door::with_two_accounts().await;
    for (to, currency, amount, code) in [
        ("ACC-2", "USDT", "1000.01", "INSUFFICIENT_BALANCE"),
        ("ACC-9", "USDT", "1", "TARGET_ACCOUNT_NOT_FOUND"),
        ("ACC-2", "USD", "1", "CURRENCY_MISMATCH"),
    ] {
        let mut body = transfer("ACC-1", to, amount);
        body["currency"] = json!(currency);
        let opened = door.post(ALICE, TRANSFERS, body).await;
        assert_eq!(opened.status, 201, "{opened:?}");
        let ended = door.ended_account_transfer(&opened).await;
        assert_eq!((&ended["status"], &ended["reason"]), (&json!("FAILED"), &json!(code)));
    }
    assert_eq!(door.balance("ACC-1").await, "1000.000000");
    let proof = door.get(OPS, "/api/v1/ops/conservation").await;
    assert_eq!(proof.body["ok"], json!(true), "{proof:?}");
}
