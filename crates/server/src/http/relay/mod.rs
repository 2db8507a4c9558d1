//! The relay: tokens from our account on NEAR to any other. Made, one or many at once, and read.

pub mod batch;
pub mod intake;
pub mod request;
pub mod response;
pub mod routes;
