//! The suites over everything that claims to be a ledger or a journal.

mod internal;
mod outside;
mod suite_journal;
mod suite_ledger;
mod wrong;
mod wrong_journals;
mod wrong_ledgers;
