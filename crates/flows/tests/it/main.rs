//! The tables of all flows, held against what is written down about them.

mod account;
mod account_ids;
mod conserve;
mod contract;
mod golden;
mod internal;
mod mutants;
mod relay;
mod rules;
mod source;
mod source_account;
mod source_relay;
mod source_swaps;
mod swap_in;
mod swap_out;
mod tables;
mod text;
mod world;
