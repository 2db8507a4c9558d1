//! The tables of all flows, held against what is written down about them.

mod account_ids;
mod conserve;
mod contract;
mod golden;
mod mutants;
mod rules;
mod source;
mod source_account;
mod source_relay;
mod source_swaps;
mod tables;
mod text;
mod world;
