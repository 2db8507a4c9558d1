//! Rows of accounts that another session has locked: a write that needs one waits for it, as on PostgreSQL.

use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use kernel::record::Account;
use kernel::unit::Unit;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a write waits for a locked row.
const LOCK_TIMEOUT: Millis = 3_000;
/// How often it looks again.
const LOOK: Millis = 100;

/// The accounts whose rows are locked. A handle: clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct LockedAccounts(Arc<Mutex<BTreeSet<Arc<str>>>>);

impl LockedAccounts {
    fn numbers(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another session locks the row of an account.
    pub fn lock(&self, number: &str) {
        self.numbers().insert(number.into());
    }

    /// It lets the row go.
    pub fn unlock(&self, number: &str) {
        self.numbers().remove(number);
    }

    /// Whether a unit moves money of a locked account.
    pub(super) fn bars(&self, unit: &Unit) -> bool {
        let numbers = self.numbers();
        let locked = |account: &Account| matches!(account, Account::Named(number) if numbers.contains(number));
        let op = unit.then.fork.as_ref().map(|fork| &fork.op);
        op.is_some_and(|op| locked(&op.account) || op.other.as_ref().is_some_and(locked))
    }

    /// Waits until none of these units needs a locked row, for as long as a session waits for a lock.
    pub(super) async fn wait(&self, clock: &dyn Clock, units: &[Unit]) {
        let mut waited = 0;
        while waited < LOCK_TIMEOUT && units.iter().any(|unit| self.bars(unit)) {
            clock.sleep(LOOK).await;
            waited += LOOK;
        }
    }
}

/// The answer to a unit whose row stayed locked.
pub(super) const TIMED_OUT: Cause = Cause::of("LOCK_TIMEOUT");
