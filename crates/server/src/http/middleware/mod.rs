//! The middleware of every request: the caller, the body, path and query parameters, the limits of creates in this process, and the form
//! of a refusal.

pub mod body;
pub mod caller;
pub mod envelope;
pub mod error;
pub mod path_params;
pub mod query;
pub mod rate_limit;
pub mod refused_creates;
