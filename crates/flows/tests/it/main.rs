//! The tables of all flows, held against what is written down about them.

mod conserve;
mod internal;
mod source;
mod tables;
