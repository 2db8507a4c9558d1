//! Numbered accounts over HTTP: opened, funded, frozen and closed by operators, read by their owner.
//!
//! Wrong builds that were run: see the line above each test.

use crate::door::{CREATE, Door, Reply, USER};
use serde_json::{Value, json};

const OPS: (&str, &str) = ("ops-1", "ops:read ops:act ops:approve");
const SECOND: (&str, &str) = ("ops-2", "ops:read ops:act ops:approve");
const PIPELINE: &str = "/api/v1/ops/accounts/pipeline";

fn new(number: &str, owner: u64) -> Value {
    json!({"number": number, "owner": owner, "currency": "USDT", "reason": "a test"})
}

fn movement(amount: &str, reference: &str) -> Value {
    json!({"currency": "USDT", "amount": amount, "ref": reference, "reason": "a test"})
}

impl Door {
    async fn opened(&self, number: &str, owner: u64) {
        let reply = self.post(OPS, PIPELINE, new(number, owner)).await;
        assert_eq!(reply.status, 201, "{reply:?}");
    }

    async fn moves(&self, number: &str, way: &str, body: Value) -> Reply {
        self.post(OPS, &format!("{PIPELINE}/{number}/{way}"), body).await
    }

    async fn becomes(&self, number: &str, status: &str) -> Reply {
        self.becomes_by(OPS, number, status).await
    }

    async fn becomes_by(&self, who: (&str, &str), number: &str, status: &str) -> Reply {
        let body = json!({"status": status, "reason": "a test"});
        self.post(who, &format!("{PIPELINE}/{number}/status"), body).await
    }

    async fn shown(&self, number: &str) -> Value {
        let reply = self.get(OPS, &format!("{PIPELINE}/{number}")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body
    }
}

fn refused(reply: &Reply, status: u16, code: &str) {
    assert_eq!((reply.status, reply.code()), (status, code), "{reply:?}");
}

/// Seen red where the engine does not look whether the number is in use, and where it takes every number.
#[tokio::test]
async fn an_account_is_opened_once_for_each_key_and_number() {
    let door = Door::open().await;
    let key = [("Idempotency-Key", "k")];
    let first = door.post_with(OPS, PIPELINE, &key, new("ACC-1", 4001)).await;
    let row = json!({"number": "ACC-1", "owner": "4001", "currency": "USDT", "balance": "0.000000",
        "status": "ACTIVE", "version": 1});
    assert_eq!((first.status, &first.body), (201, &row), "{first:?}");
    let again = door.post_with(OPS, PIPELINE, &key, new("ACC-1", 4001)).await;
    assert_eq!((again.status, &again.body), (200, &row), "{again:?}");
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let other = door.post_with(OPS, PIPELINE, &key, new("ACC-1", 4002)).await;
    refused(&other, 409, "DUPLICATE_REQUEST");
    for owner in [4001, 4002] {
        refused(&door.post(OPS, PIPELINE, new("ACC-1", owner)).await, 409, "NOT_POSSIBLE");
    }
    for number in ["", "acc-2", "-2", "A 2", &"A".repeat(35)] {
        refused(&door.post(OPS, PIPELINE, new(number, 4001)).await, 400, "BAD_REQUEST");
    }
    refused(&door.post(OPS, PIPELINE, new("ACC-2", 0)).await, 400, "BAD_REQUEST");
    let mut gold = new("ACC-2", 4001);
    gold["currency"] = json!("GOLD");
    refused(&door.post(OPS, PIPELINE, gold).await, 400, "INVALID_ASSET");
    assert_eq!(door.shown("ACC-1").await, row);
    for number in ["ACC-2", "acc-1", "%20"] {
        refused(&door.get(OPS, &format!("{PIPELINE}/{number}")).await, 404, "ACCOUNT_NOT_FOUND");
    }
    let audit = door.get(OPS, "/api/v1/ops/audit?subject=account/ACC-1").await.body;
    let [action] = audit["actions"].as_array().expect("rows").as_slice() else {
        panic!("one action: {audit}")
    };
    let said = (&action["kind"], &action["by"], &action["reason"], &action["value"]);
    let value = json!({"currency": "USDT", "owner": "4001"});
    assert_eq!(said, (&json!("OPEN_ACCOUNT"), &json!("portage|ops-1"), &json!("a test"), &value));
}

/// Seen red where the list of one owner lists another owner's.
#[tokio::test]
async fn accounts_are_listed_by_number_and_by_owner() {
    let door = Door::open().await;
    for (number, owner) in [("B", 1), ("A-2", 2), ("A", 1), ("A-1", 1)] {
        door.opened(number, owner).await;
    }
    let pages = async |owner: &str| {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("{PIPELINE}?limit=2{owner}{cursor}");
            let page = door.get(OPS, &path).await.body;
            let rows = page["accounts"].as_array().expect("rows");
            all.extend(rows.iter().map(|row| row["number"].as_str().expect("one").to_owned()));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break all,
            }
        }
    };
    assert_eq!(pages("").await, ["A", "A-1", "A-2", "B"]);
    assert_eq!(pages("&owner=1").await, ["A", "A-1", "B"]);
    assert_eq!(pages("&owner=3").await, Vec::<String>::new());
    for query in ["limit=0", "limit=101", "cursor=a", "user=1", "owner=0"] {
        refused(&door.get(OPS, &format!("{PIPELINE}?{query}")).await, 400, "BAD_REQUEST");
    }
}

