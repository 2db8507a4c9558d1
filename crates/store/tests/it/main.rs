//! The stores, held to the suites of all journals and ledgers, and their own promises.
#![expect(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

mod admin_lists;
mod agreed;
mod audit;
mod client_keys;
mod clock;
mod fixture;
mod folder_store;
#[cfg(test)]
mod forgotten_cases;
mod full;
mod limits;
mod movements;
mod operator_actions;
mod operator_sql;
mod owner;
mod postgres;
mod search;
mod suites;
mod views;
mod webhooks;
