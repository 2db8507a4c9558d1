//! The adapter to NEAR over a local chain that executes a real token contract: see `docs/guide/devnet.md`.

mod batches;
mod bytes;
mod foreign;
mod identity;
mod lanes;
mod outvoted;
mod pending;
mod providers;
mod receivers;
mod returned;
mod rounds;
mod sends;
mod suite;
mod tokens;
mod world;
