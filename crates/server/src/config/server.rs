//! `[server]`: the listen address, TLS, and the limits and timeouts of connections; `[work]`: the pages of workers.

use super::section::{SettingRules, section};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

section! {
    /// The address that clients connect to, and how long they are waited for.
    Server {
        /// Address and port; beyond loopback only with TLS or behind a proxy that has it.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 3000)),
        /// Only a proxy reaches this address, and speaks TLS to the rest of the world.
        behind_proxy: bool = false,
        /// `/metrics` and `/openapi.json` need no token, wherever the server listens.
        public_metrics: bool = false,
        /// The most connections; one more is closed unread.
        max_connections: usize = 2048,
        /// The most from one IPv4 address or one IPv6 network of 64 bits; 0 counts none. This
        /// machine's own are not counted, and none is behind a proxy.
        max_connections_per_ip: usize = 256,
        /// How long the head of a request may take, with the handshake before it.
        header_timeout_ms: u64 = 5_000,
        /// How long a body may take, and how long an answer may stand still while it is taken.
        body_timeout_ms: u64 = 5_000,
        /// How long a connection is kept between two requests.
        idle_timeout_ms: u64 = 30_000,
        /// How long requests are taken after the signal to end, while `/readyz` says 503: a proxy in front stops sending here before the door closes.
        drain_delay_ms: u64 = 0,
        /// TLS, where both files are named.
        tls: Tls = Tls::default(),
    }
}

section! {
    /// TLS 1.2 and 1.3.
    Tls {
        /// The certificate and those up to its authority, in PEM; read again when it changes.
        cert_file: PathBuf = PathBuf::new(),
        /// Its private key in PEM, which others may not read.
        key_file: PathBuf = PathBuf::new(),
    }
}

impl Tls {
    /// True where there is any.
    pub fn is_set(&self) -> bool {
        !self.cert_file.as_os_str().is_empty()
    }

    pub(super) fn rules(&self, key: &str, rules: &mut SettingRules) {
        let both = self.is_set() != self.key_file.as_os_str().is_empty();
        rules.need(key, both, "cert_file and key_file belong together");
    }
}

impl Server {
    /// Whether the pages for machines need no token there: only this machine reaches them, or the
    /// settings say so.
    pub fn open_pages(&self) -> bool {
        self.public_metrics || !self.is_beyond_loopback()
    }

    /// True where others than this machine reach the server, by themselves or through a proxy.
    pub fn is_beyond_loopback(&self) -> bool {
        self.behind_proxy || !self.listen.ip().is_loopback()
    }

    /// The address as a client is told it.
    pub fn url(&self, address: SocketAddr) -> String {
        format!("{}://{address}", if self.tls.is_set() { "https" } else { "http" })
    }

    /// The address as a client on this machine reaches it: one that stands for all of the machine's (`0.0.0.0`, `::`)
    /// is none to connect to.
    pub fn local_url(&self, address: SocketAddr) -> String {
        let loopback: IpAddr = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
        };
        self.url(SocketAddr::new(loopback, address.port()))
    }

    pub(super) fn rules(&self, rules: &mut SettingRules) {
        let tls = &self.tls;
        tls.rules("server.tls", rules);
        rules.need(
            "server.listen",
            self.listen.ip().is_loopback() || tls.is_set() || self.behind_proxy,
            "beyond loopback (127.0.0.1, ::1) only with server.tls, or with server.behind_proxy where \
             a proxy has the TLS: tokens would cross the network in the clear",
        );
        rules.need("server.max_connections", self.max_connections > 0, "above 0");
        rules.need("server.drain_delay_ms", self.drain_delay_ms <= 60_000, "up to 60000");
        for (key, time) in [
            ("server.header_timeout_ms", self.header_timeout_ms),
            ("server.body_timeout_ms", self.body_timeout_ms),
            ("server.idle_timeout_ms", self.idle_timeout_ms),
        ] {
            rules.need(key, (1..=3_600_000).contains(&time), "1 to 3600000");
        }
    }
}

section! {
    /// The pages for machines of `portage work`.
    Work {
        /// Address and port of `/livez`, `/readyz` and `/metrics`; without it `portage work` listens nowhere.
        listen: Option<SocketAddr> = None,
        /// These pages take no token. An address beyond loopback needs this: a network that only your machines reach.
        public_metrics: bool = false,
    }
}

impl Work {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need(
            "work.listen",
            self.public_metrics || self.listen.is_none_or(|address| address.ip().is_loopback()),
            "beyond loopback (127.0.0.1, ::1) only with work.public_metrics: these pages take no token",
        );
    }
}
