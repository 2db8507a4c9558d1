//! What stored operations add up to: what a row of either store means for the sums of its ledger.

use kernel::ids::{AssetId, LedgerId};
use kernel::life::Leg;
use kernel::ports::journal::Sums;
use std::collections::BTreeMap;

/// Sums of one ledger and asset each.
pub(crate) type Places = BTreeMap<(LedgerId, AssetId), Sums>;

/// Why a row cannot be added up: somebody's SQL spoilt it.
type Spoilt = &'static str;

/// What is done with a row that stands for so many operations.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    On,
    Off,
}

/// Operations of one kind, as a row spells them.
#[derive(Debug)]
pub(crate) struct Tally<'r> {
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

impl Way {
    /// Takes a row; only what was done moved anything.
    pub(crate) fn take(self, places: &mut Places, row: &Tally<'_>) -> Result<(), Spoilt> {
        let of = places.entry(row.place).or_default();
        let amount = match self {
            _ if !row.done => 0,
            Self::On => row.amount,
            Self::Off => row.amount.checked_neg().ok_or("a sum too large")?,
        };
        match row.leg {
            "IN" => return add(&mut of.external, amount),
            "OUT" => return add(&mut of.external, amount.saturating_neg()),
            _ => {}
        }
        of.count = match self {
            Self::On => of.count.saturating_add(row.count),
            Self::Off => of.count.saturating_sub(row.count),
        };
        match Leg::parse(row.leg) {
            _ if !row.done => Ok(()),
            Some(Leg::Withdraw) => add(&mut of.withdraw, amount),
            Some(Leg::Deposit) => add(&mut of.deposit, amount),
            Some(Leg::Settle) => add(&mut of.settle, amount),
            Some(Leg::Refund) => add(&mut of.refund, amount),
            Some(Leg::Move | Leg::Quarantine | Leg::Cost) | None => Err("not a leg of a ledger"),
        }
    }
}

/// One DONE operation more, by its leg, or an external movement, by its direction.
pub(crate) fn take(sums: &mut Sums, leg: &str, amount: i128) -> Result<(), Spoilt> {
    // what it is of does not matter here
    let place = (LedgerId(0), AssetId(0));
    let mut places = Places::from([(place, *sums)]);
    Way::On.take(&mut places, &Tally { place, leg, done: true, count: 1, amount })?;
    *sums = places.remove(&place).unwrap_or_default();
    Ok(())
}
