//! A flow as a table of states: its life, its proof, its diagram and the points at which it may crash.

pub mod check;
pub mod crash_points;
pub mod dataflow;
pub mod life;
pub mod mermaid;
pub mod table;
pub mod table_mutations;
