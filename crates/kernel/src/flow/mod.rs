//! A flow as a table of states: its life, the checks that prove it, its diagram and its crash points.

pub mod check;
pub mod crash_points;
pub mod dataflow;
pub mod life;
pub mod mermaid;
pub mod share;
pub mod state;
pub mod table;
pub mod table_mutations;
