//! `[server]`

use super::section::{Rules, section};
use std::net::SocketAddr;

section! {
    /// The door.
    Server {
        /// Address and port; loopback only.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 3000)),
        /// `/metrics` and `/openapi.json` need no token, wherever the server listens.
        public_metrics: bool = false,
    }
}

impl Server {
    pub(super) fn rules(&self, rules: &mut Rules) {
        rules.need(
            "server.listen",
            self.listen.ip().is_loopback(),
            "only loopback addresses (127.0.0.1, ::1) until TLS or server.behind_proxy exists: \
             tokens would cross the network in the clear",
        );
    }
}
