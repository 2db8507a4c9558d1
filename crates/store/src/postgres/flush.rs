//! The second round trip of a write: one statement with a part for each table, everything in arrays.
//!
//! Where a part would change other rows than were decided on the statement raises an error, so that
//! COMMIT, which was sent behind it, does nothing.

use super::board::{Board, Moves, Purse};
use super::lane::Lane;
use super::statement::{Statements, params};
use super::text::{self, int, small};
use crate::rules::{Balance, Book, Changed, Opened, Spend};
use kernel::audit::UnitDigest;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::people::Spent;
use kernel::table::Flows;
use kernel::unit::{Hold, Operation, Outgoing};
use std::collections::BTreeMap;

/// What becomes of a process's transfers by a write, as far as its batches are concerned.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// The batch that it opened, with how many of it are open.
    pub(crate) opened: Option<(i64, i64)>,
    /// So many of each batch ended.
    pub(crate) ended: BTreeMap<i64, i64>,
}

const OPEN: &str = "INSERT INTO transfers (transfer_id, req_id, flow, principal, user_id, scope, cid, \
    fingerprint, asset_id, amount, fee, source_type, source_account, target_type, target_account, \
    deadline, memo, reference, metadata, state, version, error_message, error_class, retry_count, \
    rejections, alone, deaths, due_at, created_at, updated_at, limit_day, batch, events, chain, history) \
    SELECT transfer_id, req_id, flow, principal, user_id, scope, cid, fingerprint, asset_id, \
    amount::numeric, fee::numeric, source_type, source_account, target_type, target_account, \
    deadline, memo, reference, metadata, state, version, error_message, error_class, retry_count, \
    rejections, alone, deaths, due_at, $1, $1, limit_day, $2, events, chain, history \
    FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], \
    $10::bytea[], $11::int[], $12::text[], $13::text[], $14::smallint[], $15::text[], $16::smallint[], \
    $17::text[], $18::bigint[], $19::text[], $20::text[], $21::text[], $22::smallint[], $23::int[], \
    $24::text[], $25::text[], $26::int[], $27::int[], $28::boolean[], $29::smallint[], $30::bigint[], \
    $31::int[], $32::int[], $33::bytea[], $34::text[]) \
    AS n(transfer_id, req_id, flow, principal, user_id, scope, cid, fingerprint, asset_id, amount, fee, \
    source_type, source_account, target_type, target_account, deadline, memo, reference, metadata, \
    state, version, error_message, error_class, retry_count, rejections, alone, deaths, due_at, \
    limit_day, events, chain, history)";

const KEYS: &str = "INSERT INTO keys (flow, scope, cid, transfer_id) \
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])";

const MOVE: &str = "UPDATE transfers t SET state = n.state, version = n.version, \
    error_class = coalesce(n.class, t.error_class), \
    error_message = CASE WHEN n.class IS NULL THEN t.error_message ELSE n.message END, \
    retry_count = n.retries, rejections = n.rejections, alone = n.alone, deaths = n.deaths, \
    due_at = n.due_at, updated_at = $1, events = n.events, chain = n.chain, \
    history = CASE WHEN n.added = '' THEN t.history ELSE t.history || ',' || n.added END \
    FROM unnest($2::bigint[], $3::int[], $4::int[], $5::smallint[], $6::int[], $7::text[], $8::text[], \
    $9::int[], $10::int[], $11::boolean[], $12::smallint[], $13::bigint[], $14::int[], $15::bytea[], \
    $16::text[]) AS n(transfer_id, was, had, state, version, class, message, retries, rejections, \
    alone, deaths, due_at, events, chain, added) \
    WHERE t.transfer_id = n.transfer_id AND t.version = n.was AND t.events = n.had RETURNING 1";

