//! The first round trip of a write: the transaction, the time, the flags, and every row that its
//! items name, under their locks.

use super::blocks;
use super::board::{Board, Flags, Held, Moves, Numbers, Purse, Seat};
use super::fault::Fault;
use super::keys;
use super::lane::Lane;
use super::needs::Needs;
use super::statement::{Params, borrowed, params};
use super::text::{self, count, int, small, uint};
use crate::rules::{Balance, Spend, Standing};
use futures_util::future::join_all;
use kernel::audit::Hash;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::people::{Day, Spent};
use kernel::ports::ledger::{Identity, Incarnation, Known};
use kernel::table::Flows;
use kernel::unit::{Key, Op, Operation};
use std::collections::BTreeSet;
use tokio_postgres::Row;
use uuid::Uuid;

/// Everybody who writes holds this advisory lock, shared; whoever changes flags or systems holds it
/// alone, so that every later write sees the change and no earlier one is still under way.
pub(crate) const STANDING: i64 = 0x506f_7274_0002;
/// Held, alone, by whoever adds to a chain of deeds.
pub(crate) const DEEDS: i64 = 0x506f_7274_0003;

/// What a transaction holds from its beginning to its end, beside rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// It changes flags or systems: no other write is under way.
    pub(crate) alone: bool,
    /// It adds to a chain of deeds.
    pub(crate) deeds: bool,
}

impl Turn {
    /// Begins it; `opens`: it takes numbers for transfers, which others may commit before.
    fn begin(self, opens: bool) -> String {
        let mut sql = "BEGIN".to_owned();
        if self.alone {
            // whoever comes later waits behind this one: not for long, if somebody stands still
            sql += &format!(
                "; SET LOCAL lock_timeout = 100; SELECT pg_advisory_xact_lock({STANDING})"
            );
        } else {
            sql += &format!("; SELECT pg_advisory_xact_lock_shared({STANDING})");
        }
        if self.deeds {
            sql += &format!("; SELECT pg_advisory_xact_lock({DEEDS})");
        }
        if opens {
            sql += &format!("; {}", blocks::announce());
        }
        sql
    }
}

/// How a write meets rows that somebody else holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It leaves them out.
    Skip,
    /// It waits, as long as the session allows.
    Lock,
}

const FLAGS: &str = "SELECT portage_now(), \
    (SELECT value FROM service_state WHERE name = 'halted') IS NOT NULL, \
    (SELECT value FROM service_state WHERE name = 'horizon'), \
    CASE WHEN $1 THEN nextval('transfer_blocks') ELSE 0 END, \
    CASE WHEN $2 THEN nextval('operation_blocks') ELSE 0 END, \
    ARRAY(SELECT asset_id FROM assets_tb), \
    ARRAY(SELECT ledger FROM ledgers_tb WHERE current ORDER BY ledger), \
    ARRAY(SELECT identity FROM ledgers_tb WHERE current ORDER BY ledger), \
    ARRAY(SELECT incarnation FROM ledgers_tb WHERE current ORDER BY ledger), \
    ARRAY(SELECT ledger FROM ledger_owners ORDER BY ledger), \
    ARRAY(SELECT epoch FROM ledger_owners ORDER BY ledger), \
    (pg_current_wal_flush_lsn() - '0/0')::bigint, \
    (SELECT coalesce(max(halt), 0) FROM halts), \
    current_setting('synchronous_standby_names') <> ''";

const SEATS: &str = "SELECT t.req_id, t.transfer_id, t.flow, t.state, t.version, t.batch, t.events, \
    t.chain, EXISTS (SELECT 1 FROM due d WHERE d.transfer_id = t.transfer_id) \
    FROM transfers t WHERE t.req_id = ANY($1) ORDER BY t.req_id FOR NO KEY UPDATE OF t";

const PURSES: &str = "SELECT b.user_id, b.asset_id, b.available::text, b.frozen::text, b.status \
    FROM unnest($1::bigint[], $2::int[]) AS n(user_id, asset_id) JOIN balances_tb b \
    ON b.user_id = n.user_id AND b.account_type = 'FUNDING' AND b.asset_id = n.asset_id \
    ORDER BY b.user_id, b.asset_id FOR NO KEY UPDATE OF b";

const MOVES: &str = "SELECT l.day, l.user_id, l.asset_id, l.transfers, l.amount::text \
    FROM unnest($1::int[], $2::bigint[], $3::int[]) AS n(day, user_id, asset_id) JOIN limits_tb l \
    ON l.day = n.day AND l.user_id = n.user_id AND l.asset_id = n.asset_id \
    ORDER BY l.day, l.user_id, l.asset_id FOR NO KEY UPDATE OF l";

const LEGS: &str = "SELECT req_id, leg, result, code, seq, asset_id, amount::text, account, ledger \
    FROM operations WHERE req_id = ANY($1)";

