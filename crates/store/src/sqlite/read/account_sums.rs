//! Reads every account with its balance and the sum of its operations, in one pass, for reconciliation.

use super::threads::ReaderThreads;
use crate::sqlite::columns::{self, int};
use kernel::answer::Cause;
use kernel::ids::{AssetId, LedgerId};
use kernel::money::Amount;
use kernel::ports::journal::{AccountSums, Sums};
use rusqlite::{Connection, params};
use tokio::sync::mpsc;

/// The number of accounts that the thread hands on at once.
const PART: usize = 256;

/// DONE rows and balances with their accounts: a move takes from the one and gives to the other. Users by number before accounts with names. SQLite
/// sorts what does not fit its memory in a file.
const ROWS: &str = "SELECT account, asset_id, leg, amount FROM ( \
    SELECT account, asset_id, iif(leg = 'MOVE', 'WITHDRAW', leg) AS leg, amount FROM operations \
      WHERE ledger = ?1 AND result = 'DONE' AND seq <= ?2 \
    UNION ALL SELECT other_account, asset_id, 'DEPOSIT', amount FROM operations \
      WHERE ?1 = 10 AND ledger = 10 AND leg = 'MOVE' AND result = 'DONE' AND seq <= ?2 \
    UNION ALL SELECT iif(?1 = 1, CAST(user_id AS TEXT), '@' || account_number), asset_id, direction, amount \
      FROM externals WHERE iif(account_number IS NULL, 1, 10) = ?1 \
    UNION ALL SELECT '@' || account_number, asset_id, 'AVAILABLE', balance FROM accounts_tb WHERE ?1 = 10 \
    UNION ALL SELECT CAST(user_id AS TEXT), asset_id, 'AVAILABLE', available FROM balances_tb \
      WHERE ?1 = 1 AND account_type = 'FUNDING' \
    UNION ALL SELECT CAST(user_id AS TEXT), asset_id, 'FROZEN', frozen FROM balances_tb \
      WHERE ?1 = 1 AND account_type = 'FUNDING') \
    ORDER BY substr(account, 1, 1) = '@', length(account), account, asset_id";

/// Reads every row, and hands on each account once its last row was read.
fn read(
    db: &Connection,
    ledger: LedgerId,
    upto: u64,
    parts: &mpsc::Sender<Result<Vec<AccountSums>, Cause>>,
) -> rusqlite::Result<()> {
    let mut ask = db.prepare_cached(ROWS)?;
    let mut rows = ask.query(params![ledger.0, int(upto)])?;
    let mut part: Vec<AccountSums> = Vec::new();
    while let Some(row) = rows.next()? {
        let (account, asset) = (row.get_ref(0)?.as_str()?, AssetId(row.get(1)?));
        let account = columns::read_account(0, account)?;
        let same = |of: &AccountSums| of.account == account && of.asset == asset;
        if !part.last().is_some_and(same) {
            if part.len() >= PART && parts.blocking_send(Ok(std::mem::take(&mut part))).is_err() {
                // the instant was dropped
                return Ok(());
            }
            let (available, frozen, sums) = (Amount::ZERO, Amount::ZERO, Sums::default());
            part.push(AccountSums { account, asset, available, frozen, sums });
        }
        if let Some(of) = part.last_mut() {
            add(of, row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?)?;
        }
    }
    let _gone = parts.blocking_send(Ok(part));
    Ok(())
}

/// Takes one row of an account.
fn add(of: &mut AccountSums, what: &str, amount: &str) -> rusqlite::Result<()> {
    match what {
        "AVAILABLE" => of.available = columns::read_amount(3, amount)?,
        "FROZEN" => of.frozen = columns::read_amount(3, amount)?,
        leg => {
            let amount = columns::read_signed(3, amount)?;
            crate::sums::take(&mut of.sums, leg, amount).map_err(|why| columns::damaged(2, why))?;
        }
    }
    Ok(())
}

/// The sums by account of one ledger, while they are read on the instant's thread. Dropping it ends
/// the reading.
pub(crate) struct Reading {
    parts: mpsc::Receiver<Result<Vec<AccountSums>, Cause>>,
    left: Vec<AccountSums>,
}

impl Reading {
    pub(crate) fn begin(reader: &ReaderThreads, ledger: LedgerId, upto: u64) -> Self {
        let (send, parts) = mpsc::channel(2);
        // its end is the end of the parts
        drop(reader.ask(move |db| {
            if let Err(fault) = read(db, ledger, upto, &send) {
                let _gone =
                    send.blocking_send(Err(Cause::because("STORE_READ", fault.to_string())));
            }
            Ok(())
        }));
        Self { parts, left: Vec::new() }
    }

    /// The next ones, at most `limit`; none at the end.
    pub(crate) async fn page(&mut self, limit: usize) -> Result<Vec<AccountSums>, Cause> {
        if self.left.is_empty()
            && let Some(part) = self.parts.recv().await
        {
            self.left = part?;
        }
        let rest =
            self.left.split_off(if limit < self.left.len() { limit } else { self.left.len() });
        Ok(std::mem::replace(&mut self.left, rest))
    }
}
