//! Account transfers: from one numbered account to another, carried by messages. Made, and read.

pub mod request;
pub mod response;
pub mod routes;
