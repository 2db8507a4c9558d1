//! How a transfer names its state.

/// A state's index in its table; never stored.
pub type S = u8;
