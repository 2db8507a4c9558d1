//! Notes that a token's contract may be gone since it was found to fit, from the error of a view or of
//! a final transaction. A note is a reason to check again, and nothing more: what the providers then
//! say alike is what counts.

use std::sync::atomic::{AtomicBool, Ordering};

/// What nodes call a contract that is not there: an account without one, no account, a contract without the method.
const SIGNS: [&str; 4] =
    ["CodeDoesNotExist", "AccountDoesNotExist", "UNKNOWN_ACCOUNT", "MethodNotFound"];

/// Whether the kept check of the tokens is to be asked again.
#[derive(Debug, Default)]
pub(super) struct TokenRecheck(AtomicBool);

impl TokenRecheck {
    /// Notes the error of a call about a token.
    pub(super) fn note(&self, failure: &str) {
        if SIGNS.iter().any(|sign| failure.contains(sign)) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// Whether something failed so since this was asked last.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::TokenRecheck;

    #[test]
    fn what_names_a_contract_that_is_gone_is_asked_after_once() {
        let recheck = TokenRecheck::default();
        recheck.note("TIMEOUT: the account of codedoesnotexist.near is not registered");
        assert!(!recheck.take());
        recheck.note("wasm execution failed with error: CompilationError(CodeDoesNotExist { .. })");
        assert!(recheck.take() && !recheck.take());
    }
}
