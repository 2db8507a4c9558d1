//! The door on the real store, without a network: what is refused, in which order, and how.

mod accounts;
mod admin;
mod audit;
mod backup;
mod batch;
mod bodies;
mod chains;
mod dry_run;
mod endpoints;
mod examples;
mod halts;
mod keys;
mod limits;
mod list;
mod pages;
mod pairs;
mod precedence;
mod references;
mod remote_ledgers;
mod roles;
mod routes;
mod spellings;
mod tokens;

use crate::fixture::{KEY, Reply, TestService as Door, TestSetup};
use axum::body::Body;
use axum::http::{Request, header};
use kernel::ids::Serial;
use serde_json::{Value, json};

const CREATE: &str = "/api/v1/internal_transfer";
/// Scopes of an ordinary user.
const USER: &str = "transfers:create transfers:read";

impl Door {
    /// Posts text as user 4001.
    async fn text(&self, path: &str, text: impl Into<Body>) -> Reply {
        let token = self.token("4001", &format!("{USER} ops:act ops:read"));
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(text.into());
        self.send(request.expect("a request")).await
    }

    /// Gives a user money at Funding.
    async fn fund(&self, user: u64, amount: &str) {
        let body = movement(user, amount, &format!("fund-{user}-{amount}"));
        let reply = self.post(("ops", "ops:act"), "/api/v1/ops/deposits", body).await;
        assert_eq!(reply.status, 201, "{reply:?}");
    }

    /// One base unit appears behind the engine's back, and the proof finds it: HALT.
    async fn halt(&self) {
        let more =
            "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) + 1)
                    WHERE user_id = (SELECT min(user_id) FROM balances_tb)";
        let changed = self.database().execute(more, []).expect("a change");
        assert!(changed > 0, "there is a balance");
        let proof = self.get(("ops", "ops:read"), "/api/v1/ops/conservation?fresh=true").await;
        assert_eq!(proof.body["ok"], json!(false), "{proof:?}");
        assert!(self.app.engine.halted().is_some());
    }

    /// How many transfers the journal holds.
    async fn rows(&self) -> usize {
        let mut snapshot = self.service.store.snapshot().await.expect("a snapshot");
        snapshot.lines(Serial(0), 5000).await.expect("lines").len()
    }
}

fn movement(user: u64, amount: &str, reference: &str) -> Value {
    json!({"user_id": user, "asset": "USDT", "amount": amount, "ref": reference, "reason": "test"})
}

/// A transfer of USDT from Funding to Spot.
fn transfer(amount: &str, cid: &str) -> Value {
    json!({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": amount, "cid": cid})
}