/// Seen red where the server does not give the engine the accounts ledger (the books), and where a user's
/// balances leave the numbered accounts out.
#[tokio::test]
async fn money_comes_in_and_out_and_the_books_prove_it() {
    let door = Door::open().await;
    door.opened("ACC-1", 4001).await;
    let first = door.moves("ACC-1", "deposits", movement("100", "wire-1")).await;
    assert_eq!((first.status, &first.body["balance"]), (201, &json!("100.000000")), "{first:?}");
    assert_eq!((&first.body["number"], &first.body["owner"]), (&json!("ACC-1"), &json!("4001")));
    let out = door.moves("ACC-1", "withdrawals", movement("30", "wire-1")).await;
    assert_eq!((out.status, &out.body["balance"]), (201, &json!("70.000000")), "a kind of its own");
    let again = door.moves("ACC-1", "deposits", movement("100", "wire-1")).await;
    assert_eq!((again.status, &again.body), (200, &first.body), "{again:?}");
    let other = door.moves("ACC-1", "deposits", movement("101", "wire-1")).await;
    refused(&other, 409, "DUPLICATE_REQUEST");
    assert_eq!(other.body["mismatched_fields"], json!(["amount"]));
    let user =
        json!({"user_id": 4001, "asset": "USDT", "amount": "100", "ref": "wire-1", "reason": "x"});
    let user = door.post(OPS, "/api/v1/ops/deposits", user).await;
    refused(&user, 409, "DUPLICATE_REQUEST");
    assert_eq!(user.body["mismatched_fields"], json!(["account_number"]));
    let out = |amount| door.moves("ACC-1", "withdrawals", movement(amount, "wire-2"));
    refused(&out("70.000001").await, 422, "INSUFFICIENT_BALANCE");
    refused(&out("0.0000001").await, 400, "PRECISION_OVERFLOW");
    refused(&out("0").await, 400, "INVALID_AMOUNT");
    let mut coin = movement("1", "wire-3");
    coin["currency"] = json!("BTC");
    refused(&door.moves("ACC-1", "deposits", coin).await, 422, "CURRENCY_MISMATCH");
    let none = door.moves("ACC-2", "deposits", movement("1", "wire-3")).await;
    refused(&none, 404, "ACCOUNT_NOT_FOUND");
    let balances = door.get(("4001", USER), "/api/v1/balances").await.body;
    let row = json!({"account": "ACCOUNT", "number": "ACC-1", "asset": "USDT",
        "available": "70.000000", "frozen": "0.000000", "in_flight": "0.000000", "status": "ACTIVE"});
    assert_eq!(balances, json!([row]));
    assert_eq!(door.get(("4002", USER), "/api/v1/balances").await.body, json!([]));
    let proof = door.get(OPS, "/api/v1/ops/conservation?full=true").await.body;
    assert_eq!(proof["ok"], true, "{proof}");
    let books = proof["assets"].as_array().expect("books").iter();
    let books: Vec<_> = books.filter(|books| books["ledger"] == "ACCOUNT").collect();
    let [books] = books.as_slice() else { panic!("its books: {proof}") };
    assert_eq!((&books["users"], &books["world"]), (&json!("70.000000"), &json!("-70.000000")));
    let proven = proof["ledgers"].as_array().expect("ledgers").iter();
    let accounts: Vec<_> = proven.filter(|one| one["ledger"] == "ACCOUNT").collect();
    assert_eq!(accounts.first().map(|one| &one["accounts"]), Some(&json!(1)), "{proof}");
}

