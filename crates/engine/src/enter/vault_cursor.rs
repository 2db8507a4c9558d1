//! The row of the journal that says up to where a vault's movements are stored, and which worker watches it.

use kernel::answer::Cause;
use kernel::flow::table::Table;
use kernel::ids::{ChainId, Millis, WorkerId};
use kernel::money::Amount;
use kernel::ports::journal::Resource;
use serde_json::{Value, json};
use std::sync::Arc;

/// The name of the row of a flow's vault on a chain: `cursor:SOLANA:swap_in`.
pub(crate) fn cursor_name(chain: ChainId, table: &Table) -> Arc<str> {
    format!("cursor:{}:{}", chain.name(), table.flow).into()
}

/// Up to where a vault's movements are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VaultCursor {
    /// What tells the vault from another one of its chain.
    pub vault: Arc<str>,
    /// The place behind the last stored movement, as the port has it.
    pub place: Arc<str>,
    /// The vault's balance there.
    pub balance: Amount,
    /// The chain's time up to which every movement is stored.
    pub read_to: Millis,
    /// The worker that watches it, and until when no other does, by the journal's time.
    pub worker: WorkerId,
    /// When another worker may take the watch over.
    pub until: Millis,
}

impl VaultCursor {
    /// The value of the row, as JSON.
    pub(crate) fn value(&self) -> Arc<str> {
        let Self { vault, place, balance, read_to, worker, until } = self;
        let value = json!({
            "vault": &**vault, "place": &**place, "balance": balance.0.to_string(), "read_to": read_to,
            "worker": worker.0, "until": until,
        });
        value.to_string().into()
    }
}

/// A cursor, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCursor {
    /// The version of the row.
    pub version: u32,
    pub cursor: VaultCursor,
}

impl StoredCursor {
    /// The cursor that a row has.
    ///
    /// # Errors
    /// `BAD_CURSOR` where the row is no cursor: nothing is read on from a place that is not known.
    pub(crate) fn read(row: &Resource) -> Result<Self, Cause> {
        let parsed = || {
            let value: Value = serde_json::from_str(&row.value).ok()?;
            let text = |field| value.get(field)?.as_str();
            let number = |field| value.get(field)?.as_u64();
            Some(VaultCursor {
                vault: text("vault")?.into(),
                place: text("place")?.into(),
                balance: Amount(text("balance")?.parse().ok()?),
                read_to: number("read_to")?,
                worker: WorkerId(number("worker")?),
                until: number("until")?,
            })
        };
        let cursor = parsed().ok_or_else(|| Cause::because("BAD_CURSOR", row.name.clone()))?;
        Ok(Self { version: row.version, cursor })
    }
}
