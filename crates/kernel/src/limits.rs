//! How much one user moves on one day in UTC, for the limits.

use crate::ids::{AssetId, Day, UserId};
use crate::money::Amount;

/// What a user's day is counted in: all transfers of the day, and the amount of one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyCount {
    /// The user whose transfers are counted.
    pub user: UserId,
    /// The day in UTC that is counted.
    pub day: Day,
    /// The asset that is counted.
    pub asset: AssetId,
    /// How much of it.
    pub amount: Amount,
}

/// What a user has moved on a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DailyUsage {
    /// Transfers of all assets.
    pub transfers: u64,
    /// The amount of the asset that was asked for.
    pub amount: Amount,
}
