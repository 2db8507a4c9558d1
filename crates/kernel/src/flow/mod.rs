//! A flow as a table of states: its life, the checks that prove it, and its diagram.

pub mod booking;
pub mod check;
pub mod dataflow;
pub mod life;
pub mod mermaid;
pub mod share;
pub mod state;
pub mod table;
