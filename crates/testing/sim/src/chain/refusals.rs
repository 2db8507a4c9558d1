//! A contract that refuses whatever comes for some blocks, without a reason; and the rule by which a receiver is to blame
//! all the same: that of the adapters.

use super::state::State;
use super::transaction::{Effect, Outcome, Transaction};
use std::sync::Arc;

/// A contract that refuses whatever comes does so for this number of blocks.
pub const REFUSES_FOR: u64 = 12;

impl State {
    /// True in a block in which the contract refuses every payment and registration.
    pub(super) fn refuses_all(&self) -> bool {
        let since = self.rules.refuses_from;
        (since..since.saturating_add(REFUSES_FOR)).contains(&self.height) && since > 0
    }

    /// True where the receiver of a form that failed alone in a final block is to blame: the contract served another one
    /// between its first refusal and this one. On a chain whose contracts refuse nothing without a reason the first refusal
    /// says so.
    pub(super) fn is_to_blame(&self, name: &[u8], at: u64) -> bool {
        if self.rules.refuses_from == 0 {
            return true;
        }
        let form = self.included(at).find(|(tx, ..)| &*tx.name == name);
        let Some((effect, account)) = form.and_then(|(tx, ..)| of_first(tx)) else { return false };
        let refused = self.included(at).filter(|(tx, _, outcome)| {
            let Outcome::Failed(culprit) = outcome else { return false };
            let by = tx.actions.get(*culprit).map(|action| &action.account);
            tx.effect == effect && by == Some(&account)
        });
        let first = refused.map(|(_, height, _)| height).min().unwrap_or(at);
        self.included(at).any(|(tx, height, outcome)| {
            let between = first < height && height < at;
            between && tx.effect == effect && outcome == Outcome::Success && !tx.actions.is_empty()
        })
    }
}

/// What a transaction does, and for whom first.
fn of_first(tx: &Transaction) -> Option<(Effect, Arc<str>)> {
    Some((tx.effect, tx.actions.first()?.account.clone()))
}
