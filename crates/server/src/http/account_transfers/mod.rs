//! Account transfers: the routes that create and read transfers between numbered accounts, which messages carry.

pub mod request;
pub mod response;
pub mod routes;
