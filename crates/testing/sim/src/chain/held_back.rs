//! A lane whose transactions no block takes for some blocks: what it signs waits, or expires. The other lanes go on.

use super::state::{ChainRules, SimChain, State};
use super::transaction::{Effect, Transaction};
use kernel::ids::Id;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a transaction that was held back does for one member.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldBack {
    /// The transfer that it pays, registers or calls back.
    pub id: Id,
    /// The account that it registers: other transfers to it wait for that too.
    pub registers: Option<Arc<str>>,
}

impl State {
    /// True where this block does not take a transaction for its lane; its transfers are noted.
    pub(super) fn holds_back(&mut self, tx: &Transaction) -> bool {
        let ChainRules { holds_from, holds_for, .. } = self.rules;
        let window = holds_from..holds_from.saturating_add(holds_for);
        let holds = holds_from > 0 && window.contains(&self.height);
        let holds = holds && self.lane_names().next().is_some_and(|first| first == tx.lane);
        if holds {
            self.held_back.extend(tx.actions.iter().map(|action| HeldBack {
                id: action.id,
                registers: (tx.effect == Effect::Registers).then(|| action.account.clone()),
            }));
        }
        holds
    }
}

impl SimChain {
    /// The transfers of transactions that were held back.
    pub(super) fn held_back(&self) -> BTreeSet<HeldBack> {
        self.now().held_back.clone()
    }
}
