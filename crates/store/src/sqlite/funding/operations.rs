//! Writes the operations of ledgers as rows, for the writer, and reads them back.

use crate::sqlite::columns::{self, int};
use crate::sqlite::write::batch::WriteBatch;
use crate::sqlite::write::writer_state::higher;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::{Key, Op, Operation};
use kernel::record::Account;
use kernel::rules::Posting;
use rusqlite::{Connection, Row, params};

/// Reads an operation from its columns ([`COLUMNS`]).
pub(crate) fn operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let leg = row.get_ref(1)?.as_str()?;
    let leg = Leg::parse(leg).ok_or_else(|| columns::damaged(1, "not a leg"))?;
    Ok(Operation {
        seq: columns::uint(row.get(4)?),
        op: Op {
            key: Key { id: columns::read_id(0, row.get_ref(0)?.as_str()?)?, leg },
            account: columns::read_account(7, row.get_ref(7)?.as_str()?)?,
            other: row
                .get_ref(8)?
                .as_str_or_null()?
                .map(|text| columns::read_account(8, text))
                .transpose()?,
            asset: AssetId(row.get(5)?),
            amount: columns::read_amount(6, row.get_ref(6)?.as_str()?)?,
        },
        outcome: columns::read_outcome(2, row.get_ref(2)?.as_str()?, row.get(3)?)?,
    })
}

/// The columns that [`operation`] reads.
pub(crate) const COLUMNS: &str =
    "req_id, leg, result, code, seq, asset_id, amount, account, other_account";

/// The operations that every ledger stored for a transfer.
pub(crate) fn of(db: &Connection, id: Id) -> rusqlite::Result<Vec<(LedgerId, Operation)>> {
    let sql = format!("SELECT {COLUMNS}, ledger FROM operations WHERE req_id = ?");
    let read = |row: &Row<'_>| Ok((LedgerId(row.get(9)?), operation(row)?));
    db.prepare_cached(&sql)?.query_map([id.to_string()], read)?.collect()
}

impl WriteBatch<'_> {
    /// Writes what enlisted ledgers do, or gathers it to be written once.
    pub(crate) fn post(&mut self, posting: Posting) -> rusqlite::Result<()> {
        let Posting { operations, balances, books, accounts, sums: _ } = posting;
        for (ledger, operation) in &operations {
            self.state.seq = operation.seq;
            self.store(*ledger, operation)?;
        }
        self.balances.post(balances, books);
        self.accounts.post(accounts);
        Ok(())
    }

    /// Writes a decided operation or a receipt.
    pub(crate) fn store(
        &mut self,
        ledger: LedgerId,
        operation: &Operation,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO operations \
                     (req_id, ledger, leg, result, code, seq, asset_id, amount, account, \
                      other_account, at) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let op = &operation.op;
        let (result, code) = columns::outcome(&operation.outcome);
        self.db.prepare_cached(sql)?.execute(params![
            op.key.id.to_string(),
            ledger.0,
            op.key.leg.name(),
            result,
            code,
            int(operation.seq),
            op.asset.0,
            columns::amount(op.amount),
            op.account.key(),
            op.other.as_ref().map(Account::key),
            int(self.at),
        ])?;
        self.running.add((ledger, op.asset, op.key.leg.name(), result), op.amount)?;
        self.state.operated = higher(self.state.operated, op.key.id);
        if let Some((id, legs)) = &mut self.legs
            && *id == op.key.id
        {
            legs.push((ledger, operation.clone()));
        }
        Ok(())
    }
}
