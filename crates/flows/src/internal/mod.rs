//! Between two accounts of one user at two ledgers: Funding to Spot, or back.

mod table;
mod text;

pub use table::{Act, State};