fn locking(sql: &str, wait: Wait) -> String {
    match wait {
        Wait::Skip => format!("{sql} SKIP LOCKED"),
        Wait::Lock => sql.to_owned(),
    }
}

/// A question of the first round trip.
pub(crate) type Ask = (String, Params);

/// Rows as an account names them: locked for a moment, to see that nobody else holds them.
const PURSE: &str = "SELECT FROM balances_tb WHERE user_id = $1 AND account_type = 'FUNDING' \
    AND asset_id = $2 FOR NO KEY UPDATE";
const SEAT: &str = "SELECT FROM transfers WHERE req_id = $1 FOR NO KEY UPDATE";

impl Lane {
    /// Waits until nobody else holds a balance, as long as the session allows.
    ///
    /// # Errors
    /// [`Fault::Locked`]: somebody still does.
    pub(crate) async fn purse_let_go(&self, user: UserId, asset: AssetId) -> Result<(), Fault> {
        self.waited_for(PURSE, &params![int(user.0), small(asset.0)]).await
    }

    /// Waits until nobody else holds a transfer, as long as the session allows.
    ///
    /// # Errors
    /// [`Fault::Locked`]: somebody still does.
    pub(crate) async fn seat_let_go(&self, id: Id) -> Result<(), Fault> {
        self.waited_for(SEAT, &params![text::uuid(id)]).await
    }

    /// Runs a statement that may wait in a transaction of its own, which holds nothing else and
    /// changes nothing.
    pub(crate) async fn waited_for(&self, sql: &str, params: &Params) -> Result<(), Fault> {
        let tried = self.prepared(sql).await?;
        self.client.batch("BEGIN").await?;
        let waited = self.client.execute(&tried, &borrowed(params)).await;
        self.rollback().await?;
        waited?;
        Ok(())
    }

    /// Begins a transaction and reads what the items need; everything that it names is ours until
    /// the transaction ends, or marked as somebody else's.
    pub(crate) async fn fetch(
        &self,
        flows: &Flows,
        needs: &Needs,
        (wait, turn): (Wait, Turn),
    ) -> Result<Board, Fault> {
        let operates = !needs.legs.is_empty() || turn != Turn::default();
        let flags: Ask = (FLAGS.to_owned(), vec![Box::new(needs.opens > 0), Box::new(operates)]);
        let mut asks = vec![flags];
        asks.extend(self.purses(needs, wait));
        asks.extend(seats(&needs.seats, wait));
        asks.extend(moves(&needs.days, wait));
        asks.extend(legs(&needs.legs));
        asks.extend(keys::asked(flows, needs));
        let mut answers = self.all(asks, &turn.begin(needs.opens > 0)).await?.into_iter();
        let mut board = Board { numbers: self.numbers(), ..Board::default() };
        for id in &needs.fresh {
            board.seats.insert(*id, Seat::Free);
        }
        if let Some(rows) = answers.next() {
            self.flags(&mut board, rows.first().ok_or(Fault::Damaged("no flags"))?)?;
        }
        if !needs.purses.is_empty() {
            read_purses(&mut board, answers.next().unwrap_or_default())?;
        }
        if !needs.seats.is_empty() {
            read_seats(&mut board, flows, answers.next().unwrap_or_default())?;
        }
        if !needs.days.is_empty() {
            read_moves(&mut board, answers.next().unwrap_or_default())?;
        }
        if !needs.legs.is_empty() {
            for row in answers.next().unwrap_or_default() {
                let (ledger, operation) = operation(&row)?;
                board.legs.entry(operation.op.key.id).or_default().push((ledger, operation));
            }
        }
        if !needs.keys.is_empty() {
            keys::read(&mut board, needs, answers.next().unwrap_or_default())?;
        }
        self.missing(&mut board, needs).await?;
        Ok(board)
    }

    /// Asks everything at once.
    async fn all(&self, asks: Vec<Ask>, begin: &str) -> Result<Vec<Vec<Row>>, Fault> {
        let mut ready = Vec::with_capacity(asks.len());
        for (sql, params) in asks {
            ready.push((self.prepared(&sql).await?, params));
        }
        let begun = self.client.batch(begin);
        let asked = join_all(ready.iter().map(|(statement, params)| async move {
            self.client.query(statement, &borrowed(params)).await
        }));
        // the first is sent first, and nothing waits for its answer
        let (begun, asked) = futures_util::future::join(begun, asked).await;
        begun?;
        asked.into_iter().map(|rows| rows.map_err(Fault::from)).collect()
    }

    fn purses(&self, needs: &Needs, wait: Wait) -> Option<Ask> {
        if needs.purses.is_empty() {
            return None;
        }
        let users: Vec<i64> = needs.purses.iter().map(|(user, _)| int(user.0)).collect();
        let assets: Vec<i32> = needs.purses.iter().map(|(_, asset)| small(asset.0)).collect();
        Some((locking(PURSES, wait), vec![Box::new(users), Box::new(assets)]))
    }

