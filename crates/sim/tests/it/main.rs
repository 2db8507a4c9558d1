//! The suites over everything that claims to be a ledger or a journal.

#[cfg(test)]
mod campaign;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod found;
#[cfg(test)]
mod internal;
#[cfg(test)]
mod many;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod owners;
#[cfg(test)]
mod patience;
#[cfg(test)]
mod real;
#[cfg(test)]
mod stands;
#[cfg(test)]
mod suite_journal;
#[cfg(test)]
mod suite_ledger;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod traces_people;
#[cfg(test)]
mod wrong;
#[cfg(test)]
mod wrong_journals;
#[cfg(test)]
mod wrong_ledgers;
#[cfg(test)]
mod wrong_people;
