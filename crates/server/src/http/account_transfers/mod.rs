//! Account transfers: the routes that create, read and list transfers between numbered accounts, which messages carry.

pub mod list;
pub mod request;
pub mod response;
pub mod routes;
