//! Ledgers at the other end of real HTTP.

mod crooked;
pub(crate) mod home;
mod identity;
pub(crate) mod proxy;
mod scene;
pub(crate) mod served;
mod suite;
