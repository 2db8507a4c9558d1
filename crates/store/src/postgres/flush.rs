//! The second round trip of a write: one statement with a part for each table, everything in arrays.
//!
//! Where a part would change other rows than were decided on the statement raises an error, so that
//! COMMIT, which was sent behind it, does nothing.

use super::board::{Board, Held, Moves, Purse};
use super::lane::Lane;
use super::purses::Owner;
use super::statement::{Statements, params};
use super::text::{self, int, small};
use super::transfers::Ended;
use crate::rules::{Book, Spend};
use kernel::audit::UnitDigest;
use kernel::ids::{AssetId, LedgerId};
use kernel::people::Spent;
use kernel::table::Flows;
use kernel::unit::{Operation, Outgoing};
use std::collections::BTreeMap;

const OPERATIONS: &str = include_str!("sql/operations.sql");
const PURSES: &str = include_str!("sql/balances.sql");
const UNMOVED: &str = include_str!("sql/unmoved.sql");
const NEW_PURSES: &str = include_str!("sql/new_balances.sql");
const BOOKS: &str = include_str!("sql/books.sql");
const MOVES: &str = include_str!("sql/moves.sql");
const NEW_MOVES: &str = include_str!("sql/new_moves.sql");
const OUTBOX: &str = include_str!("sql/outbox.sql");
const HIGHEST: &str = include_str!("sql/highest.sql");
const ENDS: &str = include_str!("sql/ended.sql");

/// Rows that are no longer needed; those that somebody else just looks at are left to the scanner.
const SWEPT: &str = "DELETE FROM open_batches WHERE batch IN (SELECT batch FROM open_batches \
    WHERE batch = ANY($1) FOR UPDATE SKIP LOCKED)";

const UNIT: &str =
    "INSERT INTO audit_units (lane, n, count, digest, at) VALUES ($1, $2, $3, $4, $5)";

const LANE: &str = "UPDATE lanes SET n = $2, at = $3, seq = $4 \
    WHERE lane = $1 AND n = $5 RETURNING 1";

