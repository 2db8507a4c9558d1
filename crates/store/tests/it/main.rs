//! The stores, held to the suites of all journals and ledgers, and their own promises.
#![expect(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

mod audit;
mod bed;
mod clock;
mod desk;
mod full;
mod limits;
mod operator;
mod owner;
mod people;
mod postgres;
mod search;
mod site;
mod suites;
mod views;
