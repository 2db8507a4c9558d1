//! The suites over everything that claims to be a ledger or a journal.

mod internal;
mod suite_journal;
mod suite_ledger;
