//! Runs the second round trip of a write: one statement with a part for each table, with all values in
//! arrays.
//!
//! Where a part would change other rows than the rules decided on, the statement raises an error, so
//! that the COMMIT, which is sent behind it, does nothing.

use super::balance_cache::BalanceKey;
use super::connection::WriteConnection;
use super::statement::{Statements, params};
use super::transfer_rows::EndedTransfers;
use super::workspace::{BalanceChange, BalanceRow, BatchWorkspace, UsageRow};
use crate::postgres::columns::{self, int, small};
use kernel::audit::UnitDigest;
use kernel::flow::table::Flows;
use kernel::ids::LedgerId;
use kernel::limits::DailyUsage;
use kernel::message::{self, Emitted};
use kernel::operation::Operation;
use kernel::record::Account;
use kernel::rules::{Book, UsageKey};
use std::collections::BTreeMap;
use uuid::Uuid;

const OPERATIONS: &str = include_str!("sql/operations.sql");
const BALANCES: &str = include_str!("sql/balances.sql");
const CHECK_BALANCES: &str = include_str!("sql/check_balances.sql");
const NEW_BALANCES: &str = include_str!("sql/new_balances.sql");
const BOOKS: &str = include_str!("sql/books.sql");
const USAGE: &str = include_str!("sql/usage.sql");
const NEW_USAGE: &str = include_str!("sql/new_usage.sql");
const OUTBOX: &str = include_str!("sql/outbox.sql");
const HIGHEST: &str = include_str!("sql/highest.sql");
const ENDS: &str = include_str!("sql/ended.sql");

/// Rows that are no longer needed; those that another transaction has locked are left to the
/// scanner.
const SWEPT: &str = "DELETE FROM open_batches WHERE batch IN (SELECT batch FROM open_batches \
    WHERE batch = ANY($1) FOR UPDATE SKIP LOCKED)";

const UNIT: &str =
    "INSERT INTO audit_units (lane, n, count, digest, at) VALUES ($1, $2, $3, $4, $5)";

const LANE: &str = "UPDATE lanes SET n = $2, at = $3, seq = $4 \
    WHERE lane = $1 AND n = $5 RETURNING 1";

/// The times that a write gives its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTimes {
    /// The time of its history.
    pub(crate) at: i64,
    /// The time by the clock that finds what is due.
    pub(crate) put: i64,
}

