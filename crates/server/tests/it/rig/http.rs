//! Requests to the server's own routes, in process, with minted tokens.

use super::Rig;
use super::life::KEY;
use axum::body::Body;
use axum::http::{Method, Request};
use kernel::ids::{Id, LedgerId};
use serde_json::{Value, json};
use server::auth::token::Minted;
use std::future::Future;
use std::time::Duration;
use tokio::task::JoinHandle;
use tower::ServiceExt;

/// Which way money goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    ToSpot,
    ToFunding,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::ToSpot, Self::ToFunding];

    pub(crate) const fn source(self) -> LedgerId {
        match self {
            Self::ToSpot => LedgerId::FUNDING,
            Self::ToFunding => LedgerId::SPOT,
        }
    }

    pub(crate) const fn target(self) -> LedgerId {
        match self {
            Self::ToSpot => LedgerId::SPOT,
            Self::ToFunding => LedgerId::FUNDING,
        }
    }
}

/// A transfer of USDT that somebody asks for.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub user: u64,
    pub way: Way,
    pub amount: u64,
    pub cid: Option<String>,
}

impl Ask {
    pub(crate) fn new(user: u64, way: Way, amount: u64) -> Self {
        Self { user, way, amount, cid: None }
    }

    /// The same with the client's key.
    pub(crate) fn keyed(self, cid: impl Into<String>) -> Self {
        Self { cid: Some(cid.into()), ..self }
    }
}

/// What the server answered.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub status: u16,
    pub replayed: bool,
    pub body: Value,
}

impl Reply {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> Id {
        let text = self.text("req_id");
        text.parse().unwrap_or_else(|_| panic!("an id in {self:?}"))
    }
}

/// A request on its way.
pub(crate) struct Sent(JoinHandle<Reply>);

impl Sent {
    pub(crate) fn is_answered(&self) -> bool {
        self.0.is_finished()
    }
}

pub(super) fn token(sub: u64, scope: &str, now_ms: u64) -> String {
    let iat = now_ms / 1_000;
    let minted = Minted {
        iss: "portage".to_owned(),
        aud: "portage".to_owned(),
        sub: sub.to_string(),
        scope: scope.to_owned(),
        iat,
        nbf: iat,
        exp: iat + 600,
    };
    minted.sign("at+jwt", KEY).expect("a token can be signed")
}

/// What a response says.
pub(super) async fn replied(response: axum::response::Response) -> Reply {
    let status = response.status().as_u16();
    let replayed = response.headers().contains_key("idempotency-replayed");
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await;
    let body = serde_json::from_slice(&bytes.expect("a whole body"));
    Reply { status, replayed, body: body.unwrap_or_default() }
}

impl Rig {
    fn request(
        &self,
        method: Method,
        path: &str,
        (sub, scope): (u64, &str),
        body: Option<Value>,
    ) -> impl Future<Output = Reply> + Send + use<> {
        let life = self.life();
        let token = token(sub, scope, life.app.clock.now());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Body::from(body.map(|body| body.to_string()).unwrap_or_default()));
        let (router, request) = (life.router.clone(), request.expect("a request"));
        async move {
            let Ok(response) = router.oneshot(request).await;
            replied(response).await
        }
    }

    fn operator(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        self.life().run(self.request(method, path, (1, "ops:read ops:act"), body))
    }

    /// A request of an operator.
    pub(crate) fn person(
        &self,
        who: (u64, &str),
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Reply {
        self.life().run(self.request(method, path, who, body))
    }

    fn create(&self, ask: &Ask) -> impl Future<Output = Reply> + Send + use<> {
        let mut body = json!({
            "from": ask.way.source().name(),
            "to": ask.way.target().name(),
            "asset": "USDT",
            "amount": ask.amount.to_string(),
        });
        if let Some(cid) = &ask.cid {
            body["cid"] = json!(cid);
        }
        let who = (ask.user, "transfers:create");
        self.request(Method::POST, "/api/v1/internal_transfer", who, Some(body))
    }

    /// Asks for a transfer and waits for the answer.
    pub(crate) fn post(&self, ask: &Ask) -> Reply {
        self.life().run(self.create(ask))
    }

    /// Asks for a transfer and goes away before it is answered.
    pub(crate) fn nudge(&self, ask: &Ask) {
        let create = self.create(ask);
        let moment = Duration::from_millis(10);
        self.life().run(async { tokio::time::timeout(moment, create).await.ok() });
    }

    /// Asks for a transfer; the answer may be waited for, or never come.
    pub(crate) fn send(&self, ask: &Ask) -> Sent {
        Sent(self.life().runtime().spawn(self.create(ask)))
    }

    pub(crate) fn reply(&self, sent: Sent) -> Reply {
        self.life().run(sent.0).expect("a request does not panic")
    }

    /// A transfer with its history, as its user sees it.
    pub(crate) fn get(&self, user: u64, id: Id) -> Reply {
        let path = format!("/api/v1/internal_transfer/{id}");
        self.life().run(self.request(Method::GET, &path, (user, "transfers:read"), None))
    }

    pub(super) fn balances(&self, user: u64) -> Value {
        let who = (user, "transfers:read");
        self.life().run(self.request(Method::GET, "/api/v1/balances", who, None)).body
    }

    /// Money from outside; makes the Funding account.
    pub(crate) fn deposit(&self, user: u64, amount: u64, reference: &str) {
        let reply = self.external("deposits", user, amount, reference);
        assert_eq!(reply.status, 201, "a deposit is booked: {reply:?}");
    }

    /// Money in (`deposits`) or out (`withdrawals`).
    pub(crate) fn external(&self, way: &str, user: u64, amount: u64, reference: &str) -> Reply {
        let path = format!("/api/v1/ops/{way}");
        self.operator(Method::POST, &path, Some(movement(user, amount, reference)))
    }

    /// Money out, beside whatever else is on its way.
    pub(crate) fn send_withdrawal(&self, user: u64, amount: u64, reference: &str) -> Sent {
        let body = Some(movement(user, amount, reference));
        let who = (1, "ops:act");
        let request = self.request(Method::POST, "/api/v1/ops/withdrawals", who, body);
        Sent(self.life().runtime().spawn(request))
    }

    /// An operator sets an account's status.
    pub(crate) fn set_status(&self, user: u64, ledger: LedgerId, status: &str) {
        let path = format!("/api/v1/ops/accounts/{user}/{}/status", ledger.name());
        let body = json!({ "status": status, "reason": "a test" });
        let reply = self.operator(Method::POST, &path, Some(body));
        assert_eq!(reply.status, 200, "the status is set: {reply:?}");
    }
}

fn movement(user: u64, amount: u64, reference: &str) -> Value {
    json!({
        "user_id": user,
        "asset": "USDT",
        "amount": amount.to_string(),
        "ref": reference,
        "reason": "a test",
    })
}
