//! What a payer learns about a target: of another owner's account no more than that it cannot receive.

use super::transfers::{ALICE, OPS, PIPELINE, TRANSFERS, transfer};
use crate::door::{Door, Reply};
use serde_json::{Value, json};

/// Targets that cannot receive USDT, each with the exact code.
const FOREIGN: [(&str, &str); 3] = [
    ("ACC-9", "ACCOUNT_NOT_FOUND"),
    ("BOB-USD", "CURRENCY_MISMATCH"),
    ("BOB-CLOSED", "ACCOUNT_CLOSED"),
];
const OWN: [(&str, &str); 2] =
    [("ALICE-USD", "CURRENCY_MISMATCH"), ("ALICE-CLOSED", "ACCOUNT_CLOSED")];

impl Door {
    /// ACC-1 of user 4001 with 1000, ACC-2 of user 4002; of both users one in USD and one that is closed.
    async fn with_targets() -> Self {
        let door = Self::with_two_accounts().await;
        for (name, owner) in [("ALICE", 4001), ("BOB", 4002)] {
            for (end, currency) in [("USD", "USD"), ("CLOSED", "USDT")] {
                let number = format!("{name}-{end}");
                let body = json!({"number": number, "owner": owner, "currency": currency,
                    "reason": "a test"});
                assert_eq!(door.post(OPS, PIPELINE, body).await.status, 201);
            }
            let closed = json!({"status": "CLOSED", "reason": "a test"});
            let path = format!("{PIPELINE}/{name}-CLOSED/status");
            assert_eq!(door.post(OPS, &path, closed).await.status, 200);
        }
        door
    }

    /// The end of a transfer to that account as its payer reads it, and what an operator reads beside it.
    async fn refused_transfer(&self, to: &str, amount: &str) -> (Value, Value) {
        let opened: Reply = self.post(ALICE, TRANSFERS, transfer("ACC-1", to, amount)).await;
        assert_eq!((opened.status, &opened.body["status"]), (201, &json!("PENDING")), "{opened:?}");
        let ended = self.ended_account_transfer(&opened).await;
        assert_eq!(ended["status"], "FAILED", "{ended}");
        let id = ended["transferId"].as_str().expect("an id");
        let operators = self.get(OPS, &format!("/api/v1/transfers/{id}")).await;
        assert_eq!(operators.status, 200, "{operators:?}");
        (ended, operators.body)
    }
}

/// What a payer reads, without its own words and the times.
fn comparable(mut read: Value) -> Value {
    for field in ["transferId", "toAccountNumber", "createdAt", "updatedAt"] {
        read.as_object_mut().expect("an object").remove(field);
    }
    for entry in read["history"].as_array_mut().expect("a history") {
        entry.as_object_mut().expect("an entry").remove("at");
    }
    read
}

/// Turns red where the exact code of a foreign target is said to the payer, in its reason, sentence or history, or
/// is kept from operators.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_target_that_cannot_receive_has_one_code() {
    let door = Door::with_targets().await;
    let mut all = Vec::new();
    for (to, exact) in FOREIGN {
        let (read, operators) = door.refused_transfer(to, "1").await;
        assert_eq!(read["reason"], "TARGET_ACCOUNT_NOT_FOUND", "{read}");
        assert_eq!(
            (&operators["error_class"], &operators["error_message"]),
            (&json!("TARGET_ACCOUNT_NOT_FOUND"), &json!(exact)),
            "{operators}"
        );
        all.push(comparable(read));
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");
    let listed = door.get(ALICE, TRANSFERS).await;
    for (_, exact) in FOREIGN {
        let text = listed.body.to_string().replace("TARGET_ACCOUNT_NOT_FOUND", "");
        assert!(!text.contains(exact), "{text}");
    }
    for (to, exact) in OWN {
        let (read, _) = door.refused_transfer(to, "1").await;
        assert_eq!(read["reason"], exact, "{to}: the target is the payer's own");
    }
    assert_eq!(door.balance("ACC-1").await, "1000.000000");
}

/// Turns red where a target is looked at before the payer's status and balance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payer_that_cannot_pay_learns_nothing_of_a_target() {
    let door = Door::with_targets().await;
    let targets = || FOREIGN.iter().map(|(to, _)| *to).chain(["ACC-2"]);
    let mut poor = Vec::new();
    for to in targets() {
        let (read, _) = door.refused_transfer(to, "1000.01").await;
        assert_eq!(read["reason"], "INSUFFICIENT_BALANCE", "{read}");
        poor.push(comparable(read));
    }
    assert!(poor.windows(2).all(|pair| pair[0] == pair[1]), "{poor:#?}");
    let frozen = json!({"status": "FROZEN", "reason": "a test"});
    assert_eq!(door.post(OPS, &format!("{PIPELINE}/ACC-1/status"), frozen).await.status, 200);
    for to in targets() {
        let (read, _) = door.refused_transfer(to, "1").await;
        assert_eq!(read["reason"], "ACCOUNT_FROZEN", "{read}");
    }
}
