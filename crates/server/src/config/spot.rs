//! `[spot]`: the listen address, TLS, token and assets of `portage spot serve`.

use super::secret::Secret;
use super::section::{SettingRules, section};
use super::server::{Server, Tls};
use std::collections::BTreeMap;
use std::net::SocketAddr;

section! {
    /// A Spot core that is served by itself (`portage spot serve`).
    Spot {
        /// Address and port; beyond loopback only with TLS or behind a proxy that has it.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 3100)),
        /// Only a proxy reaches this address, and speaks TLS to the rest of the world.
        behind_proxy: bool = false,
        /// TLS, where both files are named.
        tls: Tls = Tls::default(),
        /// The bearer token that callers show; empty takes the generated one (`portage spot token`).
        token: Secret = Secret::default(),
        /// Assets beside the fresh ones: symbol and number.
        assets: BTreeMap<String, u32> = BTreeMap::new(),
    }
}

impl Spot {
    /// The door of it: as the server's own, with the settings of this section.
    pub fn door(&self) -> Server {
        let (listen, behind_proxy, tls) = (self.listen, self.behind_proxy, self.tls.clone());
        Server { listen, behind_proxy, tls, ..Server::default() }
    }

    pub(super) fn rules(&self, rules: &mut SettingRules) {
        self.tls.rules("spot.tls", rules);
        rules.need(
            "spot.listen",
            self.listen.ip().is_loopback() || self.tls.is_set() || self.behind_proxy,
            "beyond loopback (127.0.0.1, ::1) only with spot.tls, or with spot.behind_proxy where a \
             proxy has the TLS: the token would cross the network in the clear",
        );
        let token = self.token.reveal();
        let fits =
            token.is_empty() || (token.len() >= 32 && token.bytes().all(|b| b.is_ascii_graphic()));
        rules.need(
            "spot.token",
            fits,
            "at least 32 visible ASCII characters, or empty for the generated one",
        );
        for (symbol, number) in &self.assets {
            let symbolic = (1..=16).contains(&symbol.len())
                && symbol.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
            let key = format!("spot.assets.{symbol}");
            rules.need(key.clone(), symbolic, "a symbol is 1 to 16 capital letters and digits");
            let others = self.assets.iter().filter(|(_, other)| *other == number).count();
            let fresh = kernel::money::Asset::fresh();
            let taken = fresh.iter().any(|a| (a.symbol == *symbol) != (a.id.0 == *number));
            rules.need(
                key,
                *number > 0 && others == 1 && !taken,
                "a number above 0 that no other asset has",
            );
        }
    }
}
