//! The rules of the journal and of Funding, once for both stores.
//!
//! Pure: a store says what it has read ([`Sight`]), is told what a unit, a leg, a tombstone or a
//! movement of the world comes to, and writes exactly that. Nothing here knows a column, a lock or a
//! connection, and nothing in a store weighs a guard or an amount.

mod guards;
mod legs;
mod sight;
mod touch;
mod unit;
mod world;

pub(crate) use legs::{Posting, answer, fence, leg};
pub(crate) use sight::{ALL, Balance, Book, Sight, Spend, Standing};
pub(crate) use touch::{Added, Changed, Opened, Row, Stamp, Touch, Touches};
pub(crate) use unit::{Plan, unit};
pub(crate) use world::{Booked, Booking, book};

/// Why a decision ends before its end.
#[derive(Debug)]
pub(crate) enum No<A, T> {
    /// This is the answer, and nothing is written.
    Said(A),
    /// The store cannot say what was asked of it.
    Stop(T),
}

impl<A, T> From<T> for No<A, T> {
    fn from(stop: T) -> Self {
        Self::Stop(stop)
    }
}
