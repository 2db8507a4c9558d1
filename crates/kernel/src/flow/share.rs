//! Which part of a transfer's money an act moves.

/// How much an act moves, and in whose asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// What the source party gives, in its asset.
    Gross,
    /// What the source party gives less the refund fee, in its asset.
    LessRefundFee,
    /// What the target party gets, in its asset.
    Net,
    /// None of the transfer's money: the service pays what it costs.
    OwnCost,
}

impl Share {
    /// Every share, in the order of the declaration.
    pub const ALL: &'static [Self] = &[Self::Gross, Self::LessRefundFee, Self::Net, Self::OwnCost];
}
