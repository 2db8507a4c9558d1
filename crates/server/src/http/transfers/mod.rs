//! The routes of internal transfers: create one or many, with a dry run, in two spellings; read and list them.

pub mod batch;
pub(crate) mod create;
pub mod dry_run;
pub mod list;
pub mod response;
pub mod routes;
pub mod v2;
pub mod validate;
