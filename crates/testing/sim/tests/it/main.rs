//! The suites over everything that claims to be a ledger or a journal.

#[cfg(test)]
mod campaign;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod found_seeds;
#[cfg(test)]
mod internal;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod real_stores;
#[cfg(test)]
mod spot;
#[cfg(test)]
mod suite_journal;
#[cfg(test)]
mod suite_ledger;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod traces_operators;
#[cfg(test)]
mod workers;
#[cfg(test)]
mod wrong;
#[cfg(test)]
mod wrong_journals;
#[cfg(test)]
mod wrong_ledgers;
#[cfg(test)]
mod wrong_operators;
