//! Where the money of a transfer stands in the books of the chains that it goes through: each state of a flow that keeps
//! such books declares it.

/// What the books say of a transfer in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// The deposit, in the books of the source's chain.
    pub deposit: DepositBooking,
    /// The payout, in the books of the target's chain.
    pub payout: PayoutBooking,
}

/// Where a deposit stands in the books of the chain that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepositBooking {
    /// Not in the vault: it was not taken in.
    Outside,
    /// In the vault, and owed to its depositor.
    Owed,
    /// In the vault, for an operator to decide about.
    Held,
    /// Kept as fees, all of it.
    Kept,
    /// Swapped: the fee is kept, the rest is inventory.
    Swapped,
    /// Given back, less the refund fee, which is kept.
    GivenBack,
    /// All of it was moved out of the vault again, to an account that the settings name.
    MovedOut,
}

/// Where a payout stands in the books of the chain on which it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayoutBooking {
    /// No inventory is set aside for it.
    Open,
    /// Taken from the inventory, and in the vault: it is promised, or on its way.
    Reserved,
    /// A final block has it: it left the vault.
    Spent,
}
