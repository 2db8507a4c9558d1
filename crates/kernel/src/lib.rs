//! The pure heart of Portage: what a transfer is, what an answer means, and what may be written.
//!
//! Nothing here does I/O, reads a clock or draws a random number. Reading order: [`answer`],
//! [`life`], [`table`], [`record`], [`unit`], [`ports`].

pub mod answer;
pub mod attempt;
pub mod audit;
pub mod code;
pub mod ids;
pub mod life;
pub mod money;
pub mod ports;
pub mod record;
pub mod retry;
pub mod table;
pub mod unit;
