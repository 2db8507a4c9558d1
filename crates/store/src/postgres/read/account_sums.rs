//! Reads every account with its balance and the sum of its operations, for reconciliation, in one pass
//! through a cursor of the instant.

use crate::postgres::columns::{self, count, int};
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::Pooled;
use kernel::ids::{AssetId, LedgerId};
use kernel::ports::journal::{AccountSums, Sums};
use tokio_postgres::Row;

/// The longest pause of a reader between two pages, in which it asks a ledger elsewhere.
const BETWEEN: &str = "SET LOCAL idle_in_transaction_session_timeout = '60s'";

/// Begins the reading. The database adds up by account, and keeps what does not fit its memory in
/// files of its own; it locks nothing that a writer needs. `cursor` is a number that no other
/// reading of the instant had.
pub(crate) async fn begin(
    db: &Pooled,
    cursor: u32,
    ledger: LedgerId,
    upto: u64,
) -> Result<(), StoreError> {
    let (number, upto) = (ledger.0, int(upto));
    let sum = |leg: &str| format!("coalesce(sum(amount) FILTER (WHERE leg = '{leg}'), 0)::text");
    let own = if ledger == LedgerId::FUNDING {
        "UNION ALL SELECT user_id::text, asset_id, direction, amount FROM externals \
           WHERE account_number IS NULL \
         UNION ALL SELECT user_id::text, asset_id, 'AVAILABLE', available FROM balances_tb \
           WHERE account_type = 'FUNDING' \
         UNION ALL SELECT user_id::text, asset_id, 'FROZEN', frozen FROM balances_tb \
           WHERE account_type = 'FUNDING' AND frozen <> 0"
            .to_owned()
    } else if ledger == LedgerId::ACCOUNT {
        // a move takes from the one account and gives to the other
        format!(
            "UNION ALL SELECT other_account, asset_id, 'DEPOSIT', amount FROM operations \
               WHERE ledger = {number} AND result = 'DONE' AND seq <= {upto} AND leg = 'MOVE' \
             UNION ALL SELECT '@' || account_number, asset_id, direction, amount FROM externals \
               WHERE account_number IS NOT NULL \
             UNION ALL SELECT '@' || account_number, asset_id, 'AVAILABLE', balance FROM accounts_tb"
        )
    } else {
        String::new()
    };
    let sql = format!(
        "{BETWEEN}; SET LOCAL statement_timeout = 0; \
         DECLARE accounts_{cursor} NO SCROLL CURSOR FOR SELECT account, asset_id, {}, {}, {}, {}, {}, {}, {}, \
           {}, count(*) FILTER (WHERE leg IN ('WITHDRAW', 'DEPOSIT', 'SETTLE', 'REFUND')), \
           count(*) FILTER (WHERE leg IN ('QUARANTINE', 'COST')) FROM ( \
           SELECT account, asset_id, CASE leg WHEN 'MOVE' THEN 'WITHDRAW' ELSE leg END AS leg, amount \
             FROM operations \
             WHERE ledger = {number} AND result = 'DONE' AND seq <= {upto} {own}) rows \
         GROUP BY account, asset_id ORDER BY left(account, 1) = '@', length(account), \
           account COLLATE \"C\", asset_id",
        sum("AVAILABLE"),
        sum("FROZEN"),
        sum("WITHDRAW"),
        sum("DEPOSIT"),
        sum("SETTLE"),
        sum("REFUND"),
        sum("IN"),
        sum("OUT"),
    );
    Ok(db.batch(&sql).await?)
}

/// The next ones, at most `limit`; none at the end.
pub(crate) async fn page(
    db: &Pooled,
    cursor: u32,
    limit: usize,
) -> Result<Vec<AccountSums>, StoreError> {
    let found = db.query_at_length(&format!("FETCH {limit} FROM accounts_{cursor}")).await?;
    found.iter().map(read).collect()
}

fn read(row: &Row) -> Result<AccountSums, StoreError> {
    let sum =
        |column| -> Result<i128, StoreError> { Ok(columns::read_signed(row.try_get(column)?)?) };
    let (operations, strange): (i64, i64) = (row.try_get(10)?, row.try_get(11)?);
    if strange > 0 {
        return Err(StoreError::Damaged("not a leg of a ledger"));
    }
    let external = sum(8)?.checked_sub(sum(9)?).ok_or(StoreError::Damaged("a sum too large"))?;
    Ok(AccountSums {
        account: columns::read_account(row.try_get(0)?)?,
        asset: AssetId(count(row.try_get(1)?)),
        available: columns::read_amount(row.try_get(2)?)?,
        frozen: columns::read_amount(row.try_get(3)?)?,
        sums: Sums {
            withdraw: sum(4)?,
            deposit: sum(5)?,
            settle: sum(6)?,
            refund: sum(7)?,
            external,
            count: columns::uint(operations),
        },
    })
}
