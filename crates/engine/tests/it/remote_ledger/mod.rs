//! A ledger outside the journal: which one it is, and what it may forget.

mod earlier_sends;
mod hindered_leg;
mod horizon;
mod identity;
mod reopened;
