//! The settings as texts: the effective ones, and the page of all.

pub mod print;
pub mod reference;
