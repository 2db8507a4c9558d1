//! The pure heart of Portage: what a transfer is, what an answer means, and what may be written.
//!
//! Nothing here does I/O, reads a clock or draws a random number. Reading order: [`answer`],
//! [`life`], [`table`], [`record`], [`mod@unit`], [`ports`].

pub mod answer;
pub mod attempt;
pub mod audit;
pub mod check;
pub mod code;
pub mod conserve;
pub mod effects;
pub mod hmac;
pub mod ids;
pub mod life;
pub mod mermaid;
pub mod money;
pub mod mutants;
pub mod people;
pub mod points;
pub mod ports;
pub mod principal;
pub mod record;
pub mod retry;
pub mod table;
pub mod unit;
