//! The local chain: its rules, its faults, and its shapes against NEAR's own types.

mod client;
mod smoke;
