//! The Spot ledger through its port, on a real folder and on one that breaks.

#[cfg(test)]
mod damage;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod suite;
