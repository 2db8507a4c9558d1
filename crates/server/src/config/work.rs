//! `[work]`: the pages that `portage work` serves to machines.

use super::section::{SettingRules, section};
use std::net::SocketAddr;

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
