//! Adds to a write the rows of transfers: those that it opens, those that it moves, and the due times
//! for the scanner.

use super::statement::{Params, Statements, params};
use super::workspace::BatchWorkspace;
use super::write_rows::{RowTimes, column};
use crate::postgres::columns::{self, int, small};
use kernel::flow::table::Flows;
use kernel::money::Amount;
use kernel::record::{Head, Record, Terms, TermsVersion};
use kernel::rules::{Changed, Opened};
use kernel::unit::Hold;
use std::collections::BTreeMap;

const OPEN: &str = include_str!("sql/open.sql");
/// Opens the transfers that have none of the rare columns (fee, texts, day, errors), as most.
const OPEN_PLAIN: &str = include_str!("sql/open_plain.sql");
const KEYS: &str = include_str!("sql/keys.sql");
const BATCH: &str = "INSERT INTO open_batches (batch, hi, worker) VALUES ($1, $2, $3)";
const MOVE: &str = include_str!("sql/move.sql");
/// Moves the transfers without retries or errors that go on right now or have ended, as most do.
const MOVE_PLAIN: &str = include_str!("sql/move_plain.sql");
const APPEND_HISTORY: &str = include_str!("sql/append_history.sql");
const DUE: &str = include_str!("sql/due.sql");
const OVER: &str = "DELETE FROM due WHERE transfer_id = ANY($1)";

/// The effects of a write on the process's batches of open transfers.
#[derive(Debug, Default)]
pub(crate) struct EndedTransfers {
    /// The batch that it opened, with how many of it are open.
    pub(crate) opened: Option<(i64, i64)>,
    /// The number of ended transfers of each batch.
    pub(crate) ended: BTreeMap<i64, i64>,
}

/// True where the transfer has no retries, rejections or deaths, and is not alone.
const fn has_no_trouble(head: &Head) -> bool {
    let Head { retries, rejections, alone, deaths, .. } = *head;
    retries == 0 && rejections == 0 && !alone && deaths == 0
}

/// True where the transfer has none of the columns that only some transfers have.
fn plain(record: &Record) -> bool {
    let terms = &*record.terms;
    let Terms { fee, refund_fee, deadline, memo, reference, metadata, day, .. } = terms;
    let bare = deadline.is_none() && memo.is_none() && reference.is_none() && day.is_none();
    let quiet = record.error.is_none() && has_no_trouble(&record.head);
    let one = columns::target_asset(terms).is_none() && columns::target_amount(terms).is_none();
    let user = terms.owner.user().is_some() && terms.origin.is_none() && record.agreed.is_none();
    let present = terms.version == TermsVersion::V3 && one && user;
    let free = *fee == Amount::ZERO && *refund_fee == Amount::ZERO;
    bare && quiet && present && free && metadata.is_empty()
}

/// The columns that only some opened transfers have.
fn optional_columns(rows: &[Opened]) -> Params {
    let metadata = |row: &Opened| {
        let metadata = &row.record.terms.metadata;
        (!metadata.is_empty()).then(|| serde_json::json!(metadata).to_string())
    };
    let words = |row: &Opened| {
        row.record.error.as_ref().and_then(|why| why.doc.as_deref().map(str::to_owned))
    };
    params![
        column(rows, |row| row.record.terms.fee.0.to_string()),
        column(rows, |row| row.record.terms.deadline.map(int)),
        column(rows, |row| row.record.terms.memo.clone()),
        column(rows, |row| row.record.terms.reference.clone()),
        column(rows, metadata),
        column(rows, words),
        column(rows, |row| row.record.error.as_ref().map(|why| why.code.to_string())),
        column(rows, |row| small(row.record.head.retries)),
        column(rows, |row| i32::from(row.record.head.rejections)),
        column(rows, |row| row.record.head.alone),
        column(rows, |row| i16::from(row.record.head.deaths)),
        column(rows, |row| row.record.terms.day.map(|day| small(day.0))),
        column(rows, |row| columns::owner(&row.record.terms)),
        column(rows, |row| columns::target_asset(&row.record.terms).map(small)),
        column(rows, |row| columns::target_amount(&row.record.terms).map(|net| net.0.to_string())),
        column(rows, |row| row.record.terms.origin.as_ref().map(|at| i16::from(at.chain.0))),
        column(rows, |row| row.record.terms.origin.as_ref().map(|at| at.key.to_string())),
        column(rows, |row| columns::terms_version(row.record.terms.version).map(i16::from)),
        column(rows, |row| columns::agreed(row.record.agreed.as_deref())),
        column(rows, |row| columns::refund_fee(&row.record.terms).map(|fee| fee.0.to_string())),
    ]
}

