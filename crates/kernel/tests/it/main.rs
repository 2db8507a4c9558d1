//! The kernel as a flow's author uses it: a toy chain flow, its table, its faults, its attempts.

mod actions;
mod admit;
mod audit;
mod declarations;
mod faults;
mod laws;
mod mutated;
mod pair;
mod proposals;
mod seals;
mod table;
mod toy;
mod units;
mod words;
