//! `[auth]`: the issuer, audience and keys of the tokens that the server accepts.

use super::address::Address;
use super::secret::Secret;
use super::section::{SettingRules, section};
use crate::outbound_http;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

section! {
    /// Who may come in.
    Auth {
        /// The only `iss` that is taken.
        issuer: String = "portage".to_owned(),
        /// Issuers of before, the oldest first, for ever: a client's key made under one of them is
        /// found under the present one. Set it in the same start as the new `auth.issuer`.
        former_issuers: Vec<String> = Vec::new(),
        /// The only `aud` that is taken.
        audience: String = "portage".to_owned(),
        /// The public keys that check tokens (a JWK set), in a file; read again when it changes.
        jwks_file: PathBuf = PathBuf::new(),
        /// The same at an address: `https://`, or `http://` on loopback.
        jwks_url: Address = Address::default(),
        /// How often the address is asked.
        jwks_refresh_seconds: u64 = 300,
        /// A set that could not be read again for this time checks no token any more (503); a case
        /// opens at half of it.
        jwks_max_stale_seconds: u64 = 86_400,
        /// For development, where no set of keys is named: at least 32 bytes; empty takes the
        /// generated key in `data.dir`.
        hs256_secret: Secret = Secret::default(),
        /// The development key, or a secret of one's own, counts beyond loopback and behind a proxy too: for an evaluation in a container.
        development_key_beyond_loopback: bool = false,
        /// How far clocks may differ, at most 5.
        leeway_seconds: u64 = 5,
        /// The longest time between `iat` and `exp`.
        max_lifetime_seconds: u64 = 3600,
        /// The header types that are taken, without regard to case; an empty text among them takes tokens that name no type.
        typ: Vec<String> = ["at+jwt", "JWT"].map(str::to_owned).to_vec(),
        /// The claim that holds the scopes: a text with spaces between them, or a list.
        scope_claim: String = "scope".to_owned(),
        /// The claim that holds the user's id.
        user_claim: String = "sub".to_owned(),
    }
}

impl Auth {
    /// Every issuer that was ever taken, the oldest first.
    pub fn issuers(&self) -> Vec<Arc<str>> {
        let all = self.former_issuers.iter().chain([&self.issuer]);
        all.map(|issuer| issuer.as_str().into()).collect()
    }

    /// True where tokens come from elsewhere and no key of ours signs them.
    pub fn has_jwks(&self) -> bool {
        !self.jwks_file.as_os_str().is_empty() || !self.jwks_url.is_empty()
    }

    pub(super) fn rules(&self, rules: &mut SettingRules, beyond_loopback: bool) {
        rules.need(
            "auth.jwks_file",
            !beyond_loopback || self.has_jwks() || self.development_key_beyond_loopback,
            "beyond loopback, or behind a proxy, tokens need keys of your own: auth.jwks_file or auth.jwks_url. A \
             person who reads the development key acts as any user; for an evaluation set \
             auth.development_key_beyond_loopback",
        );
        let secret = self.hs256_secret.reveal().len();
        rules.need(
            "auth.hs256_secret",
            secret == 0 || secret >= 32,
            "at least 32 bytes, or empty for the generated key",
        );
        let (file, url) = (!self.jwks_file.as_os_str().is_empty(), &*self.jwks_url);
        rules.need(
            "auth.hs256_secret",
            secret == 0 || !self.has_jwks(),
            "empty where auth.jwks_file or auth.jwks_url is set: a caller that knows a secret for \
             development could sign as anybody",
        );
        rules.need(
            "auth.jwks_url",
            url.is_empty() || !file,
            "empty where auth.jwks_file is set: one source decides who may come in",
        );
        if !url.is_empty() {
            let rule = outbound_http::address(url).err();
            rules.need("auth.jwks_url", rule.is_none(), rule.unwrap_or_default());
        }
        rules.need(
            "auth.jwks_refresh_seconds",
            (1..=86_400).contains(&self.jwks_refresh_seconds),
            "1 to 86400: a key that was taken out of the set counts until then",
        );
        rules.need(
            "auth.jwks_max_stale_seconds",
            (4..=2_592_000).contains(&self.jwks_max_stale_seconds)
                && (url.is_empty() || self.jwks_max_stale_seconds / 4 >= self.jwks_refresh_seconds),
            "4 to 2592000 (30 days), and at least four times auth.jwks_refresh_seconds: one reading \
             that fails is no alarm",
        );
        rules.need("auth.leeway_seconds", self.leeway_seconds <= 5, "at most 5");
        rules.need("auth.max_lifetime_seconds", self.max_lifetime_seconds > 0, "above 0");
        rules.need("auth.typ", !self.typ.is_empty(), "at least one type");
        rules.need("auth.scope_claim", !self.scope_claim.is_empty(), "not empty");
        rules.need(
            "auth.issuer",
            !self.issuer.is_empty() && !self.issuer.contains('|'),
            "not empty and without `|`, which parts issuer and subject",
        );
        let all = &self.former_issuers;
        rules.need(
            "auth.former_issuers",
            all.iter().all(|one| !one.is_empty() && !one.contains('|') && *one != self.issuer)
                && all.iter().collect::<BTreeSet<_>>().len() == all.len(),
            "each once, not empty, without `|`, and not auth.issuer",
        );
        rules.need("auth.audience", !self.audience.is_empty(), "not empty");
        rules.need("auth.user_claim", !self.user_claim.is_empty(), "not empty");
    }
}
