//! Writes the settings as text: the effective values, and the reference page.

pub mod print;
pub mod reference;
