//! How connections come in: the loop that accepts them, TLS, the limits of their number and of the
//! time that they may take.

mod connection_limits;
pub mod connection_timeouts;
pub mod serve;
pub mod tls;
