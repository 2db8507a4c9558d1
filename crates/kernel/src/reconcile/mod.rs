//! The pure rules of conservation, over what was read of each side at one instant. They do not say when to
//! read: `engine::reconciliation` does, in an order in which they raise no false alarm.

mod accepted;
mod account;
mod client_key;
mod ledger;
mod lost;
mod transfer;

pub use accepted::{SumBreak, named, offset, rows, unnamed};
pub use account::account;
pub use client_key::unmatched_key;
pub use ledger::{books, counted};
pub use lost::{accepted_loss, discounted, lost, shortened, was_shortened};
pub use transfer::{Laws, Matched, same, unclaimed};

/// Money that is not where the evidence says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// What it is about, the same in each round: `FUNDING/3/clearing`, `<transfer>/SPOT/DEPOSIT`.
    pub key: String,
    /// What is there less what should be, in base units.
    pub amount: i128,
    /// The sentence for a person.
    pub what: String,
}
