//! The middleware of every request: the caller, the body, path and query parameters, the rate limit, and the form
//! of a refusal.

pub mod body;
pub mod caller;
pub mod envelope;
pub mod error;
pub mod path_params;
pub mod query;
pub mod rate_limit;
