//! What both directions of a swap share; a flow is in `swap_in` and in `swap_out`.

pub(crate) mod events;
pub mod fees;
pub mod past_attempts;
pub mod rules;
pub(crate) mod text;
pub mod times;
