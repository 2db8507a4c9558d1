//! How long a swap is normally in a state; longer opens a case and moves nothing.

/// The times that the settings may change, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapTimes {
    /// Until a transaction is final (`USDC_CONFIRM_TIMEOUT_SEC` of the source).
    pub confirmed: u32,
    /// Until a swap is accepted: a receiver is named, and the inventory has the payout (`REFUND_TIMEOUT_SEC`).
    pub accepted: u32,
    /// Until a refund that waits is made (`STALE_DEPOSIT_QUARANTINE_SEC`).
    pub refunded: u32,
    /// Until a receiver on Nexus takes what was sent.
    pub delivered: u32,
}

impl SwapTimes {
    /// The source's own times, and the seven days after which a payment on Nexus expires.
    pub const SOURCE: Self =
        Self { confirmed: 600, accepted: 3_600, refunded: 86_400, delivered: 604_800 };
}