/// The columns that only some moving transfers have.
fn trouble_columns(rows: &[(&Changed, Head)]) -> Params {
    let class = |row: &Changed| row.error.as_ref().map(|why| why.code.to_string());
    let words =
        |row: &Changed| row.error.as_ref().and_then(|why| why.doc.as_deref().map(str::to_owned));
    params![
        column(rows, |(row, _)| class(row)),
        column(rows, |(row, _)| words(row)),
        column(rows, |(_, head)| small(head.retries)),
        column(rows, |(_, head)| i32::from(head.rejections)),
        column(rows, |(_, head)| head.alone),
        column(rows, |(_, head)| i16::from(head.deaths)),
        column(rows, |(_, head)| head.due_at.map(int)),
        column(rows, |(row, _)| columns::agreed(row.agreed.as_deref())),
    ]
}

impl Statements {
    /// Adds the parts about transfers; `worker` carries the opened ones.
    pub(crate) fn transfers(
        &mut self,
        flows: &Flows,
        workspace: &BatchWorkspace,
        RowTimes { at, put }: RowTimes,
        worker: i64,
    ) -> EndedTransfers {
        let mut ended = EndedTransfers::default();
        let opened = &workspace.changes.opened;
        if !opened.is_empty() {
            self.opened(flows, opened, at, workspace.numbers.batch);
            let ends = |row: &&Opened| flows.table(row.record.flow).ends(row.record.head.state);
            let open = opened.len().saturating_sub(opened.iter().filter(ends).count());
            if open > 0 {
                let (batch, hi) =
                    (workspace.numbers.batch, workspace.numbers.serial.saturating_sub(1));
                ended.opened = Some((batch, i64::try_from(open).unwrap_or(i64::MAX)));
                self.add(BATCH, params![batch, hi, worker]);
            }
        }
        let changed = &workspace.changes.changed;
        for row in changed.iter().filter(|row| row.ends) {
            let count = ended.ended.entry(row.was.batch).or_default();
            *count = count.saturating_add(1);
        }
        self.changed(flows, changed, at);
        self.due(opened, changed, worker, put);
        ended
    }

    fn opened(&mut self, flows: &Flows, rows: &[Opened], at: i64, batch: i64) {
        let table = |row: &Opened| flows.table(row.record.flow);
        let binding = |row: &'_ Opened| row.record.terms.binding.clone();
        let mut all = params![
            at,
            batch,
            column(rows, |row| row.transfer),
            column(rows, |row| columns::uuid(row.record.id)),
            column(rows, |row| table(row).flow),
            column(rows, |row| row.record.terms.principal.to_string()),
            column(rows, |row| int(row.record.terms.owner.number())),
            column(rows, |row| binding(row).map(|b| b.scope.to_string())),
            column(rows, |row| binding(row).map(|b| b.key.to_string())),
            column(rows, |row| binding(row).map(|b| b.fingerprint.to_vec())),
            column(rows, |row| small(row.record.terms.source.asset.0)),
            column(rows, |row| row.record.terms.source.amount.0.to_string()),
            column(rows, |row| i16::from(row.record.terms.source.system.code())),
            column(rows, |row| row.record.terms.source.account.key()),
            column(rows, |row| i16::from(row.record.terms.target.system.code())),
            column(rows, |row| row.record.terms.target.account.key()),
            column(rows, |row| table(row).state(row.record.head.state).code),
            column(rows, |row| small(row.record.head.version)),
            column(rows, |row| row.record.head.due_at.map(int)),
            column(rows, |row| small(row.added.events)),
            column(rows, |row| row.added.chain.to_vec()),
            column(rows, |row| row.added.text.clone()),
        ];
        if rows.iter().all(|row| plain(&row.record)) {
            self.add(OPEN_PLAIN, all);
        } else {
            all.extend(optional_columns(rows));
            self.add(OPEN, all);
        }
        // transactions that wait for each other's keys wait in one order
        let mut keys: Vec<_> = rows
            .iter()
            .filter_map(|row| binding(row).map(|b| (table(row).flow, b.scope, b.key, row.transfer)))
            .collect();
        keys.sort_unstable();
        if !keys.is_empty() {
            let flow = column(&keys, |key| key.0);
            let scope = column(&keys, |key| key.1.to_string());
            let cid = column(&keys, |key| key.2.to_string());
            self.add(KEYS, params![flow, scope, cid, column(&keys, |key| key.3)]);
        }
    }

