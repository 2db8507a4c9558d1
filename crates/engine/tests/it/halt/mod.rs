//! HALT: how it is raised, numbered and ended.

mod by_hand;
mod numbers;
mod ways_out;
