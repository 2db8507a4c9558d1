//! The peer: bare SQLite doing the same writes in batches of the same making, and the same log for
//! the deposit. No engine, no guards, no checks: it is right only as long as nothing goes wrong.

use crate::probe::Syncs;
use rusqlite::{Connection, params};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The most items of one transaction, as in the store.
const MOST: usize = 4_096;
/// What Spot's log writes for one operation.
const LOGGED: usize = 31;

/// One phase of one transfer, and who waits for it.
type SyncRequest = (Phase, oneshot::Sender<()>);

enum Phase {
    /// The transfer's row with its history, its key, the withdraw and the balance.
    Open(u64),
    /// The transfer's end, the receipt, the settle and the balance.
    Close(u64),
}

/// The writers of the table and of the log.
#[derive(Clone)]
pub(crate) struct Bare {
    table: mpsc::Sender<SyncRequest>,
    log: mpsc::Sender<oneshot::Sender<()>>,
}

impl Bare {
    /// Opens a folder that holds a store's empty tables.
    pub(crate) fn open(dir: &Path, syncs: Arc<Syncs>) -> Result<Self, String> {
        let db = Connection::open(dir.join(store::sqlite::FILE)).map_err(|e| e.to_string())?;
        setup(&db).map_err(|e| e.to_string())?;
        let file = File::create(dir.join("bare.log")).map_err(|e| e.to_string())?;
        let (table, asked) = mpsc::channel(MOST);
        let (log, waiting) = mpsc::channel(MOST);
        let counted = syncs.clone();
        std::thread::spawn(move || write(&db, asked, &counted));
        std::thread::spawn(move || append(file, waiting, &syncs));
        Ok(Self { table, log })
    }

    /// One transfer: open, deposit, close, each durable before the next.
    pub(crate) async fn transfer(&self, n: u64) -> Result<(), String> {
        self.ask(Phase::Open(n)).await?;
        let (told, done) = oneshot::channel();
        self.log.send(told).await.map_err(|e| e.to_string())?;
        done.await.map_err(|e| e.to_string())?;
        self.ask(Phase::Close(n)).await
    }

    async fn ask(&self, phase: Phase) -> Result<(), String> {
        let (told, done) = oneshot::channel();
        self.table.send((phase, told)).await.map_err(|e| e.to_string())?;
        done.await.map_err(|e| e.to_string())
    }
}

fn setup(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "wal_autocheckpoint", 8_000)?;
    db.pragma_update(None, "cache_size", -32_768)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(())
}

fn append(mut file: File, mut waiting: mpsc::Receiver<oneshot::Sender<()>>, syncs: &Syncs) {
    let mut batch = Vec::new();
    while waiting.blocking_recv_many(&mut batch, MOST) > 0 {
        let bytes = vec![7; LOGGED * batch.len() + 64];
        if file.write_all(&bytes).and_then(|()| file.sync_data()).is_err() {
            return;
        }
        syncs.count();
        for told in batch.drain(..) {
            let _gone = told.send(());
        }
    }
}

fn write(db: &Connection, mut asked: mpsc::Receiver<SyncRequest>, syncs: &Syncs) {
    let mut batch = Vec::new();
    let mut number = 0;
    while asked.blocking_recv_many(&mut batch, MOST) > 0 {
        number += 1;
        if let Err(error) = group(db, &batch, number) {
            panic!("bare SQLite: {error}");
        }
        syncs.count();
        for (_, told) in batch.drain(..) {
            let _gone = told.send(());
        }
    }
}