/// One value of each row.
pub(crate) fn column<'r, R: 'r, T>(
    rows: impl IntoIterator<Item = &'r R>,
    value: impl Fn(&'r R) -> T,
) -> Vec<T> {
    rows.into_iter().map(value).collect()
}

impl Statements {
    /// Everything that a board has to be written, and what it means for batches. `worker` carries
    /// what is opened.
    pub(crate) fn of(lane: &Lane, flows: &Flows, board: &mut Board, worker: i64) -> (Self, Ended) {
        let mut all = Self::default();
        let at = int(board.at);
        // first, as they are locked first where they are read
        all.purses(board);
        let ended = all.transfers(flows, board, (at, worker));
        all.operations(&board.changes.operations, at);
        all.moves(board);
        all.outbox(&board.changes.outbox, at);
        let number = board.numbers.lane;
        all.books(&board.changes.books, number);
        all.running(&board.changes, number);
        if !board.changes.highest.is_empty() {
            let rows = &board.changes.highest;
            let ledgers = column(rows.keys(), |ledger| i16::from(ledger.0));
            all.add(HIGHEST, params![number, ledgers, column(rows.values(), |seq| int(*seq))]);
        }
        if !board.changes.ends.is_empty() {
            let rows = &board.changes.ends;
            let flow = column(rows.keys(), |(flow, _)| flows.table(*flow).flow);
            let state = column(rows.keys(), |(_, state)| *state);
            all.add(ENDS, params![number, flow, state, column(rows.values(), |more| *more)]);
        }
        all.audit(lane, board, at);
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
                column(rows, |(_, o)| text::uuid(o.op.key.id)),
                column(rows, |(ledger, _)| i16::from(ledger.0)),
                column(rows, |(_, o)| o.op.key.leg.name()),
                column(rows, |(_, o)| text::outcome(&o.outcome).0),
                column(rows, |(_, o)| text::outcome(&o.outcome).1.map(str::to_owned)),
                column(rows, |(_, o)| int(o.seq)),
                column(rows, |(_, o)| small(o.op.asset.0)),
                column(rows, |(_, o)| o.op.amount.0.to_string()),
                column(rows, |(_, o)| text::account(&o.op.account)),
            ],
        );
    }

    /// Balances: those that change, each from what was decided on, and those that do not but are only
    /// believed.
    fn purses(&mut self, board: &Board) {
        let open = |(owner, purse): (&Owner, &Purse)| match purse {
            Purse::Open(held) => Some((*owner, *held)),
            Purse::Nobody | Purse::Locked => None,
        };
        let (moved, mut unmoved): (Vec<_>, Vec<_>) =
            board.purses.iter().filter_map(open).partition(|(_, held)| held.now.changed);
        let (mut old, mut new): (Vec<_>, Vec<_>) =
            moved.into_iter().partition(|(_, held)| held.was.stored);
        unmoved.retain(|(_, held)| !held.read);
        // whoever waits for another's row waits in one order
        [&mut old, &mut new, &mut unmoved]
            .into_iter()
            .for_each(|rows| rows.sort_unstable_by_key(|(owner, _)| *owner));
        let place = |rows: &[(Owner, Held)]| {
            params![
                column(rows, |((user, _), _)| int(user.0)),
                column(rows, |((_, asset), _)| small(asset.0)),
            ]
        };
        let was = |rows: &[(Owner, Held)]| {
            params![
                column(rows, |(_, held)| held.was.available.0.to_string()),
                column(rows, |(_, held)| held.was.frozen.0.to_string()),
                column(rows, |(_, held)| held.was.status.name()),
            ]
        };
        let now = |rows: &[(Owner, Held)]| {
            params![
                column(rows, |(_, held)| held.now.available.0.to_string()),
                column(rows, |(_, held)| held.now.frozen.0.to_string()),
            ]
        };
        if !unmoved.is_empty() {
            let all = place(&unmoved).into_iter().chain(was(&unmoved)).collect();
            self.exactly(unmoved.len(), UNMOVED, all);
        }
        if !old.is_empty() {
            let all = place(&old).into_iter().chain(was(&old)).chain(now(&old)).collect();
            self.exactly(old.len(), PURSES, all);
        }
        if !new.is_empty() {
            let status = params![column(&new, |(_, held)| held.now.status.name())];
            self.add(NEW_PURSES, place(&new).into_iter().chain(now(&new)).chain(status).collect());
        }
    }

    fn moves(&mut self, board: &Board) {
        let mut rows: Vec<_> = board
            .moves
            .iter()
            .filter_map(|(key, moves)| match moves {
                Moves::Open(stored, now, row) if stored != now => Some((*key, *now, *row)),
                Moves::Open(..) | Moves::Locked => None,
            })
            .collect();
        rows.sort_unstable_by_key(|(key, ..)| *key);
        let (old, new): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(.., row)| *row);
        let counts = |rows: &[(Spend, Spent, bool)]| {
            params![
                column(rows, |((day, ..), ..)| small(day.0)),
                column(rows, |((_, user, _), ..)| int(user.0)),
                column(rows, |((.., asset), ..)| small(asset.0)),
                column(rows, |(_, now, _)| int(now.transfers)),
                column(rows, |(_, now, _)| now.amount.0.to_string()),
            ]
        };
        if !old.is_empty() {
            self.exactly(old.len(), MOVES, counts(&old));
        }
        if !new.is_empty() {
            self.add(NEW_MOVES, counts(&new));
        }
    }

    fn outbox(&mut self, rows: &[Outgoing], at: i64) {
        if rows.is_empty() {
            return;
        }
        let id = column(rows, crate::outbox::message_id);
        let transfer = column(rows, |message| text::uuid(message.id));
        let n = column(rows, |message| small(message.n));
        let (topic, key) =
            (column(rows, |message| message.topic), column(rows, |message| message.id.to_string()));
        self.add(OUTBOX, params![at, id, transfer, n, topic, key]);
    }

    fn books(&mut self, books: &BTreeMap<(Book, AssetId), i128>, lane: i32) {
        let rows: Vec<_> = books.iter().filter(|(_, sum)| **sum != 0).collect();
        if !rows.is_empty() {
            let book = column(&rows, |((book, _), _)| book.name());
            let asset = column(&rows, |((_, asset), _)| small(asset.0));
            self.add(BOOKS, params![lane, book, asset, column(&rows, |(_, sum)| sum.to_string())]);
        }
    }

    /// The lane's row, and this write's row of `audit_units` where it has history.
    fn audit(&mut self, lane: &Lane, board: &mut Board, at: i64) {
        let entries = &mut board.changes.entries;
        // an order that anybody can find again from the rows
        entries.sort_unstable_by_key(|(transfer, seq, _)| (*transfer, *seq));
        let (n, seq) = lane.after(&board.numbers, !entries.is_empty());
        if !entries.is_empty() {
            let mut digest = UnitDigest::default();
            entries.iter().for_each(|(_, _, hash)| digest.push(*hash));
            let count = small(digest.count);
            let number = u64::try_from(lane.lane).unwrap_or(0);
            let digest = digest.finish(number, board.numbers.unit).to_vec();
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
