//! What the tests derive from a flow's table: the points at which processes die, and tables with one fault each.

pub mod crash_points;
pub mod mutants;
