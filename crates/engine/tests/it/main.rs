//! The engine on the real store and the real Spot core: who a ledger is, and what must add up.
#![expect(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

mod audit;
mod conservation;
mod hindered;
mod horizon;
mod house;
mod identity;
mod load;
mod locks;
mod machine;
mod reopened;
mod tamper;
mod way;
