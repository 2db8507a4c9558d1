//! Ledgers at the other end of real HTTP.

mod crooked;
mod home;
mod identity;
mod proxy;
mod scene;
mod served;
mod suite;
