//! `[auth]`

use super::secret::Secret;
use super::section::{Rules, section};

section! {
    /// Who may come in.
    Auth {
        /// The only `iss` that is taken.
        issuer: String = "portage".to_owned(),
        /// The only `aud` that is taken.
        audience: String = "portage".to_owned(),
        /// For development: at least 32 bytes; empty takes the generated key in `data.dir`.
        hs256_secret: Secret = Secret::default(),
        /// How far clocks may differ, at most 5.
        leeway_seconds: u64 = 5,
        /// The longest time between `iat` and `exp`.
        max_lifetime_seconds: u64 = 3600,
        /// The header types that are taken.
        typ: Vec<String> = vec!["at+jwt".to_owned()],
        /// The claim that holds the user's id.
        user_claim: String = "sub".to_owned(),
    }
}

impl Auth {
    pub(super) fn rules(&self, rules: &mut Rules) {
        let secret = self.hs256_secret.reveal().len();
        rules.need(
            "auth.hs256_secret",
            secret == 0 || secret >= 32,
            "at least 32 bytes, or empty for the generated key",
        );
        rules.need("auth.leeway_seconds", self.leeway_seconds <= 5, "at most 5");
        rules.need("auth.max_lifetime_seconds", self.max_lifetime_seconds > 0, "above 0");
        rules.need("auth.typ", !self.typ.is_empty(), "at least one type");
        rules.need(
            "auth.issuer",
            !self.issuer.is_empty() && !self.issuer.contains('|'),
            "not empty and without `|`, which parts issuer and subject",
        );
        rules.need("auth.audience", !self.audience.is_empty(), "not empty");
        rules.need("auth.user_claim", !self.user_claim.is_empty(), "not empty");
    }
}