/// One base unit appears in an account. Seen red where the server does not give the engine the accounts
/// ledger: the proof sees nothing.
#[tokio::test]
async fn money_out_of_nothing_in_an_account_halts_everything() {
    let door = Door::open().await;
    door.opened("ACC-1", 4001).await;
    let first = door.moves("ACC-1", "deposits", movement("100", "wire-1")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let more = "UPDATE accounts_tb SET balance = printf('%039d', CAST(balance AS INTEGER) + 1)";
    assert_eq!(door.database().execute(more, []).expect("a change"), 1);
    let proof = door.get(OPS, "/api/v1/ops/conservation?fresh=true").await.body;
    assert_eq!(proof["ok"], false, "{proof}");
    assert!(proof["breaks"].to_string().contains("ACCOUNT/"), "{proof}");
    let more = door.moves("ACC-1", "deposits", movement("1", "wire-2")).await;
    refused(&more, 503, "HALTED");
}

/// Seen red where `may_become` looks at neither the status nor the balance: 500 in the place of both.
#[tokio::test]
async fn an_account_is_frozen_and_freed_and_closed_once_it_is_empty() {
    let door = Door::open().await;
    door.opened("ACC-1", 4001).await;
    let moves = |way: &'static str, reference: &'static str| {
        door.moves("ACC-1", way, movement("10", reference))
    };
    assert_eq!(moves("deposits", "in-1").await.status, 201);
    let frozen = door.becomes("ACC-1", "FROZEN").await;
    let said = (frozen.status, &frozen.body["status"], &frozen.body["balance"]);
    assert_eq!(said, (200, &json!("FROZEN"), &json!("10.000000")), "{frozen:?}");
    assert_eq!(door.shown("ACC-1").await, frozen.body, "as it was answered");
    refused(&moves("withdrawals", "out-1").await, 422, "ACCOUNT_FROZEN");
    assert_eq!(moves("deposits", "in-2").await.status, 201, "it receives");
    let full = door.becomes("ACC-1", "CLOSED").await;
    refused(&full, 409, "NOT_POSSIBLE");
    let sentence = full.body["error"].as_str().expect("a sentence");
    assert!(sentence.contains("20.000000 USDT"), "{sentence}");
    let own = door.becomes("ACC-1", "ACTIVE").await;
    assert_eq!((own.status, &own.body["outcome"]), (202, &json!("PROPOSED")), "{own:?}");
    assert_eq!(door.shown("ACC-1").await["status"], "FROZEN", "who froze it does not free it");
    assert_eq!(door.becomes_by(SECOND, "ACC-1", "ACTIVE").await.status, 200);
    for reference in ["out-1", "out-2"] {
        assert_eq!(moves("withdrawals", reference).await.status, 201);
    }
    assert_eq!(door.becomes("ACC-1", "CLOSED").await.body["status"], "CLOSED");
    refused(&moves("deposits", "in-3").await, 422, "ACCOUNT_CLOSED");
    assert_eq!(moves("deposits", "in-1").await.status, 200, "what was booked stays booked");
    for status in ["ACTIVE", "FROZEN"] {
        refused(&door.becomes("ACC-1", status).await, 422, "ACCOUNT_CLOSED");
    }
    assert_eq!(door.becomes("ACC-1", "CLOSED").await.status, 200, "closed it stays");
    refused(&door.post(OPS, PIPELINE, new("ACC-1", 4001)).await, 409, "NOT_POSSIBLE");
    refused(&door.becomes("ACC-1", "DISABLED").await, 400, "BAD_REQUEST");
    refused(&door.becomes("ACC-2", "FROZEN").await, 404, "ACCOUNT_NOT_FOUND");
}

/// Seen red where the movement is booked without the bound of a person's day, and where the key of the
/// proposal leaves out the account's number.
#[tokio::test]
async fn a_deposit_above_a_persons_day_takes_two() {
    let door = Door::set(|config| {
        config.ops.daily_deposit_limit.insert("USDT".to_owned(), "100".to_owned());
    });
    let door = door.await;
    door.opened("ACC-1", 4001).await;
    let body = |reference: &str| json!({"user_id": 4001, "asset": "USDT", "amount": "60", "ref": reference, "reason": "x"});
    let first = door.post(OPS, "/api/v1/ops/deposits", body("wire-1")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let theirs = door.post(OPS, "/api/v1/ops/deposits", body("wire-2")).await;
    refused(&theirs, 409, "SECOND_PERSON_REQUIRED");
    let over = door.moves("ACC-1", "deposits", movement("60", "wire-2")).await;
    refused(&over, 409, "SECOND_PERSON_REQUIRED");
    assert_ne!(over.body["approval_id"], theirs.body["approval_id"], "another proposal");
    let id = over.body["approval_id"].as_str().expect("a proposal").to_owned();
    let waits = door.get(OPS, "/api/v1/ops/approvals?status=PENDING").await.body;
    let row = waits["approvals"].as_array().expect("rows").iter().find(|row| row["id"] == *id);
    assert_eq!(row.expect("it waits")["value"]["account_number"], "ACC-1", "{waits}");
    let reason = json!({"reason": "seen in the statement"});
    let approve = format!("/api/v1/ops/approvals/{id}/approve");
    refused(&door.post(OPS, &approve, reason.clone()).await, 403, "FORBIDDEN");
    let done = door.post(SECOND, &approve, reason).await;
    assert_eq!((done.status, &done.body["outcome"]), (200, &json!("DEPOSITED")), "{done:?}");
    assert_eq!(door.shown("ACC-1").await["balance"], "60.000000");
    let again = door.moves("ACC-1", "deposits", movement("60", "wire-2")).await;
    assert_eq!(again.status, 200, "{again:?}");
}

/// Seen red where `set_status` of a user's account takes every configured ledger.
#[tokio::test]
async fn a_numbered_account_is_no_account_type_of_a_user() {
    let door = Door::open().await;
    door.opened("ACC-1", 4001).await;
    door.fund(4001, "10").await;
    for (from, to) in [("FUNDING", "ACCOUNT"), ("ACCOUNT", "FUNDING")] {
        let body = json!({"from": from, "to": to, "asset": "USDT", "amount": "1"});
        for path in [CREATE.to_owned(), format!("{CREATE}?dry_run=true")] {
            let reply = door.post(("4001", USER), &path, body.clone()).await;
            let code = reply.body["would"].as_str().unwrap_or_else(|| reply.code());
            assert_eq!(code, "INVALID_ACCOUNT_TYPE", "{path}: {reply:?}");
        }
    }
    let body = json!({"status": "FROZEN", "reason": "a test"});
    let reply = door.post(OPS, "/api/v1/ops/accounts/4001/ACCOUNT/status", body).await;
    refused(&reply, 400, "UNSUPPORTED_ACCOUNT_TYPE");
    let listed = door.get(OPS, "/api/v1/ops/accounts?user=4001").await.body;
    assert_eq!(listed["silent"], json!([]), "{listed}");
    assert_eq!(listed["accounts"].as_array().map(Vec::len), Some(1), "{listed}");
}
