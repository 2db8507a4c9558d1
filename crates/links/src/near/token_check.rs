//! Checks whether the relay's account and the contracts of its tokens are what the settings say: once
//! the store is bound to its chain, and now and then until that is known. What as many providers as are
//! needed say alike is definite; a provider that does not answer says nothing.

use super::NearLink;
use super::concerns::TOKEN_CONTRACT_INVALID;
use super::metadata::agreed_metadata;
use super::rpc::{BlockAt, code, exists, has_view};
use kernel::answer::Cause;
use kernel::ports::chain::{CHAIN_UNBOUND, WRONG_CHAIN};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The views that a contract must answer, so that the relay can pay with its token.
const VIEWS: [&str; 2] = ["ft_balance_of", "storage_balance_bounds"];

/// The result of a check of the tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenCheck {
    /// Not yet asked, or too few providers answered: why.
    Unknown(Arc<str>),
    /// Each is a token's contract.
    Fits,
    /// One is not, or there is no account to pay from: a sentence.
    Unfit(Arc<str>),
}

/// The last check, for the start, the intake and operators.
#[derive(Debug)]
pub(super) struct LastTokenCheck(Mutex<TokenCheck>);

impl Default for LastTokenCheck {
    fn default() -> Self {
        Self(Mutex::new(TokenCheck::Unknown("it was not asked yet".into())))
    }
}

impl LastTokenCheck {
    pub(super) fn get(&self) -> TokenCheck {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what was found. What was definite once stays where it is not known now.
    fn keep(&self, found: TokenCheck) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_unknown(&found) && !is_unknown(&last) || *last == found {
            return false;
        }
        *last = found;
        true
    }
}

/// The sentence about an asset whose decimals are not those of its contract.
pub fn other_decimals(contract: &str, theirs: u64, ours: u64) -> String {
    format!("relay.asset: {contract} has {theirs} decimals, and the asset {ours}")
}

fn is_unknown(check: &TokenCheck) -> bool {
    matches!(check, TokenCheck::Unknown(_))
}

impl NearLink {
    /// Asks the providers, unless it is known that all is well. Says in the log what is new.
    pub(super) async fn check_tokens(&self) -> TokenCheck {
        if self.token_check.get() == TokenCheck::Fits && !self.token_recheck.take() {
            return TokenCheck::Fits;
        }
        let found = match self.unfit_token().await {
            Ok(None) => TokenCheck::Fits,
            Ok(Some(why)) => TokenCheck::Unfit(why.into()),
            // nothing was asked: it is not proven yet which chain the providers are of
            Err(cause) if [CHAIN_UNBOUND, WRONG_CHAIN].contains(&cause.class) => {
                return self.token_check.get();
            }
            Err(cause) => TokenCheck::Unknown(cause.to_string().into()),
        };
        if self.token_check.keep(found) {
            match self.token_check.get() {
                TokenCheck::Fits => {
                    tracing::info!("relay: the account and its token's contract are there")
                }
                TokenCheck::Unfit(why) => tracing::error!(
                    code = TOKEN_CONTRACT_INVALID,
                    "relay: {why}: transfers are not taken in; it is asked again each minute"
                ),
                TokenCheck::Unknown(why) => tracing::warn!(
                    "relay: whether the token's contract fits is not known now: {why}; it is asked again each minute"
                ),
            }
        }
        self.token_check.get()
    }

    /// The first definite difference from the settings, as a sentence.
    async fn unfit_token(&self) -> Result<Option<String>, Cause> {
        let own = &self.settings.account;
        if !self.rpc.agreed(&exists(own)).await? {
            return Ok(Some(format!("relay.account_id: the chain has no account {own}")));
        }
        for token in self.tokens.all() {
            let contract = &token.token.contract;
            let what = "relay.token_contract";
            match self.rpc.agreed(&code(contract)).await? {
                None => return Ok(Some(format!("{what}: the chain has no account {contract}"))),
                Some(false) => {
                    return Ok(Some(format!("{what}: the account {contract} has no contract")));
                }
                Some(true) => {}
            }
            for view in VIEWS {
                let args = json!({ "account_id": &**own });
                if !self.rpc.agreed(&has_view(contract, view, &args, BlockAt::Final)).await? {
                    let why = format!("{what}: {contract} is no token: it has no method {view}");
                    return Ok(Some(why));
                }
            }
            let ours = u64::from(token.token.decimals);
            let metadata = agreed_metadata(&self.rpc, contract).await?;
            let theirs = metadata.and_then(|shown| shown.get("decimals").and_then(Value::as_u64));
            if let Some(theirs) = theirs.filter(|theirs| *theirs != ours) {
                return Ok(Some(other_decimals(contract, theirs, ours)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns red where a provider that does not answer takes back what was definite.
    #[test]
    fn what_was_definite_stays_while_no_provider_answers() {
        let last = LastTokenCheck::default();
        let unknown = || TokenCheck::Unknown("TIMEOUT".into());
        assert!(last.keep(unknown()), "it is told of");
        assert!(!last.keep(unknown()), "once");
        let unfit = TokenCheck::Unfit("no account".into());
        assert!(last.keep(unfit.clone()));
        assert!(!last.keep(unknown()));
        assert_eq!(last.get(), unfit);
        assert!(last.keep(TokenCheck::Fits), "it was mended");
        assert!(!last.keep(unknown()));
        assert_eq!(last.get(), TokenCheck::Fits);
    }
}
