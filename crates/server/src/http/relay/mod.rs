//! The relay's routes: create transfers of tokens from its account on NEAR to any other, one or many, and read
//! them.

pub mod batch;
pub mod intake;
pub mod request;
pub mod response;
pub mod routes;

pub(in crate::http) use request::SHARED_SCOPE;
