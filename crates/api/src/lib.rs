//! The bodies of the HTTP API, once for both sides: the server writes what the client reads, and the API's
//! description is generated from the same types. An older client ignores fields that a newer server adds; a field
//! that an older server does not send has a default.

#![warn(missing_docs)]

pub mod account_transfers;
pub mod accounts;
pub mod admin;
pub mod audit;
pub mod backup;
pub mod batch;
mod given;
pub mod health;
pub mod movements;
pub mod problem;
pub mod proof;
pub mod relay;
pub mod transfers;
pub mod transfers_v2;
pub mod user_id;
pub mod vaults;
mod words;