    fn changed(&mut self, flows: &Flows, changed: &[Changed], at: i64) {
        let moved: Vec<_> =
            changed.iter().filter_map(|row| row.head.map(|(head, _)| (row, head))).collect();
        if !moved.is_empty() {
            let mut all = params![
                at,
                column(&moved, |(row, _)| row.was.transfer),
                column(&moved, |(row, _)| small(row.was.version)),
                column(&moved, |(row, _)| small(row.was.events)),
                column(&moved, |(row, head)| flows.table(row.was.flow).state(head.state).code),
                column(&moved, |(_, head)| small(head.version)),
                column(&moved, |(row, _)| small(row.added.events)),
                column(&moved, |(row, _)| row.added.chain.to_vec()),
                column(&moved, |(row, _)| row.added.text.clone()),
            ];
            let plain = |(row, head): &(&Changed, Head)| {
                let quiet = row.error.is_none() && row.agreed.is_none();
                quiet && has_no_trouble(head) && head.due_at.is_none()
            };
            if moved.iter().all(plain) {
                self.exactly(moved.len(), MOVE_PLAIN, all);
            } else {
                all.extend(trouble_columns(&moved));
                self.exactly(moved.len(), MOVE, all);
            }
        }
        let extended: Vec<_> = changed.iter().filter(|row| row.head.is_none()).collect();
        if !extended.is_empty() {
            self.exactly(
                extended.len(),
                APPEND_HISTORY,
                params![
                    at,
                    column(&extended, |row| row.was.transfer),
                    column(&extended, |row| small(row.was.events)),
                    column(&extended, |row| small(row.added.events)),
                    column(&extended, |row| row.added.chain.to_vec()),
                    column(&extended, |row| row.added.text.clone()),
                ],
            );
        }
    }

    /// Adds the rows for the scanner. A transfer that has one keeps it until it ends: the row names
    /// the worker that carries it.
    fn due(&mut self, opened: &[Opened], changed: &[Changed], worker: i64, put: i64) {
        let holder = |hold: Hold| (hold == Hold::Mine).then_some(worker);
        let fresh = opened.iter().filter_map(|row| {
            let due = row.record.head.due_at?;
            Some((row.transfer, Some(int(due)), holder(row.hold)))
        });
        let moved = changed.iter().filter(|row| !row.ends).filter_map(|row| match row.head? {
            (head, hold) if head.due_at.is_some() => {
                Some((row.was.transfer, head.due_at.map(int), holder(hold)))
            }
            // carried on right now
            _ if row.was.due => Some((row.was.transfer, None, Some(worker))),
            _ => None,
        });
        let mut rows: Vec<_> = fresh.chain(moved).collect();
        rows.sort_unstable();
        if !rows.is_empty() {
            let transfer = column(&rows, |row| row.0);
            let due = column(&rows, |row| row.1);
            self.add(DUE, params![transfer, due, column(&rows, |row| row.2), put]);
        }
        let mut over: Vec<i64> = changed
            .iter()
            .filter(|row| row.ends && row.was.due)
            .map(|row| row.was.transfer)
            .collect();
        over.sort_unstable();
        if !over.is_empty() {
            self.add(OVER, params![over]);
        }
    }
}
