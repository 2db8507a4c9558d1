//! A vault beside its books: the row of the watch that reads it, and the comparison of both at one instant of the
//! journal.
//!
//! Each movement that the watch stores moves the balance of its cursor and, in the same unit, the books or a sum of what
//! was read; each unit that moves a transfer moves the books and what was paid out by the same amount. So both sides are
//! equal at every instant, however far the watch is behind and whatever is on its way: nothing has to be carried.

use crate::answer::Cause;
use crate::books::ChainBook;
use crate::ids::{AssetId, ChainId, FlowId, Millis, WorkerId};
use crate::money::Amount;
use crate::ports::journal::Resource;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The beginning of the names of all cursors.
pub const CURSORS: &str = "cursor:";

/// The name of the row of a flow's vault on a chain: `cursor:SOLANA:swap_in`.
pub fn cursor_name(chain: ChainId, flow: &str) -> Arc<str> {
    format!("{CURSORS}{}:{flow}", chain.name()).into()
}

/// The chain and the flow that a cursor's name has.
fn named(name: &str) -> Option<(ChainId, &str)> {
    let (chain, flow) = name.strip_prefix(CURSORS)?.split_once(':')?;
    Some((ChainId::parse(chain)?, flow))
}

/// Up to where a vault's movements are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultCursor {
    /// What tells the vault from another one of its chain.
    pub vault: Arc<str>,
    /// The asset that the vault keeps.
    pub asset: AssetId,
    /// The place behind the last stored movement, as the port has it.
    pub place: Arc<str>,
    /// The vault's balance there.
    pub balance: Amount,
    /// What was deposited behind that place and is opened already: a block may have more than one unit takes.
    pub ahead: Amount,
    /// The chain's time up to which every movement is stored.
    pub read_to: Millis,
    /// The worker that watches it, and until when no other does, by the journal's time.
    pub worker: WorkerId,
    /// When another worker may take the watch over.
    pub until: Millis,
}

impl VaultCursor {
    /// The value of the row, as JSON.
    pub fn value(&self) -> Arc<str> {
        let Self { vault, asset, place, balance, ahead, read_to, worker, until } = self;
        let value = json!({
            "vault": &**vault, "asset": asset.0, "place": &**place, "balance": balance.0.to_string(),
            "ahead": ahead.0.to_string(), "read_to": read_to, "worker": worker.0, "until": until,
        });
        value.to_string().into()
    }
}

/// A cursor, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCursor {
    /// The version of the row.
    pub version: u32,
    /// What the value of the row says.
    pub cursor: VaultCursor,
}

impl StoredCursor {
    /// The cursor that a row has.
    ///
    /// # Errors
    /// `BAD_CURSOR` where the row is no cursor: nothing is read on from a place that is not known.
    pub fn read(row: &Resource) -> Result<Self, Cause> {
        let parsed = || {
            let value: Value = serde_json::from_str(&row.value).ok()?;
            let text = |field| value.get(field)?.as_str();
            let number = |field| value.get(field)?.as_u64();
            let amount = |field| Some(Amount(text(field)?.parse().ok()?));
            Some(VaultCursor {
                vault: text("vault")?.into(),
                asset: AssetId(number("asset")?.try_into().ok()?),
                place: text("place")?.into(),
                balance: amount("balance")?,
                ahead: amount("ahead")?,
                read_to: number("read_to")?,
                worker: WorkerId(number("worker")?),
                until: number("until")?,
            })
        };
        let cursor = parsed().ok_or_else(|| Cause::because("BAD_CURSOR", row.name.clone()))?;
        Ok(Self { version: row.version, cursor })
    }
}

/// A vault and its books, at one instant of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultBooks {
    /// The chain of the vault.
    pub chain: ChainId,
    /// The flow whose deposits it takes.
    pub flow: Arc<str>,
    /// How far it is read.
    pub cursor: VaultCursor,
    /// What each book says, in the order of [`ChainBook::ALL`].
    pub books: Vec<(ChainBook, u128)>,
}

