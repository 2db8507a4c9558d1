//! Account to account in one database, driven by events: validation, execution, notification, audit.

mod message;
mod table;
mod text;

pub use table::{Act, State};