fn group(db: &Connection, batch: &[SyncRequest], number: i64) -> rusqlite::Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    let mut opened = 0;
    for (phase, _) in batch {
        match phase {
            Phase::Open(n) => {
                open(db, i64::try_from(*n).unwrap_or(0), number)?;
                opened += 1;
            }
            Phase::Close(n) => close(db, i64::try_from(*n).unwrap_or(0))?,
        }
    }
    // what the store writes once for each group: open transfers, the audit's row, two books
    db.prepare_cached("INSERT INTO open_batches VALUES (?, 0, 0, ?)")?.execute([number, opened])?;
    db.prepare_cached("UPDATE open_batches SET open = 0 WHERE batch = ?")?.execute([number - 1])?;
    db.prepare_cached("DELETE FROM open_batches WHERE batch = ?")?.execute([number - 2])?;
    db.prepare_cached("INSERT INTO audit_units VALUES (0, ?, ?, ?, 0)")?
        .execute(params![number, opened, [7_u8; 32]])?;
    db.execute_batch("COMMIT")
}

/// The history that five events come to.
fn entries(from: u32, count: u32) -> String {
    let one = |seq| {
        format!(
            "[{seq},1763700000000,10,20,\"SOURCE_PENDING\",null,null,\
             \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"]"
        )
    };
    (from..from + count).map(one).collect::<Vec<_>>().join(",")
}

fn id(n: i64) -> String {
    format!("01M7YPNH1T{n:016}")
}

const AMOUNT: &str = "000000000000000000000000000000000010000";

fn open(db: &Connection, n: i64, batch: i64) -> rusqlite::Result<()> {
    // what it leaves out is NULL, as in a transfer of the store's own
    let sql = "INSERT INTO transfers (transfer_id, req_id, flow, principal, user_id, scope, cid, fingerprint, \
        asset_id, amount, fee, source_type, source_account, target_type, target_account, state, version, \
        retry_count, rejections, alone, deaths, created_at, updated_at, batch, events, chain, history) \
        VALUES (?, ?, 'internal', 'portage|1', ?, 'portage|1', ?, ?, 3, ?, ?, 1, '1', 2, '1', 30, 2, 0, 0, 0, 0, \
        1763700000000, 1763700000000, ?, 4, ?, ?)";
    let cid = format!("e{n}");
    let user = n % 1_000 + 1;
    db.prepare_cached(sql)?.execute(params![
        n + 1,
        id(n),
        user,
        cid,
        [7_u8; 32],
        AMOUNT,
        AMOUNT,
        batch,
        [7_u8; 32],
        entries(0, 4)
    ])?;
    let scope = format!("portage|{user}");
    db.prepare_cached("INSERT INTO keys VALUES ('internal', ?, ?, ?)")?.execute(params![
        scope,
        cid,
        n + 1
    ])?;
    if out(n) {
        operation(db, n, 1, "WITHDRAW")?;
        balance(db, user)?;
    }
    Ok(())
}

/// Every other transfer leaves Funding; the rest come back.
fn out(n: i64) -> bool {
    n % 2 == 0
}

fn close(db: &Connection, n: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE transfers SET state = 40, version = 3, updated_at = 1763700000001, \
        events = 5, chain = ?2, history = history || ',' || ?3 WHERE transfer_id = ?1";
    db.prepare_cached(sql)?.execute(params![n + 1, [7_u8; 32], entries(4, 1)])?;
    operation(db, n, 1, if out(n) { "SETTLE" } else { "DEPOSIT" })?;
    operation(db, n, 2, if out(n) { "DEPOSIT" } else { "WITHDRAW" })?;
    balance(db, n % 1_000 + 1)
}

fn operation(db: &Connection, n: i64, ledger: i64, leg: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO operations (req_id, ledger, leg, result, seq, asset_id, amount, account, at) \
        VALUES (?, ?, ?, 'DONE', ?, 3, ?, '1', 1763700000000)";
    db.prepare_cached(sql)?.execute(params![id(n), ledger, leg, n, AMOUNT])?;
    Ok(())
}

fn balance(db: &Connection, user: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO balances_tb VALUES (?1, 'FUNDING', 3, ?2, ?2, 'ACTIVE', 1) \
        ON CONFLICT DO UPDATE SET available = ?2, frozen = ?2, version = version + 1";
    db.prepare_cached(sql)?.execute(params![user, AMOUNT])?;
    Ok(())
}
