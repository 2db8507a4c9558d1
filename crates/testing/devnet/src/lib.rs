//! Local chains for tests, demos and benches: real programs on a chain whose every fault can be
//! scripted.
//!
//! Development only; nothing of the product imports it. What is real and what is ours is said in
//! `docs/guide/devnet.md` and `docs/guide/devnet-solana.md`.

pub mod demo;
pub mod front;
pub mod near;
pub mod solana;

/// What went wrong, in words for the person who runs the test.
pub type Outcome<T = ()> = Result<T, String>;
