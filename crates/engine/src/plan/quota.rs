//! What a transfer takes from its owner's day, and what an end without effect gives back.

use kernel::ids::Day;
use kernel::limits::DailyCount;
use kernel::money::Amount;
use kernel::record::Terms;
use kernel::unit::{Guard, Put};
use std::sync::Arc;

/// What the opening of a transfer takes from its owner's day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quota {
    pub used: DayUse,
    /// The most transfers of the day.
    pub transfers: Option<u64>,
    /// The most base units of the asset on the day.
    pub amount: Option<Amount>,
}

/// The place in the journal where an owner's day is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DayUse {
    /// The row of a user's day.
    User(DailyCount),
    /// The counters of an owner that is no user.
    Owner(OwnerDay),
}

/// The counters of an owner that is no user: one for transfers and one for base units of the asset. Both
/// are counted wherever one of them is limited, so that a transfer with a day gives back to both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnerDay {
    pub day: Day,
    pub transfers: Arc<str>,
    pub units: Arc<str>,
    pub amount: Amount,
}

/// The beginning of the counters' names.
pub(crate) const OWNER_TRANSFERS: &str = "day_transfers:";
pub(crate) const OWNER_UNITS: &str = "day_units:";

impl OwnerDay {
    pub(crate) fn of(terms: &Terms, day: Day) -> Self {
        let (owner, asset) = (&terms.owner, terms.source.asset);
        Self {
            day,
            transfers: format!("{OWNER_TRANSFERS}{}:{owner}", day.0).into(),
            units: format!("{OWNER_UNITS}{}:{}:{owner}", day.0, asset.0).into(),
            amount: terms.source.amount,
        }
    }
}

impl Quota {
    pub(crate) const fn day(&self) -> Day {
        match &self.used {
            DayUse::User(count) => count.day,
            DayUse::Owner(owner) => owner.day,
        }
    }

    /// The row that counts the transfer of a user. Counters are added to by their guards.
    pub(crate) const fn put(&self) -> Option<Put> {
        match &self.used {
            DayUse::User(count) => Some(Put::Count(*count)),
            DayUse::Owner(_) => None,
        }
    }

    pub(crate) fn guards(&self) -> Vec<Guard> {
        match &self.used {
            DayUse::User(count) => {
                let DailyCount { user, day, .. } = *count;
                let transfers = self.transfers.map(|most| Guard::DayCount { user, day, most });
                let amount = self.amount.map(|most| Guard::DayAmount { count: *count, most });
                transfers.into_iter().chain(amount).collect()
            }
            DayUse::Owner(owner) => vec![
                Guard::AtMost {
                    name: owner.transfers.clone(),
                    n: 1,
                    limit: self.transfers.map_or(u128::MAX, u128::from),
                },
                Guard::AtMost {
                    name: owner.units.clone(),
                    n: owner.amount.0,
                    limit: self.amount.map_or(u128::MAX, |most| most.0),
                },
            ],
        }
    }
}

/// The puts by which a counted transfer gives back to its day.
pub(crate) fn uncount(terms: &Terms, day: Day) -> Vec<Put> {
    if let Some(count) = count(terms, day) {
        return vec![Put::Uncount(count)];
    }
    let OwnerDay { transfers, units, amount, .. } = OwnerDay::of(terms, day);
    vec![Put::Take { counter: transfers, n: 1 }, Put::Take { counter: units, n: amount.0 }]
}

/// What a transfer counts on the day of the user who owns it.
pub(crate) fn count(terms: &Terms, day: Day) -> Option<DailyCount> {
    let user = terms.owner.user()?;
    Some(DailyCount { user, day, asset: terms.source.asset, amount: terms.source.amount })
}
