//! Ledgers at the other end of real HTTP.

mod crooked;
mod fixture;
pub(crate) mod home;
mod identity;
pub(crate) mod proxy;
pub(crate) mod served;
mod suite;
