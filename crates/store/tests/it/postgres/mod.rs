//! The store on a real PostgreSQL: the suites of all journals and ledgers, and its own promises.

mod archive;
mod believed;
mod first;
mod indexes;
mod late;
mod silent;
mod site;
mod standby;
mod status;
mod suites;