    fn flags(&self, board: &mut Board, row: &Row) -> Result<(), Fault> {
        board.at = self.time(uint(row.try_get(0)?));
        let horizon: Option<&str> = row.try_get(2)?;
        let horizon = horizon.map(str::parse).transpose();
        let assets: Vec<i32> = row.try_get(5)?;
        let ledgers: Vec<i16> = row.try_get(6)?;
        let identities: Vec<Uuid> = row.try_get(7)?;
        let incarnations: Vec<Uuid> = row.try_get(8)?;
        let who = identities.iter().zip(&incarnations).map(|(identity, incarnation)| Known {
            identity: Identity(identity.as_u128()),
            incarnation: Incarnation(incarnation.as_u128()),
            highest: 0,
        });
        self.reached(uint(row.try_get(11)?));
        self.requires(row.try_get(13)?);
        let owned: Vec<i16> = row.try_get(9)?;
        let epochs: Vec<i64> = row.try_get(10)?;
        board.flags = Flags {
            halted: row.try_get(1)?,
            halts: uint(row.try_get(12)?),
            horizon: horizon.map_err(|_| Fault::Damaged("not a horizon"))?,
            ledgers: ledgers.into_iter().map(ledger).zip(who).collect(),
            epochs: owned.into_iter().map(ledger).zip(epochs.into_iter().map(uint)).collect(),
            assets: assets.into_iter().map(|asset| AssetId(count(asset))).collect(),
        };
        let block: i64 = row.try_get(3)?;
        let seq: i64 = row.try_get(4)?;
        board.numbers = Numbers { batch: block, serial: block, seq: uint(seq), ..board.numbers };
        Ok(())
    }

    /// What was not found under its lock: it is not there, or it is somebody else's. Only a plain
    /// read tells.
    async fn missing(&self, board: &mut Board, needs: &Needs) -> Result<(), Fault> {
        let users: BTreeSet<i64> = needs
            .purses
            .iter()
            .filter(|key| !board.purses.contains_key(key))
            .map(|(user, _)| int(user.0))
            .collect();
        if !users.is_empty() {
            self.missing_purses(board, needs, users.into_iter().collect()).await?;
        }
        let seats: Vec<Uuid> = needs
            .seats
            .iter()
            .filter(|id| !board.seats.contains_key(id))
            .map(|id| text::uuid(*id))
            .collect();
        if !seats.is_empty() {
            let sql = "SELECT req_id FROM transfers WHERE req_id = ANY($1)";
            let rows = self.client.query(&self.prepared(sql).await?, &[&seats]).await?;
            for row in rows {
                board.seats.insert(text::id(row.try_get(0)?), Seat::Locked);
            }
            for id in seats.into_iter().map(text::id) {
                board.seats.entry(id).or_insert(Seat::Free);
            }
        }
        let days: Vec<Spend> =
            needs.days.iter().filter(|key| !board.moves.contains_key(key)).copied().collect();
        if !days.is_empty() {
            self.missing_moves(board, days).await?;
        }
        Ok(())
    }

    async fn missing_purses(
        &self,
        board: &mut Board,
        needs: &Needs,
        users: Vec<i64>,
    ) -> Result<(), Fault> {
        // where rows of an older shape differ the strictest counts, which comes last
        let sql = "SELECT user_id, asset_id, status FROM balances_tb \
                   WHERE user_id = ANY($1) AND account_type = 'FUNDING' \
                   ORDER BY status = 'DISABLED', status = 'FROZEN'";
        let rows = self.client.query(&self.prepared(sql).await?, &[&users]).await?;
        let mut accounts = std::collections::BTreeMap::new();
        for row in rows {
            let user = UserId(uint(row.try_get(0)?));
            let asset = AssetId(count(row.try_get(1)?));
            if needs.purses.contains(&(user, asset)) {
                board.purses.entry((user, asset)).or_insert(Purse::Locked);
            }
            accounts.insert(user, text::read_status(row.try_get(2)?)?);
        }
        for (user, asset) in &needs.purses {
            // an asset that the account does not hold yet takes the account's status
            let empty = |status: &_| Purse::Open(Held::read(Balance::empty(*status)));
            let fresh = accounts.get(user).map_or(Purse::Nobody, empty);
            board.purses.entry((*user, *asset)).or_insert(fresh);
        }
        Ok(())
    }

