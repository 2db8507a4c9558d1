//! The source's controller: it stores a transfer with its event in one transaction, and shows it.

use super::{VALIDATION, connection, text};
use crate::Outcome;
use crate::setup::UNITS;
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, response::IntoResponse};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Mutex;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

/// Connections of its pool, as many as a service has by default.
const CONNECTIONS: usize = 10;

/// A connection of the pool with its statements.
struct Session {
    client: Client,
    transfer: Statement,
    event: Statement,
    status: Statement,
    count: Statement,
}

impl Session {
    async fn open(database: &str) -> Outcome<Self> {
        let client = connection(database).await?;
        let prepare = |sql: &'static str| {
            let client = &client;
            async move { client.prepare(sql).await.map_err(text) }
        };
        let transfer = prepare(
            "INSERT INTO transfers (id, from_account_number, to_account_number, amount, currency, status) \
             VALUES ($1, $2, $3, $4, $5, 'PENDING')",
        )
        .await?;
        let event = prepare(
            "INSERT INTO outbox_events (aggregate_id, destination, message_key, payload) \
             VALUES ($1, $2, $3, $4)",
        )
        .await?;
        let status = prepare("SELECT status FROM transfers WHERE id = $1").await?;
        let count = prepare("SELECT count(*) FROM transfers WHERE status = 'COMPLETED'").await?;
        Ok(Self { client, transfer, event, status, count })
    }

    async fn create(&mut self, form: &Create) -> Outcome<Uuid> {
        let (id, amount) = (Uuid::new_v4(), i64::try_from(UNITS).map_err(text)?);
        let payload = id.to_string();
        let tx = self.client.transaction().await.map_err(text)?;
        let (from, to) = (&form.from_account_number, &form.to_account_number);
        tx.execute(&self.transfer, &[&id, from, to, &amount, &form.currency])
            .await
            .map_err(text)?;
        tx.execute(&self.event, &[&id, &VALIDATION, from, &payload]).await.map_err(text)?;
        tx.commit().await.map_err(text)?;
        Ok(id)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Create {
    from_account_number: String,
    to_account_number: String,
    /// All transfers of the benchmark move the same.
    #[serde(rename = "amount")]
    _amount: String,
    currency: String,
}

pub(super) struct Door {
    sessions: Vec<Mutex<Session>>,
    next: AtomicUsize,
}

impl Door {
    pub(super) async fn open(database: &str) -> Outcome<Self> {
        let mut sessions = Vec::new();
        for _ in 0..CONNECTIONS {
            sessions.push(Mutex::new(Session::open(database).await?));
        }
        Ok(Self { sessions, next: AtomicUsize::new(0) })
    }

    fn session(&self) -> Option<&Mutex<Session>> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.sessions.get(turn % CONNECTIONS)
    }
}

pub(super) fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route("/api/transfers", post(create))
        .route("/api/transfers/{id}", get(read))
        .route("/metrics", get(metrics))
        .with_state(door)
}

type Reply<T> = Result<T, (StatusCode, String)>;

fn failed(error: String) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, error)
}

async fn create(
    State(door): State<Arc<Door>>,
    Json(form): Json<Create>,
) -> Reply<impl IntoResponse> {
    let session = door.session().ok_or_else(|| failed("no connection".to_owned()))?;
    let id = session.lock().await.create(&form).await.map_err(failed)?;
    let body: Value = json!({ "transferId": id.to_string(), "status": "PENDING" });
    Ok((StatusCode::CREATED, Json(body)))
}

async fn read(State(door): State<Arc<Door>>, Path(id): Path<Uuid>) -> Reply<Json<Value>> {
    let session = door.session().ok_or_else(|| failed("no connection".to_owned()))?.lock().await;
    let row = session.client.query_one(&session.status, &[&id]).await;
    let row = row.map_err(|error| failed(text(error)))?;
    Ok(Json(json!({ "transferId": id.to_string(), "status": row.get::<_, &str>(0) })))
}

/// The line of the product's metrics that the load reads.
async fn metrics(State(door): State<Arc<Door>>) -> Reply<String> {
    let session = door.session().ok_or_else(|| failed("no connection".to_owned()))?.lock().await;
    let row = session.client.query_one(&session.count, &[]).await;
    let count: i64 = row.map_err(|error| failed(text(error)))?.get(0);
    Ok(format!("portage_transfers_total{{flow=\"account\",state=\"COMPLETED\"}} {count}\n"))
}
