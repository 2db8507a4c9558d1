//! The embedded store, held to the suites of all journals and ledgers, and its own promises.

mod site;
mod suites;