const TELL: &str = "UPDATE transfers t SET updated_at = $1, events = n.events, \
    chain = n.chain, history = t.history || ',' || n.added \
    FROM unnest($2::bigint[], $3::int[], $4::int[], $5::bytea[], $6::text[]) \
    AS n(transfer_id, had, events, chain, added) \
    WHERE t.transfer_id = n.transfer_id AND t.events = n.had RETURNING 1";

const DUE: &str = "INSERT INTO due (transfer_id, due_at, leased_by) \
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) ON CONFLICT (transfer_id) \
    DO UPDATE SET due_at = excluded.due_at, leased_by = excluded.leased_by, orphan = false";

const OVER: &str = "DELETE FROM due WHERE transfer_id = ANY($1)";

const OPERATIONS: &str = "INSERT INTO operations \
    (req_id, ledger, leg, result, code, seq, asset_id, amount, account, at) \
    SELECT req_id, ledger, leg, result, code, seq, asset_id, amount::numeric, account, $1 \
    FROM unnest($2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::bigint[], \
    $8::int[], $9::text[], $10::text[]) \
    AS n(req_id, ledger, leg, result, code, seq, asset_id, amount, account)";

const PURSES: &str = "UPDATE balances_tb b SET available = n.available::numeric, \
    frozen = n.frozen::numeric, version = b.version + 1 \
    FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[]) \
    AS n(user_id, asset_id, available, frozen) WHERE b.user_id = n.user_id \
    AND b.account_type = 'FUNDING' AND b.asset_id = n.asset_id RETURNING 1";

const NEW_PURSES: &str = "INSERT INTO balances_tb \
    (user_id, account_type, asset_id, available, frozen, status, version) \
    SELECT user_id, 'FUNDING', asset_id, available::numeric, frozen::numeric, status, 1 \
    FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[]) \
    AS n(user_id, asset_id, available, frozen, status)";

const BOOKS: &str = "INSERT INTO books (account_type, book, lane, asset_id, amount) \
    SELECT 'FUNDING', book, $1, asset_id, amount::numeric \
    FROM unnest($2::text[], $3::int[], $4::text[]) AS n(book, asset_id, amount) \
    ON CONFLICT (account_type, book, lane, asset_id) \
    DO UPDATE SET amount = books.amount + excluded.amount";

const MOVES: &str = "UPDATE limits_tb l SET transfers = n.transfers, \
    amount = n.amount::numeric FROM unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[], $5::text[]) \
    AS n(day, user_id, asset_id, transfers, amount) WHERE l.day = n.day AND l.user_id = n.user_id \
    AND l.asset_id = n.asset_id RETURNING 1";

const NEW_MOVES: &str = "INSERT INTO limits_tb (day, user_id, asset_id, transfers, amount) \
    SELECT day, user_id, asset_id, transfers, amount::numeric \
    FROM unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[], $5::text[]) \
    AS n(day, user_id, asset_id, transfers, amount)";

const OUTBOX: &str = "INSERT INTO outbox \
    (id, req_id, n, topic, partition_key, type, payload, headers, created_at) \
    SELECT id, req_id, n, topic, key, topic, '{}', '{}', $1 \
    FROM unnest($2::uuid[], $3::uuid[], $4::int[], $5::text[], $6::text[]) AS n(id, req_id, n, topic, key) \
    ON CONFLICT (req_id, type, n) DO NOTHING";

const HIGHEST: &str = "INSERT INTO ledger_lanes (ledger, lane, highest) \
    SELECT ledger, $1, highest FROM unnest($2::smallint[], $3::bigint[]) AS n(ledger, highest) \
    ON CONFLICT (ledger, lane) DO UPDATE SET highest = greatest(ledger_lanes.highest, excluded.highest)";

const ENDS: &str = "INSERT INTO ended (lane, flow, state, transfers) \
    SELECT $1, flow, state, more FROM unnest($2::text[], $3::smallint[], $4::bigint[]) AS n(flow, state, more) \
    ON CONFLICT (lane, flow, state) DO UPDATE SET transfers = ended.transfers + excluded.transfers";

