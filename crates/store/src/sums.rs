//! Adds up stored operations for both stores: says what one row means for the sums of its ledger.

use kernel::flow::life::Leg;
use kernel::ids::{AssetId, LedgerId};
use kernel::ports::journal::Sums;
use std::collections::BTreeMap;

/// Sums of one ledger and asset each.
pub(crate) type SumsByAsset = BTreeMap<(LedgerId, AssetId), Sums>;

/// Why a row cannot be added up: an operator's SQL changed it.
type Spoilt = &'static str;

/// Whether a row of several operations is added or subtracted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sign {
    Add,
    Subtract,
}

/// Operations of one kind, as a row spells them.
#[derive(Debug)]
pub(crate) struct SumRow<'r> {
    pub(crate) place: (LedgerId, AssetId),
    /// A leg, or the direction of external money.
    pub(crate) leg: &'r str,
    pub(crate) done: bool,
    pub(crate) count: u64,
    pub(crate) amount: i128,
}

/// Adds within the range of sums.
pub(crate) fn add(sum: &mut i128, more: i128) -> Result<(), Spoilt> {
    *sum = sum.checked_add(more).ok_or("a sum too large")?;
    Ok(())
}

impl Sign {
    /// Counts a row; only DONE operations move anything.
    pub(crate) fn take(self, places: &mut SumsByAsset, row: &SumRow<'_>) -> Result<(), Spoilt> {
        let of = places.entry(row.place).or_default();
        let amount = match self {
            _ if !row.done => 0,
            Self::Add => row.amount,
            Self::Subtract => row.amount.checked_neg().ok_or("a sum too large")?,
        };
        match row.leg {
            "IN" => return add(&mut of.external, amount),
            "OUT" => return add(&mut of.external, amount.saturating_neg()),
            _ => {}
        }
        of.count = match self {
            Self::Add => of.count.saturating_add(row.count),
            Self::Subtract => of.count.saturating_sub(row.count),
        };
        match Leg::parse(row.leg) {
            _ if !row.done => Ok(()),
            Some(Leg::Withdraw) => add(&mut of.withdraw, amount),
            Some(Leg::Deposit) => add(&mut of.deposit, amount),
            Some(Leg::Settle) => add(&mut of.settle, amount),
            Some(Leg::Refund) => add(&mut of.refund, amount),
            // from one account of the ledger to another: no book sees it
            Some(Leg::Move) => Ok(()),
            Some(Leg::Quarantine | Leg::Cost) | None => Err("not a leg of a ledger"),
        }
    }
}

/// Counts one more DONE operation, by its leg, or external movement, by its direction.
pub(crate) fn take(sums: &mut Sums, leg: &str, amount: i128) -> Result<(), Spoilt> {
    // what it is of does not matter here
    let place = (LedgerId(0), AssetId(0));
    let mut places = SumsByAsset::from([(place, *sums)]);
    Sign::Add.take(&mut places, &SumRow { place, leg, done: true, count: 1, amount })?;
    *sums = places.remove(&place).unwrap_or_default();
    Ok(())
}