/// One value of each row.
pub(crate) fn column<'r, R: 'r, T>(
    rows: impl IntoIterator<Item = &'r R>,
    value: impl Fn(&'r R) -> T,
) -> Vec<T> {
    rows.into_iter().map(value).collect()
}

impl Statements {
    /// The parts of a workspace's write, and its effects on batches of open transfers. `worker`
    /// carries the opened transfers.
    pub(crate) fn of(
        lane: &WriteConnection,
        flows: &Flows,
        workspace: &mut BatchWorkspace,
        worker: i64,
    ) -> (Self, EndedTransfers) {
        let mut all = Self::default();
        let at = int(workspace.at);
        let times = RowTimes { at, put: int(workspace.put) };
        workspace.due_by_the_database();
        // first, as they are locked first where they are read
        all.balances(workspace);
        all.accounts(workspace);
        let ended = all.transfers(flows, workspace, times, worker);
        all.operations(&workspace.changes.operations, at);
        all.usage(workspace);
        all.outbox(&workspace.changes.outbox, at);
        all.inbox(workspace, at);
        all.named(workspace, at);
        all.attempts(flows, &mut workspace.changes.attempts, times, worker);
        let number = workspace.numbers.lane;
        all.books(&workspace.changes.books, number);
        all.running(&workspace.changes, number);
        if !workspace.changes.highest.is_empty() {
            let rows = &workspace.changes.highest;
            let ledgers = column(rows.keys(), |ledger| i16::from(ledger.0));
            all.add(HIGHEST, params![number, ledgers, column(rows.values(), |seq| int(*seq))]);
        }
        if !workspace.changes.ends.is_empty() {
            let rows = &workspace.changes.ends;
            let flow = column(rows.keys(), |(flow, _)| flows.table(*flow).flow);
            let state = column(rows.keys(), |(_, state)| *state);
            all.add(ENDS, params![number, flow, state, column(rows.values(), |more| *more)]);
        }
        all.audit(lane, workspace, at);
        (all, ended)
    }

    fn operations(&mut self, rows: &[(LedgerId, Operation)], at: i64) {
        if rows.is_empty() {
            return;
        }
        self.add(
            OPERATIONS,
            params![
                at,
                column(rows, |(_, o)| columns::uuid(o.op.key.id)),
                column(rows, |(ledger, _)| i16::from(ledger.0)),
                column(rows, |(_, o)| o.op.key.leg.name()),
                column(rows, |(_, o)| columns::outcome(&o.outcome).0),
                column(rows, |(_, o)| columns::outcome(&o.outcome).1.map(str::to_owned)),
                column(rows, |(_, o)| int(o.seq)),
                column(rows, |(_, o)| small(o.op.asset.0)),
                column(rows, |(_, o)| o.op.amount.0.to_string()),
                column(rows, |(_, o)| o.op.account.key()),
                column(rows, |(_, o)| o.op.other.as_ref().map(Account::key)),
            ],
        );
    }

    /// Balances: those that change, each from what was decided on, and those that do not but are
    /// only assumed.
    fn balances(&mut self, workspace: &BatchWorkspace) {
        let open = |(key, row): (&BalanceKey, &BalanceRow)| match row {
            BalanceRow::Owned(change) => Some((*key, *change)),
            BalanceRow::Absent | BalanceRow::Locked => None,
        };
        let (moved, mut unmoved): (Vec<_>, Vec<_>) =
            workspace.balances.iter().filter_map(open).partition(|(_, change)| change.now.changed);
        let (mut old, mut new): (Vec<_>, Vec<_>) =
            moved.into_iter().partition(|(_, change)| change.was.stored);
        unmoved.retain(|(_, change)| !change.read);
        // transactions that wait for each other's rows wait in one order
        [&mut old, &mut new, &mut unmoved]
            .into_iter()
            .for_each(|rows| rows.sort_unstable_by_key(|(key, _)| *key));
        let place = |rows: &[(BalanceKey, BalanceChange)]| {
            params![
                column(rows, |((user, _), _)| int(user.0)),
                column(rows, |((_, asset), _)| small(asset.0)),
            ]
        };
        let was = |rows: &[(BalanceKey, BalanceChange)]| {
            params![
                column(rows, |(_, change)| change.was.available.0.to_string()),
                column(rows, |(_, change)| change.was.frozen.0.to_string()),
                column(rows, |(_, change)| change.was.status.name()),
            ]
        };
        let now = |rows: &[(BalanceKey, BalanceChange)]| {
            params![
                column(rows, |(_, change)| change.now.available.0.to_string()),
                column(rows, |(_, change)| change.now.frozen.0.to_string()),
            ]
        };
        if !unmoved.is_empty() {
            let all = place(&unmoved).into_iter().chain(was(&unmoved)).collect();
            self.exactly(unmoved.len(), CHECK_BALANCES, all);
        }
        if !old.is_empty() {
            let all = place(&old).into_iter().chain(was(&old)).chain(now(&old)).collect();
            self.exactly(old.len(), BALANCES, all);
        }
        if !new.is_empty() {
            let status = params![column(&new, |(_, change)| change.now.status.name())];
            self.add(
                NEW_BALANCES,
                place(&new).into_iter().chain(now(&new)).chain(status).collect(),
            );
        }
    }

    fn usage(&mut self, workspace: &BatchWorkspace) {
        let mut rows: Vec<_> = workspace
            .usage
            .iter()
            .filter_map(|(key, usage)| match usage {
                UsageRow::Owned(stored, now, row) if stored != now => Some((*key, *now, *row)),
                UsageRow::Owned(..) | UsageRow::Locked => None,
            })
            .collect();
        rows.sort_unstable_by_key(|(key, ..)| *key);
        let (old, new): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(.., row)| *row);
        let counts = |rows: &[(UsageKey, DailyUsage, bool)]| {
            params![
                column(rows, |((day, ..), ..)| small(day.0)),
                column(rows, |((_, user, _), ..)| int(user.0)),
                column(rows, |((.., asset), ..)| small(asset.0)),
                column(rows, |(_, now, _)| int(now.transfers)),
                column(rows, |(_, now, _)| now.amount.0.to_string()),
            ]
        };
        if !old.is_empty() {
            self.exactly(old.len(), USAGE, counts(&old));
        }
        if !new.is_empty() {
            self.add(NEW_USAGE, counts(&new));
        }
    }

    fn outbox(&mut self, rows: &[Emitted], at: i64) {
        if rows.is_empty() {
            return;
        }
        self.add(
            OUTBOX,
            params![
                at,
                column(rows, |row| i16::try_from(message::bucket(&row.key)).unwrap_or(0)),
                column(rows, |row| Uuid::from_u128(row.number)),
                column(rows, |row| columns::uuid(row.id)),
                column(rows, |row| small(row.n)),
                column(rows, |row| row.topic.to_string()),
                column(rows, |row| row.key.to_string()),
                column(rows, |row| row.kind.to_string()),
                column(rows, |row| row.payload.to_string()),
                column(rows, |row| row.headers.to_string()),
            ],
        );
    }

    fn books(&mut self, books: &BTreeMap<Book, i128>, lane: i32) {
        let rows: Vec<_> = books.iter().filter(|(_, sum)| **sum != 0).collect();
        if !rows.is_empty() {
            let (book, ledger) = (
                column(&rows, |(of, _)| of.book.name()),
                column(&rows, |(of, _)| of.ledger.name()),
            );
            let asset = column(&rows, |(of, _)| small(of.asset.0));
            let sum = column(&rows, |(_, sum)| sum.to_string());
            self.add(BOOKS, params![lane, book, asset, sum, ledger]);
        }
    }

    /// The lane's row, and this write's row of `audit_units` where it has history.
    fn audit(&mut self, lane: &WriteConnection, workspace: &mut BatchWorkspace, at: i64) {
        let entries = &mut workspace.changes.entries;
        // an order that anybody can find again from the rows
        entries.sort_unstable_by_key(|(transfer, seq, _)| (*transfer, *seq));
        let (n, seq) = lane.after(&workspace.numbers, !entries.is_empty());
        if !entries.is_empty() {
            let mut digest = UnitDigest::default();
            entries.iter().for_each(|(_, _, hash)| digest.push(*hash));
            let count = small(digest.count);
            let number = u64::try_from(lane.lane).unwrap_or(0);
            let digest = digest.finish(number, workspace.numbers.unit).to_vec();
            self.add(UNIT, params![lane.lane, int(n), count, digest, at]);
        }
        self.exactly(1, LANE, params![lane.lane, int(n), at, int(seq), int(lane.n)]);
    }

    /// Deletes what keeps batches open that have ended.
    pub(crate) fn sweep(&mut self, batches: Vec<i64>) {
        if !batches.is_empty() {
            self.add(SWEPT, params![batches]);
        }
    }
}
