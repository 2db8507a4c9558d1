//! The store on a real PostgreSQL: the suites of all journals and ledgers, and its own promises.

mod archive;
mod attempts;
mod cached_balances;
mod first;
pub(crate) mod fixture;
mod indexes;
mod lapses;
mod late;
mod silent;
mod standby;
mod status;
mod suites;
