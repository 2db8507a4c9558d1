//! Ledgers at the other end of real HTTP.

mod served;
mod suite;