    async fn missing_moves(&self, board: &mut Board, days: Vec<Spend>) -> Result<(), Fault> {
        let sql = "SELECT l.day, l.user_id, l.asset_id \
                   FROM unnest($1::int[], $2::bigint[], $3::int[]) AS n(day, user_id, asset_id) \
                   JOIN limits_tb l USING (day, user_id, asset_id)";
        let (day, user, asset) = columns(days.iter());
        let rows = self.client.query(&self.prepared(sql).await?, &[&day, &user, &asset]).await?;
        for row in rows {
            board.moves.insert(spend(&row)?, Moves::Locked);
        }
        for key in days {
            let none = Moves::Open(Spent::default(), Spent::default(), false);
            board.moves.entry(key).or_insert(none);
        }
        Ok(())
    }
}

fn seats(ids: &BTreeSet<Id>, wait: Wait) -> Option<Ask> {
    let ids: Vec<Uuid> = ids.iter().copied().map(text::uuid).collect();
    (!ids.is_empty()).then(|| -> Ask { (locking(SEATS, wait), vec![Box::new(ids)]) })
}

fn legs(ids: &BTreeSet<Id>) -> Option<Ask> {
    let ids: Vec<Uuid> = ids.iter().copied().map(text::uuid).collect();
    (!ids.is_empty()).then(|| -> Ask { (LEGS.to_owned(), vec![Box::new(ids)]) })
}

fn columns<'s>(days: impl Iterator<Item = &'s Spend>) -> (Vec<i32>, Vec<i64>, Vec<i32>) {
    let (mut day, mut user, mut asset) = (Vec::new(), Vec::new(), Vec::new());
    for (of, whose, what) in days {
        day.push(small(of.0));
        user.push(int(whose.0));
        asset.push(small(what.0));
    }
    (day, user, asset)
}

fn moves(days: &BTreeSet<Spend>, wait: Wait) -> Option<Ask> {
    if days.is_empty() {
        return None;
    }
    let (day, user, asset) = columns(days.iter());
    Some((locking(MOVES, wait), vec![Box::new(day), Box::new(user), Box::new(asset)]))
}

fn read_purses(board: &mut Board, rows: Vec<Row>) -> Result<(), Fault> {
    for row in rows {
        let key = (UserId(uint(row.try_get(0)?)), AssetId(count(row.try_get(1)?)));
        let balance = Balance {
            available: text::read_amount(row.try_get(2)?)?,
            frozen: text::read_amount(row.try_get(3)?)?,
            status: text::read_status(row.try_get(4)?)?,
            stored: true,
            changed: false,
        };
        board.purses.insert(key, Purse::Open(Held::read(balance)));
    }
    Ok(())
}

fn read_seats(board: &mut Board, flows: &Flows, rows: Vec<Row>) -> Result<(), Fault> {
    for row in rows {
        let chain: &[u8] = row.try_get(7)?;
        let flow = flows.named(row.try_get(2)?).ok_or(Fault::Damaged("not a flow of ours"))?;
        let standing = Standing {
            transfer: row.try_get(1)?,
            flow,
            code: row.try_get(3)?,
            version: count(row.try_get(4)?),
            batch: row.try_get(5)?,
            events: count(row.try_get(6)?),
            chain: Hash::try_from(chain).map_err(|_| Fault::Damaged("not a hash"))?,
            due: row.try_get(8)?,
        };
        board.seats.insert(text::id(row.try_get(0)?), Seat::Taken(standing));
    }
    Ok(())
}

fn spend(row: &Row) -> Result<Spend, Fault> {
    let day = Day(count(row.try_get(0)?));
    Ok((day, UserId(uint(row.try_get(1)?)), AssetId(count(row.try_get(2)?))))
}

fn read_moves(board: &mut Board, rows: Vec<Row>) -> Result<(), Fault> {
    for row in rows {
        let amount = text::read_amount(row.try_get(4)?)?;
        let stored = Spent { transfers: uint(row.try_get(3)?), amount };
        board.moves.insert(spend(&row)?, Moves::Open(stored, stored, true));
    }
    Ok(())
}

/// A ledger by its column.
pub(crate) fn ledger(number: i16) -> LedgerId {
    LedgerId(u8::try_from(number).unwrap_or(0))
}

/// Reads an operation from (req_id, leg, result, code, seq, asset_id, amount, account, ledger).
pub(crate) fn operation(row: &Row) -> Result<(LedgerId, Operation), Fault> {
    let leg = Leg::parse(row.try_get(1)?).ok_or(Fault::Damaged("not a leg"))?;
    let operation = Operation {
        seq: uint(row.try_get(4)?),
        op: Op {
            key: Key { id: text::id(row.try_get(0)?), leg },
            account: text::read_account(row.try_get(7)?)?,
            other: None,
            asset: AssetId(count(row.try_get(5)?)),
            amount: text::read_amount(row.try_get(6)?)?,
        },
        outcome: text::read_outcome(row.try_get(2)?, row.try_get(3)?)?,
    };
    Ok((ledger(row.try_get(8)?), operation))
}
