//! The adapter to Solana over a local chain that executes the real token program: see `docs/guide/devnet.md`.

mod bytes;
mod deposits;
mod foreign;
mod lane_accounts;
mod lanes;
mod outcomes;
mod providers;
mod receivers;
mod sends;
mod suite;
mod world;
