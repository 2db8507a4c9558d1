//! `[spot]`: what `portage spot serve` is.

use super::secret::Secret;
use super::section::{Rules, section};
use std::collections::BTreeMap;
use std::net::SocketAddr;

section! {
    /// A Spot core that is served by itself (`portage spot serve`).
    Spot {
        /// Address and port; loopback only.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 3100)),
        /// The bearer token that callers show; empty takes the generated one (`portage spot token`).
        token: Secret = Secret::default(),
        /// Assets beside the fresh ones: symbol and number.
        assets: BTreeMap<String, u32> = BTreeMap::new(),
    }
}

impl Spot {
    pub(super) fn rules(&self, rules: &mut Rules) {
        rules.need(
            "spot.listen",
            self.listen.ip().is_loopback(),
            "only loopback addresses (127.0.0.1, ::1): the token would cross the network in the \
             clear. Put a TLS proxy before it",
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
