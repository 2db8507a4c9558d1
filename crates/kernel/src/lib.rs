//! The pure core of Portage: what a transfer is, what an answer means, and what may be written.
//!
//! Nothing here does I/O, reads a clock or draws a random number. Reading order: [`answer`],
//! [`flow::life`], [`flow::table`], [`record`], [`mod@unit`], [`ports`].

#![warn(missing_docs)]

pub mod accounts;
pub mod agreed;
pub mod answer;
pub mod attempt;
pub mod audit;
pub mod books;
pub mod bucket_leases;
pub mod code;
pub mod flow;
pub mod hmac;
pub mod ids;
pub mod limits;
pub mod message;
pub mod money;
pub mod operation;
pub mod operators;
pub mod owner;
pub mod ports;
pub mod principal;
pub mod reconcile;
pub mod record;
pub mod retry;
pub mod rules;
pub mod systems;
pub mod unit;
pub mod webhooks;
