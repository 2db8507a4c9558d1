//! The names that readers rely on, read by another connection while the store runs.

use crate::fixture::{COIN, Fixture, id, one, written};
use crate::folder_store::fund;
use kernel::message::{Message, Outgoing};
use kernel::money::Amount;
use kernel::operators::{Case, Severity, Subject};
use kernel::unit::{Put, Unit};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::sync::Arc;
use store::sqlite::Embedded;

/// Names and columns of the contract.
const CONTRACT: &[(&str, &str)] = &[
    (
        "transfers_tb",
        "transfer_id req_id flow principal user_id cid fingerprint asset_id amount transfer_type \
         source_type target_type reference metadata state version error_message error_class \
         retry_count due_at leased_by leased_until created_at updated_at",
    ),
    (
        "transfer_events",
        "req_id seq at from_state to_state event caller detail prev_hash hash agreed",
    ),
    ("transfer_operations", "ledger req_id leg result code seq amount account at"),
    ("balances_tb", "user_id asset_id account_type available frozen status version"),
    ("balances", "user_id asset_id account_type available frozen status version"),
    (
        "assets_tb",
        "asset_id symbol precision status internal_transfer_enabled min_transfer_amount \
         max_transfer_amount daily_amount",
    ),
    ("accounts_tb", "account_number owner_id currency balance status"),
    (
        "outbox",
        "id req_id n topic partition_key type payload headers processed created_at published_at",
    ),
    ("inbox", "consumer event_id"),
    ("cases", "kind severity subject req_id facts status opened_at closed_at closed_by"),
    ("case_notes", "case_id at caller kind text"),
    ("pauses", "scope subject reason caller at"),
    ("accepted_breaks", "key amount at"),
    ("operator_actions", "action subject value reason result caller at hash"),
    ("approvals", "approval_id action subject value requested_by status decided_by decided_at"),
    ("status_changes", "subject value reason caller at"),
    ("limits_tb", "user_id day asset_id transfers amount"),
    ("webhook_deliveries", "case_id tells attempts due_at error"),
    ("service_state", "name value at"),
    ("ledgers_tb", "ledger identity incarnation highest"),
    ("audit_units", "lane n count digest"),
];

async fn used() -> (Fixture, Arc<Embedded>) {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    written(&store, fixture.opening(1, 1, 10)).await;
    let mut ending = fixture.ending(1, 1, 10);
    let message = Message::new("transfers", "transfer-ended", "account-1");
    ending.then.outbox.push(Outgoing { message, id: id(1), n: 0, event: Some(0) });
    written(&store, ending).await;
    one(&store, fixture.opening(2, 1, 5_000)).await;
    written(&store, fixture.opening(3, 1, 7)).await;
    let (kind, severity) = ("CHECK", Severity::Warning);
    let case = Case { kind, severity, subject: Subject::Transfer(id(1)), facts: "x".into() };
    written(&store, Unit::puts(vec![Put::Case(case)])).await;
    (fixture, store)
}

/// Every row as text with bars between the columns, as the ordinary tool prints it.
fn rows(db: &Connection, sql: &str) -> Vec<String> {
    let mut ask = db.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = ask.column_count();
    let text = |value: Value| match value {
        Value::Null => String::new(),
        Value::Integer(n) => n.to_string(),
        Value::Real(n) => n.to_string(),
        Value::Text(text) => text,
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    let line = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
        let values = (0..columns).map(|n| row.get(n).map(text));
        Ok(values.collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
    };
    ask.query_map([], line).expect(sql).collect::<rusqlite::Result<_>>().expect(sql)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_name_of_the_contract_has_its_columns() {
    let (fixture, _store) = used().await;
    let tool = fixture.tool();
    for (name, columns) in CONTRACT {
        let columns: Vec<_> = columns.split_whitespace().collect();
        rows(&tool, &format!("SELECT {} FROM {name} LIMIT 3", columns.join(", ")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_views_say_what_happened() {
    let (fixture, _store) = used().await;
    let tool = fixture.tool();
    let sql = "SELECT transfer_id, flow, principal, cid, amount, transfer_type, source_type, \
               target_type, state, version, error_class FROM transfers_tb ORDER BY transfer_id";
    assert_eq!(
        rows(&tool, sql),
        [
            "1|internal|suite|1|key-1|10|1|1|2|40|2|",
            "2|internal|suite|1|key-2|5000|1|1|2|-10|1|INSUFFICIENT_BALANCE",
            "3|internal|suite|1|key-3|7|1|1|2|30|1|",
        ]
    );
    let sql = "SELECT ledger, leg, result, code, amount, account FROM transfer_operations \
               ORDER BY req_id, ledger, leg";
    assert_eq!(
        rows(&tool, sql),
        [
            "FUNDING|SETTLE|DONE||10|1",
            "FUNDING|WITHDRAW|DONE||10|1",
            "SPOT|DEPOSIT|DONE||10|1",
            "FUNDING|WITHDRAW|REJECTED|INSUFFICIENT_BALANCE|5000|1",
            "FUNDING|WITHDRAW|DONE||7|1",
        ]
    );
    let sql = format!(
        "SELECT seq, from_state, to_state, event, caller FROM transfer_events \
         WHERE req_id = '{}' ORDER BY seq",
        id(1)
    );
    assert_eq!(
        rows(&tool, &sql),
        [
            "0||0|CREATED|suite|1",
            "1|0|10|SOURCE_CALL|",
            "2|10|20|SOURCE_OK|",
            "3|20|30|TARGET_CALL|",
            "4|30|40|TARGET_OK|",
        ]
    );
    let sql = "SELECT user_id, asset_id, available, frozen, status FROM balances";
    assert_eq!(rows(&tool, sql), ["1|3|983|7|ACTIVE"]);
    let sql = "SELECT length(available), length(frozen) FROM balances_tb";
    assert_eq!(rows(&tool, sql), ["39|39"]);
    let sql = "SELECT topic, type, n, processed, partition_key FROM outbox";
    assert_eq!(rows(&tool, sql), ["transfers|transfer-ended|0|0|account-1"]);
    assert_eq!(rows(&tool, "SELECT symbol FROM assets_tb ORDER BY asset_id").len(), 5);
}

/// The oldest `sqlite3` that must read the store is 3.40; where no such tool is at hand the check
/// is left to the connection above.
#[tokio::test(flavor = "multi_thread")]
async fn the_ordinary_tool_reads_the_store_while_it_runs() {
    let (fixture, _store) = used().await;
    let file = fixture.dir.path().join(store::sqlite::FILE);
    for (name, columns) in CONTRACT {
        let columns: Vec<_> = columns.split_whitespace().collect();
        let sql = format!("SELECT {} FROM {name} LIMIT 3", columns.join(", "));
        let ran =
            std::process::Command::new("sqlite3").arg("-readonly").arg(&file).arg(&sql).output();
        let Ok(ran) = ran else { return };
        assert!(ran.status.success(), "{sql}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}
