//! The engine on the real store and the real Spot core: who a ledger is, and what must add up.
#![expect(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

mod audit;
mod between;
mod cases;
mod conservation;
mod crashes;
mod cut;
mod deeds;
mod earlier_sends;
mod halt_numbers;
mod halts;
mod hindered;
mod horizon;
mod house;
mod identity;
mod limits;
mod load;
mod locks;
mod machine;
mod pauses;
mod postgres;
mod reopened;
mod roles;
mod seen;
mod tamper;
mod verdicts;
mod way;
mod ways_out;
