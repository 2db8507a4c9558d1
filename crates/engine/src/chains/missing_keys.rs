//! Finds keys that are missing: a key of an open attempt that this process does not have, or a key of this
//! process that the account on the chain does not have. Neither can sign, so a case tells operators.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::state::case_kinds::KEY_MISSING;
use crate::state::select::caught;
use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::chain::LanesOnChain;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The most keys that a case names.
const NAMED: usize = 10;

/// The result of a look at the account's keys.
#[derive(Debug, Clone, Default)]
enum KeyLook {
    /// No look of this process succeeded yet.
    #[default]
    Never,
    /// The chain's lanes are no keys that can be deleted.
    NoKeys,
    Shown(LanesOnChain),
}

/// The result of the last look at the account's keys.
#[derive(Debug, Default)]
pub(crate) struct ShownKeys(Mutex<KeyLook>);

impl ShownKeys {
    fn last(&self) -> KeyLook {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, shown: KeyLook) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = shown;
    }
}

impl Chains {
    /// Logs at start the open attempts whose keys this process does not have. Their provers ask for them like
    /// for any other, but this process signs nothing for them again; the monitor opens the case.
    pub(crate) async fn log_missing_keys(&self, pool: &Arc<ChainPool>) {
        let names = self.lane_names(pool);
        if names.is_empty() {
            return;
        }
        if let Err(cause) = self.read_lanes(pool).await {
            tracing::warn!(chain = pool.id().name(), %cause, "the lanes of a chain cannot be read");
            return;
        }
        for (lane, attempt) in pool.without_key(&names) {
            tracing::error!(
                chain = pool.id().name(), %lane, attempt = %Id(attempt.0),
                "a key with an open attempt is not among the keys of this process: name it again, until \
                 the attempt is closed"
            );
        }
    }

    /// Reads which keys the account on the chain has. Where the chain does not answer now, the earlier
    /// result stays.
    pub(crate) async fn look_at_keys(&self, pool: &ChainPool) {
        let shown = caught(async { pool.port.lanes_on_chain().await }).await;
        match shown.unwrap_or_else(|| Err(Cause::of("PANIC"))) {
            Ok(None) => pool.shown_keys.set(KeyLook::NoKeys),
            Ok(Some(shown)) => pool.shown_keys.set(KeyLook::Shown(shown)),
            Err(cause) => {
                tracing::debug!(chain = pool.id().name(), %cause, "the account's keys are not known");
            }
        }
    }

    /// The keys that this process may use, that are not retired, and that the chain does not have.
    fn absent_keys(&self, pool: &ChainPool, keys: &BTreeSet<Arc<str>>) -> Vec<String> {
        let KeyLook::Shown(LanesOnChain { height, lanes, providers }) = pool.shown_keys.last()
        else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        for key in keys.difference(&lanes) {
            let state = pool.lane(key).unwrap_or_default();
            if state.retired.is_some() {
                continue;
            }
            let open = state.open.map(|open| format!(", and attempt {} has it", Id(open.0)));
            lines.push(format!(
                "the account has no key {key} at block {height}, as {providers} providers show{}",
                open.unwrap_or_default()
            ));
        }
        lines
    }

    /// True where no key is missing, by the last look; false where no look succeeded yet.
    pub(crate) fn no_key_is_missing(&self, pool: &ChainPool) -> bool {
        !matches!(pool.shown_keys.last(), KeyLook::Never) && self.missing_keys(pool).is_none()
    }

    /// The case of keys that are missing, where one is.
    pub(crate) fn missing_keys(&self, pool: &ChainPool) -> Option<Case> {
        let keys = self.lane_names(pool);
        let mut gone = pool.without_key(&keys);
        // each worker speaks of the attempts that it holds
        gone.retain(|(_, attempt)| pool.carried.carries(*attempt));
        let here = gone.iter().map(|(lane, attempt)| {
            format!("attempt {} has key {lane}, and this process has not", Id(attempt.0))
        });
        let mut lines: Vec<String> = here.chain(self.absent_keys(pool, &keys)).collect();
        let more = lines.len().saturating_sub(NAMED);
        lines.truncate(NAMED);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        (!lines.is_empty()).then(|| Case {
            kind: KEY_MISSING,
            severity: Severity::Warning,
            subject: Subject::Chain(pool.id()),
            facts: lines.join("; ").into(),
        })
    }
}
