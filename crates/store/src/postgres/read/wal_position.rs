//! Reads one position of the database's log for backups: an operator pairs it with the backup of a
//! ledger outside.
//!
//! Recovery to this position, without what begins behind it, gives a database that knows every claim
//! that was durable when the position was read, and nothing that began after the answer.

use super::audit::{SEALS, seal};
use super::read_pool::one;
use crate::postgres::Postgres;
use crate::postgres::columns::uint;
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::Pooled;
use kernel::answer::Cause;
use kernel::audit::seal::Seal;
use kernel::ids::Millis;
use kernel::operation::Identity;
use std::time::Duration;
use tokio_postgres::Row;

/// The longest wait for the answer, while a ledger is stopped.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalPosition {
    /// The identity of the journal.
    pub identity: Identity,
    pub system: u64,
    /// Which of its histories, as names of the log's files begin.
    pub timeline: String,
    /// How far the durable log reached.
    pub lsn: Lsn,
    /// The highest number of a transfer.
    pub transfers: u64,
    /// The time of the last write.
    pub at: Millis,
    /// The last seal of the audit.
    pub seal: Option<Seal>,
}

/// A place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lsn(pub u64);

impl std::fmt::Display for Lsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl std::str::FromStr for Lsn {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (high, low) = text.split_once('/').ok_or(())?;
        let part = |part| u32::from_str_radix(part, 16).map_err(|_| ());
        Ok(Self((u64::from(part(high)?) << 32) | u64::from(part(low)?)))
    }
}

/// A connection that is ready to say where the log is.
#[expect(missing_debug_implementations, reason = "connections have none")]
pub struct WalPositionReader {
    db: Pooled,
    identity: Identity,
}

impl Postgres {
    /// Takes a connection for it, which may have to be made first.
    ///
    /// # Errors
    /// The cause for which there is none.
    pub async fn wal_position_reader(&self) -> Result<WalPositionReader, Cause> {
        let db = self.read_pool().lease().await?;
        let ready = "SELECT 1";
        db.batch(ready).await.map_err(|error| StoreError::from(error).cause())?;
        Ok(WalPositionReader { db, identity: self.identity() })
    }
}

impl WalPositionReader {
    /// Reads the position of the log now. A ledger is stopped meanwhile: an answer that does not come
    /// soon counts as none.
    ///
    /// # Errors
    /// The cause for which there is no answer.
    pub async fn position(&self) -> Result<WalPosition, Cause> {
        let late = || Cause::because("STORE_BUSY", "the database does not say where its log is");
        tokio::time::timeout(ANSWER_TIMEOUT, self.asked()).await.map_err(|_| late())?
    }

    async fn asked(&self) -> Result<WalPosition, Cause> {
        let sql = "SELECT c.system_identifier, (l.lsn - '0/0')::bigint, left(pg_walfile_name(l.lsn), 8), \
                   (SELECT coalesce(max(transfer_id), 0) FROM every_transfer), \
                   (SELECT coalesce(max(at), 0) FROM lanes) \
                   FROM pg_control_system() c, (SELECT pg_current_wal_flush_lsn() AS lsn) l";
        let row = one(&self.db, sql, &[]).await?.ok_or_else(|| Cause::of("STORE_DAMAGED"))?;
        let newest = format!("{SEALS} ORDER BY seal DESC LIMIT 1");
        let seal = one(&self.db, &newest, &[]).await?.map(|row| seal(&row)).transpose()?;
        self.read(&row, seal).map_err(|error| error.cause())
    }

    fn read(&self, row: &Row, seal: Option<Seal>) -> Result<WalPosition, StoreError> {
        // the server shows it without a sign
        let system: i64 = row.try_get(0)?;
        Ok(WalPosition {
            identity: self.identity,
            system: u64::from_ne_bytes(system.to_ne_bytes()),
            lsn: Lsn(uint(row.try_get(1)?)),
            timeline: row.try_get(2)?,
            transfers: uint(row.try_get(3)?),
            at: uint(row.try_get(4)?),
            seal,
        })
    }

    /// Writes behind the position: a recovery that is to end there needs a log that goes on.
    ///
    /// # Errors
    /// The cause for which nothing was written.
    pub async fn pass(self) -> Result<(), Cause> {
        let sql = "SELECT pg_logical_emit_message(true, 'portage', 'a backup ends before this')";
        one(&self.db, sql, &[]).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Lsn;

    #[test]
    fn a_place_is_spelled_as_the_server_spells_it() {
        for (text, place) in [("0/16B3748", 0x16B_3748), ("1F/A0", 0x1F_0000_00A0), ("0/0", 0)] {
            assert_eq!(text.parse(), Ok(Lsn(place)));
            assert_eq!(Lsn(place).to_string(), text);
        }
        for bad in ["", "0", "0/", "/0", "1/2/3", "0/G", "100000000/0"] {
            assert_eq!(bad.parse::<Lsn>(), Err(()), "{bad}");
        }
    }
}
