//! Local chains for tests, demos and benches: real programs on a chain whose every fault can be
//! scripted.
//!
//! Development only; nothing of the product imports it. What is real and what is ours is said in
//! `docs/guide/devnet.md`.

pub mod demo;
pub mod front;
pub mod near;

/// What went wrong, in words for the person who runs the test.
pub type Outcome<T = ()> = Result<T, String>;