impl VaultBooks {
    /// The vault of a cursor's row, with its books among these counters. Row and counters are of one instant.
    ///
    /// # Errors
    /// `BAD_CURSOR`.
    pub fn of(row: &Resource, counters: &BTreeMap<Arc<str>, u128>) -> Result<Self, Cause> {
        let cursor = StoredCursor::read(row)?.cursor;
        let bad = || Cause::because("BAD_CURSOR", row.name.clone());
        let (chain, flow) = named(&row.name).ok_or_else(bad)?;
        let says = |book: ChainBook| counters.get(&book.counter(chain, cursor.asset)).copied();
        let books = ChainBook::ALL.iter().map(|book| (*book, says(*book).unwrap_or(0))).collect();
        Ok(Self { chain, flow: flow.into(), cursor, books })
    }

    /// What one book says.
    pub fn says(&self, book: ChainBook) -> u128 {
        self.books.iter().find(|(one, _)| *one == book).map_or(0, |(_, sum)| *sum)
    }

    fn sum(&self, books: &[ChainBook]) -> u128 {
        books.iter().fold(0, |sum, book| sum.saturating_add(self.says(*book)))
    }

    /// What the vault must hold by its books, once everything that was paid is read.
    pub fn in_books(&self) -> u128 {
        self.sum(ChainBook::IN_VAULT)
    }

    /// By how much the vault has more than its books say (less: below zero). It is zero at every instant where each
    /// movement is explained.
    pub fn difference(&self) -> i128 {
        let VaultCursor { balance, ahead, .. } = &self.cursor;
        let vault = balance.0.saturating_add(ahead.0);
        let vault = vault.saturating_add(self.says(ChainBook::ReadOut));
        let vault = vault.saturating_add(self.says(ChainBook::TakenIn));
        let books = self.in_books().saturating_add(self.says(ChainBook::PaidOut));
        signed(vault, books.saturating_add(self.says(ChainBook::ReadIn)))
    }
}

/// Money that left a vault without an attempt that pays it: the row of one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdrawal {
    /// The chain of the vault.
    pub chain: ChainId,
    /// The flow whose deposits the vault takes.
    pub flow: FlowId,
    /// The asset that left.
    pub asset: AssetId,
    /// How much of the asset left.
    pub amount: Amount,
    /// What the transaction did, as text for operators.
    pub facts: Arc<str>,
    /// Who accepted that it was taken from the inventory.
    pub accepted_by: Option<Arc<str>>,
}

/// The beginning of the names of all rows of withdrawals.
pub const WITHDRAWALS: &str = "withdrawal:";

impl Withdrawal {
    /// The name of the row of a transaction, by the name that its form has on the chain: `withdrawal:SOLANA:9f3a…`.
    pub fn name(chain: ChainId, form: &[u8]) -> Arc<str> {
        let mut name = format!("{WITHDRAWALS}{}:", chain.name());
        form.iter().for_each(|byte| name.push_str(&format!("{byte:02x}")));
        name.into()
    }

    /// The value of the row, as JSON.
    pub fn value(&self) -> Arc<str> {
        let Self { chain, flow, asset, amount, facts, accepted_by } = self;
        let value = json!({
            "chain": chain.name(), "flow": flow.0, "asset": asset.0, "amount": amount.0.to_string(),
            "facts": &**facts, "accepted_by": accepted_by.as_deref(),
        });
        value.to_string().into()
    }

    /// The withdrawal that a row has.
    ///
    /// # Errors
    /// `BAD_WITHDRAWAL`.
    pub fn read(row: &Resource) -> Result<Self, Cause> {
        let parsed = || {
            let value: Value = serde_json::from_str(&row.value).ok()?;
            let text = |field| value.get(field)?.as_str();
            let number = |field| value.get(field)?.as_u64();
            Some(Self {
                chain: ChainId::parse(text("chain")?)?,
                flow: FlowId(number("flow")?.try_into().ok()?),
                asset: AssetId(number("asset")?.try_into().ok()?),
                amount: Amount(text("amount")?.parse().ok()?),
                facts: text("facts")?.into(),
                accepted_by: text("accepted_by").map(Into::into),
            })
        };
        parsed().ok_or_else(|| Cause::because("BAD_WITHDRAWAL", row.name.clone()))
    }
}

/// The difference of two sums.
fn signed(more: u128, less: u128) -> i128 {
    let clamped = |n: u128| i128::try_from(n).unwrap_or(i128::MAX);
    match more.checked_sub(less) {
        Some(above) => clamped(above),
        None => clamped(less.saturating_sub(more)).saturating_neg(),
    }
}