const BATCH: &str = "INSERT INTO open_batches (batch, hi, worker) VALUES ($1, $2, $3)";

/// Rows that are no longer needed; those that somebody else just looks at are left to the scanner.
const SWEPT: &str = "DELETE FROM open_batches WHERE batch IN (SELECT batch FROM open_batches \
    WHERE batch = ANY($1) FOR UPDATE SKIP LOCKED)";

const UNIT: &str =
    "INSERT INTO audit_units (lane, n, count, digest, at) VALUES ($1, $2, $3, $4, $5)";

const LANE: &str = "UPDATE lanes SET n = $2, at = $3, seq = $4 \
    WHERE lane = $1 AND n = $5 RETURNING 1";

/// One value of each row.
fn column<'r, R: 'r, T>(
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
        let ended = all.transfers(flows, board, (at, worker));
        all.operations(&board.changes.operations, at);
        all.purses(board);
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

    fn transfers(&mut self, flows: &Flows, board: &Board, (at, worker): (i64, i64)) -> Ended {
        let mut ended = Ended::default();
        let opened = &board.changes.opened;
        if !opened.is_empty() {
            self.opened(flows, opened, (at, board.numbers.batch));
            let ends = |row: &&Opened| flows.table(row.record.flow).ends(row.record.head.state);
            let open = opened.len().saturating_sub(opened.iter().filter(ends).count());
            if open > 0 {
                let (batch, hi) = (board.numbers.batch, board.numbers.serial.saturating_sub(1));
                ended.opened = Some((batch, i64::try_from(open).unwrap_or(i64::MAX)));
                self.add(BATCH, params![batch, hi, worker]);
            }
        }
        let changed = &board.changes.changed;
        for row in changed.iter().filter(|row| row.ends) {
            let count = ended.ended.entry(row.was.batch).or_default();
            *count = count.saturating_add(1);
        }
        self.changed(flows, changed, at);
        self.due(opened, changed, worker);
        ended
    }

    fn opened(&mut self, flows: &Flows, rows: &[Opened], (at, batch): (i64, i64)) {
        let table = |row: &Opened| flows.table(row.record.flow);
        let binding = |row: &'_ Opened| row.record.terms.binding.clone();
        let metadata = |row: &Opened| {
            let metadata = &row.record.terms.metadata;
            (!metadata.is_empty()).then(|| serde_json::json!(metadata).to_string())
        };
        self.add(
            OPEN,
            params![
                at,
                batch,
                column(rows, |row| row.transfer),
                column(rows, |row| text::uuid(row.record.id)),
                column(rows, |row| table(row).flow),
                column(rows, |row| row.record.terms.principal.to_string()),
                column(rows, |row| int(row.record.terms.user.0)),
                column(rows, |row| binding(row).map(|b| b.scope.to_string())),
                column(rows, |row| binding(row).map(|b| b.key.to_string())),
                column(rows, |row| binding(row).map(|b| b.fingerprint.to_vec())),
                column(rows, |row| small(row.record.terms.asset.0)),
                column(rows, |row| row.record.terms.amount.0.to_string()),
                column(rows, |row| row.record.terms.fee.0.to_string()),
                column(rows, |row| i16::from(row.record.terms.source.system.code())),
                column(rows, |row| text::account(&row.record.terms.source.account)),
                column(rows, |row| i16::from(row.record.terms.target.system.code())),
                column(rows, |row| text::account(&row.record.terms.target.account)),
                column(rows, |row| row.record.terms.deadline.map(int)),
                column(rows, |row| row.record.terms.memo.clone()),
                column(rows, |row| row.record.terms.reference.clone()),
                column(rows, metadata),
                column(rows, |row| table(row).state(row.record.head.state).code),
                column(rows, |row| small(row.record.head.version)),
                column(rows, |row| row
                    .record
                    .error
                    .as_ref()
                    .and_then(|why| why.doc.as_deref().map(str::to_owned))),
                column(rows, |row| row.record.error.as_ref().map(|why| why.code.to_string())),
                column(rows, |row| small(row.record.head.retries)),
                column(rows, |row| i32::from(row.record.head.rejections)),
                column(rows, |row| row.record.head.alone),
                column(rows, |row| i16::from(row.record.head.deaths)),
                column(rows, |row| row.record.head.due_at.map(int)),
                column(rows, |row| row.record.terms.day.map(|day| small(day.0))),
                column(rows, |row| small(row.added.events)),
                column(rows, |row| row.added.chain.to_vec()),
                column(rows, |row| row.added.text.clone()),
            ],
        );
        // whoever waits for another's key waits in one order
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
        let class = |row: &Changed| row.error.as_ref().map(|why| why.code.to_string());
        let words = |row: &Changed| {
            row.error.as_ref().and_then(|why| why.doc.as_deref().map(str::to_owned))
        };
        if !moved.is_empty() {
            self.exactly(
                moved.len(),
                MOVE,
                params![
                    at,
                    column(&moved, |(row, _)| row.was.transfer),
                    column(&moved, |(row, _)| small(row.was.version)),
                    column(&moved, |(row, _)| small(row.was.events)),
                    column(&moved, |(row, head)| flows.table(row.was.flow).state(head.state).code),
                    column(&moved, |(_, head)| small(head.version)),
                    column(&moved, |(row, _)| class(row)),
                    column(&moved, |(row, _)| words(row)),
                    column(&moved, |(_, head)| small(head.retries)),
                    column(&moved, |(_, head)| i32::from(head.rejections)),
                    column(&moved, |(_, head)| head.alone),
                    column(&moved, |(_, head)| i16::from(head.deaths)),
                    column(&moved, |(_, head)| head.due_at.map(int)),
                    column(&moved, |(row, _)| small(row.added.events)),
                    column(&moved, |(row, _)| row.added.chain.to_vec()),
                    column(&moved, |(row, _)| row.added.text.clone()),
                ],
            );
        }
        let told: Vec<_> = changed.iter().filter(|row| row.head.is_none()).collect();
        if !told.is_empty() {
            self.exactly(
                told.len(),
                TELL,
                params![
                    at,
                    column(&told, |row| row.was.transfer),
                    column(&told, |row| small(row.was.events)),
                    column(&told, |row| small(row.added.events)),
                    column(&told, |row| row.added.chain.to_vec()),
                    column(&told, |row| row.added.text.clone()),
                ],
            );
        }
    }

    /// Rows for the scanner. A transfer that had one keeps it until it ends: who carries it stands
    /// there.
    fn due(&mut self, opened: &[Opened], changed: &[Changed], worker: i64) {
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
            self.add(DUE, params![transfer, due, column(&rows, |row| row.2)]);
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

    fn purses(&mut self, board: &Board) {
        let mut rows: Vec<_> = board
            .purses
            .iter()
            .filter_map(|(key, purse)| match purse {
                Purse::Open(balance) if balance.changed => Some((*key, *balance)),
                Purse::Open(_) | Purse::Nobody | Purse::Locked => None,
            })
            .collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        let (old, new): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, row)| row.stored);
        let sums = |rows: &[((UserId, AssetId), Balance)]| {
            params![
                column(rows, |((user, _), _)| int(user.0)),
                column(rows, |((_, asset), _)| small(asset.0)),
                column(rows, |(_, row)| row.available.0.to_string()),
                column(rows, |(_, row)| row.frozen.0.to_string()),
            ]
        };
        if !old.is_empty() {
            self.exactly(old.len(), PURSES, sums(&old));
        }
        if !new.is_empty() {
            let mut all = sums(&new);
            all.extend(params![column(&new, |(_, row)| row.status.name())]);
            self.add(NEW_PURSES, all);
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
