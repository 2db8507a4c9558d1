//! Explains to operators what spent a nonce under which no form of its attempt is found: it searches
//! for the block in which the nonce was spent, and reads the block's transactions. The text proves
//! nothing: a transaction that is not found in one provider's blocks may be there.

use super::super::NearLink;
use super::super::rpc::{KeyView, chunk, chunks};
use super::super::tx::lane_of;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The most attempts that are remembered; beyond it the memory begins anew.
const MOST: usize = 1_000;

/// The explanation of each attempt whose nonce was spent.
#[derive(Debug, Default)]
pub(in crate::near) struct Explanations(Mutex<BTreeMap<AttemptId, Arc<str>>>);

impl Explanations {
    fn of(&self, id: AttemptId) -> Option<Arc<str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    fn keep(&self, id: AttemptId, text: &Arc<str>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(id, text.clone());
    }
}

impl NearLink {
    /// The transactions that spent an attempt's nonce, in words.
    pub(super) async fn spender(
        &self,
        attempt: &Attempt,
        key: &[u8; 32],
        lock: u64,
        views: &[KeyView],
    ) -> Arc<str> {
        if let Some(known) = self.explained.of(attempt.id) {
            return known;
        }
        let first = attempt.forms.iter().filter_map(|form| form.anchor).min();
        let last = views.iter().filter(|view| view.nonce.is_some_and(|nonce| nonce >= lock));
        let range = first.zip(last.map(|view| view.height).min());
        let Some((first, last)) = range else { return "what spent it is not known".into() };
        match self.search(key, lock, first..last).await {
            Ok(text) => {
                self.explained.keep(attempt.id, &text);
                text
            }
            Err(cause) => format!("what spent it is not known: {cause}").into(),
        }
    }

    /// The transactions of the first block in which the nonce is spent, in words.
    async fn search(
        &self,
        key: &[u8; 32],
        lock: u64,
        blocks: Range<u64>,
    ) -> Result<Arc<str>, Cause> {
        let is_spent = |nonce: Option<u64>| nonce.is_some_and(|nonce| nonce >= lock);
        let spent = self.first_block(key, blocks, is_spent).await?;
        let lane = lane_of(key);
        let mut found = Vec::new();
        // words for a person: the proof asks as many as are needed
        for hash in self.rpc.first(&chunks(spent)).await? {
            let transactions = self.rpc.first(&chunk(&hash)).await?;
            found.extend(transactions.into_iter().filter(|one| {
                *one.signer == *self.settings.account && *one.key == *lane && one.nonce >= lock
            }));
        }
        if found.is_empty() {
            return Ok(format!("block {spent} has no transaction of the key").into());
        }
        let each = found.iter().map(|one| format!("{} with nonce {}", one.hash, one.nonce));
        let each = each.collect::<Vec<String>>().join(", ");
        Ok(format!("block {spent} has {each}").into())
    }
}
