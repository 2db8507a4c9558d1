//! The listener accepts connections for the HTTP API: the accept loop, TLS, the limits of their number and their
//! timeouts.

mod connection_limits;
pub mod connection_timeouts;
pub mod serve;
pub mod tls;
