//! HALT: how it is raised, numbered and ended.

mod by_hand;
mod losses;
mod numbers;
mod plain_path;
mod ways_out;
