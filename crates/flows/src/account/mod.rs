//! Account to account in one database, driven by events: validation, execution, notification, audit.

mod checks;
mod message;
mod table;
mod text;

pub use checks::AccountChecks;
pub use table::{Act, State};
