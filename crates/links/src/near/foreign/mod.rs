//! Finds the keys that are used elsewhere, whose nonces are ahead of the journal, and reads the
//! transactions that spent those nonces.
//!
//! A single provider finds the block in which a nonce was spent. As many providers as are needed then
//! confirm the block and its content: the key's nonce there and in the block before it, the
//! transactions of its chunks, and the outcome of each. The highest of these transactions must have the
//! nonce that the block left, so that none is missing.

mod transaction;

pub(super) use transaction::stored_transaction;

use super::NearLink;
use super::forms::nonce_of;
use super::key_history::shown_height;
use super::prove::{Landing, landing};
use super::rpc::{
    BlockAt, ChunkTransaction, Division, ExecutionResult, KeyList, KeyView, PROVIDERS_DISAGREE,
    ProviderFact, access_key, access_keys, chunk, chunks, collect_facts, division, in_words,
    not_behind, transaction,
};
use super::tx::{ReadTransaction, from_base58, key_of, lane_of};
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ports::chain::{ForeignUse, LaneMark, LaneSpent, LaneStart};
use std::sync::Arc;

/// The number of transactions that are read before they are stored.
const MOST: usize = 50;

/// A nonce of a key, and a height: of the last one that is known, or of the last one that was spent.
#[derive(Clone, Copy)]
struct NonceAt {
    nonce: u64,
    height: u64,
}

/// By how many blocks a provider may be ahead of the final block that all were asked for: some minutes of blocks.
const MOST_AHEAD: u64 = 600;

/// What a key did in a block.
pub(super) struct BlockUses {
    /// Its transactions beyond a nonce, in their sequence.
    pub(super) uses: Vec<ChunkTransaction>,
    /// Its nonce at the end of the block before.
    pub(super) earlier: u64,
    /// The nonce that the block left.
    pub(super) left: u64,
}

impl NearLink {
    /// The lanes of which the final blocks of as many providers as are needed have spent more than the marks
    /// say.
    pub(super) async fn ahead(&self, marks: &[LaneMark]) -> Result<Vec<LaneSpent>, Cause> {
        let needed = self.rpc.needed();
        // asked first: a list from below it is not of now, and says of no lane that it is level
        let head = self.rpc.recent_block().await;
        let lists =
            collect_facts(needed, self.rpc.each(&access_keys(&self.settings.account)).await)?;
        let mut ahead = Vec::new();
        for LaneMark { lane, lock, seen, .. } in marks {
            let stored = nonce_of(lock)?;
            if let Some(seen) = seen
                && nonce_of(&seen.lock)? > stored
            {
                let LaneStart { lock, height } = seen.clone();
                ahead.push(LaneSpent { lane: lane.clone(), lock, height });
                continue;
            }
            let view = |list: &KeyList| list.view(lane);
            let is_beyond = |list: &KeyList| view(list).nonce.is_some_and(|nonce| nonce > stored);
            let words = |list: &KeyList| format!("{lane}: {}", view(list).in_words());
            match division(needed, &lists, is_beyond, words) {
                // who does not show it may only be behind
                Division::Yes | Division::YesAgainst(_) => {
                    let spent = beyond(lane, stored, needed, &lists);
                    ahead.extend(spent.map(|spent| match &head {
                        Ok(head) => {
                            LaneSpent { height: plausible(spent.height, head.height), ..spent }
                        }
                        Err(_) => spent,
                    }));
                }
                Division::Split(facts) => return Err(Cause::because(PROVIDERS_DISAGREE, facts)),
                Division::No | Division::NoAgainst(_) => {
                    let head = head.as_ref().map_err(Clone::clone)?;
                    let now = not_behind(needed, &lists, head.height, |list| list.height)?;
                    match division(needed, &now, is_beyond, words) {
                        Division::No => {}
                        Division::NoAgainst(facts) => self.rpc.note_outvoted(&facts),
                        Division::Yes | Division::YesAgainst(_) | Division::Split(_) => {
                            let facts = in_words(&lists, words);
                            return Err(Cause::because(PROVIDERS_DISAGREE, facts));
                        }
                    }
                }
            }
        }
        if let Some(seen) = ahead.iter().map(|one: &LaneSpent| one.height).max() {
            self.rpc.raise_floor(seen);
        }
        Ok(ahead)
    }

    /// The transactions that spent a lane's nonces beyond its mark, in sequence, up to [`MOST`] or more of them.
    pub(super) async fn foreign(&self, mark: &LaneMark) -> Result<Vec<ForeignUse>, Cause> {
        let key = key_of(&mark.lane).ok_or(Cause::of("BAD_LANE"))?;
        let from = nonce_of(&mark.lock)?;
        let anchor = mark.anchor.ok_or(Cause::of("NO_ANCHOR"))?;
        let spent = self.spent(&key, from).await?;
        let mut span = NonceAt { nonce: from, height: anchor };
        let mut uses = Vec::new();
        while span.nonce < spent.nonce && uses.len() < MOST {
            // a key that was not there yet has spent nothing
            let beyond = |nonce: Option<u64>| nonce.is_some_and(|nonce| nonce > span.nonce);
            let block = self.last_change(&key, span.height..spent.height, beyond).await?;
            let found = self.block_uses(&key, span.nonce, block).await?;
            for one in found.uses {
                uses.push(self.foreign_use(&key, block, one).await?);
            }
            span = NonceAt { nonce: found.left, height: block };
        }
        if !self.rpc.proves_by_several() {
            let each: Vec<&str> = uses.iter().take(10).map(|one| &*one.facts).collect();
            let facts =
                format!("one provider's word explains nothing: it shows {}", each.join(", "));
            return Err(Cause::because("ONE_PROVIDER", facts));
        }
        Ok(uses)
    }

    /// A nonce of a key beyond `from` that the final blocks of as many providers as are needed have spent.
    async fn spent(&self, key: &[u8; 32], from: u64) -> Result<NonceAt, Cause> {
        let call = access_key(&self.settings.account, key, BlockAt::Final);
        let needed = self.rpc.needed();
        let views = collect_facts(needed, self.rpc.each(&call).await)?;
        let is_beyond = |view: &KeyView| view.nonce.is_some_and(|nonce| nonce > from);
        match division(needed, &views, is_beyond, KeyView::in_words) {
            Division::Yes => {}
            Division::YesAgainst(facts) => self.rpc.note_outvoted(&facts),
            Division::No | Division::NoAgainst(_) | Division::Split(_) => {
                let each = in_words(&views, KeyView::in_words);
                let facts = format!("whether the key has spent more than {from}: {each}");
                return Err(Cause::because(PROVIDERS_DISAGREE, facts));
            }
        }
        // by one provider alone the search would go on for a nonce or in a block that there is not
        let seen = views
            .iter()
            .filter_map(|one| Some(NonceAt { nonce: one.fact.nonce?, height: one.fact.height }));
        shown_nonce(needed, &seen.collect::<Vec<_>>()).ok_or(Cause::of("NO_PROVIDER"))
    }

    /// The transactions of a key in the block in which it spent more than a nonce, as many providers as are
    /// needed show them alike. None is missing: the highest has the nonce that the block left.
    ///
    /// # Errors
    /// It is not that block, or the providers do not show it alike.
    pub(super) async fn block_uses(
        &self,
        key: &[u8; 32],
        before: u64,
        height: u64,
    ) -> Result<BlockUses, Cause> {
        let account = &self.settings.account;
        let change = self.nonce_change(key, height).await?;
        let left = change.to.unwrap_or_default();
        let Some(earlier) = change.from else {
            let facts = format!(
                "block {height} added the key again, with nonce {left}: what it spent before it was deleted is not \
                 known"
            );
            return Err(Cause::because("KEY_ADDED_AGAIN", facts));
        };
        if earlier > before || left <= before {
            let facts = format!(
                "{} shows that block {height} leaves the nonce at {left}, from {earlier}, and others that it spent the \
                 one after {before}",
                change.shown_by
            );
            return Err(Cause::because(PROVIDERS_DISAGREE, facts));
        }
        let lane = lane_of(key);
        let mut own = Vec::new();
        for hash in self.rpc.agreed(&chunks(height)).await? {
            let all = self.rpc.agreed(&chunk(&hash)).await?;
            own.extend(all.into_iter().filter(|one| {
                *one.signer == **account
                    && *one.key == *lane
                    && one.nonce > before
                    && one.nonce <= left
            }));
        }
        own.sort_by_key(|one| one.nonce);
        own.dedup();
        if own.last().is_none_or(|last| last.nonce != left) {
            let facts =
                format!("block {height} spent nonce {left}, and shows no transaction for it");
            return Err(Cause::because("NOT_SHOWN", facts));
        }
        Ok(BlockUses { uses: own, earlier, left })
    }

    /// One transaction with its final outcome.
    async fn foreign_use(
        &self,
        key: &[u8; 32],
        block: u64,
        one: ChunkTransaction,
    ) -> Result<ForeignUse, Cause> {
        let hash = from_base58(&one.hash).ok_or_else(|| Cause::because("BAD_REPLY", "a hash"))?;
        let form = ReadTransaction {
            hash,
            signer: self.settings.account.to_string(),
            key: *key,
            nonce: one.nonce,
            receiver: one.receiver.clone(),
            base: [0; 32],
            actions: Vec::new(),
        };
        let replies = self.rpc.each(&transaction(&hash, &self.settings.account)).await;
        let found = match landing(self.rpc.needed(), &[form], vec![replies]) {
            Landing::Agreed { found, dissent, .. } => {
                dissent.inspect(|facts| self.rpc.note_outvoted(facts));
                found
            }
            Landing::Open(cause) | Landing::Nowhere(cause) => return Err(cause),
        };
        let acts = found.result == ExecutionResult::Success;
        let token = self.tokens.of_contract(&one.receiver).map(|token| token.token.asset);
        Ok(transaction::foreign_use(&self.settings.account, &one, block, acts, token))
    }
}

/// The highest nonce that as many providers as are needed have seen spent, and the height up to which they show it. One
/// alone makes neither of them too high or too low.
fn shown_nonce(needed: usize, seen: &[NonceAt]) -> Option<NonceAt> {
    let mut nonces: Vec<u64> = seen.iter().map(|one| one.nonce).collect();
    nonces.sort_unstable_by(|one, other| other.cmp(one));
    let nonce = nonces.get(needed.saturating_sub(1)).copied()?;
    let shows = seen.iter().filter(|one| one.nonce >= nonce).map(|one| one.height);
    Some(NonceAt { nonce, height: shown_height(needed, shows.collect())? })
}

/// A height that was shown, where the newest final block is at `head`: one of two providers may be the one that lies, and
/// no view below this height is believed any more.
fn plausible(shown: u64, head: u64) -> u64 {
    let most = head.saturating_add(MOST_AHEAD);
    if shown < most { shown } else { most }
}

/// What a lane has spent beyond what is stored, as those providers show it that show so.
fn beyond(
    lane: &Arc<str>,
    stored: u64,
    needed: usize,
    lists: &[ProviderFact<KeyList>],
) -> Option<LaneSpent> {
    let spent = lists.iter().filter_map(|list| {
        Some(NonceAt { nonce: list.fact.view(lane).nonce?, height: list.fact.height })
    });
    let spent: Vec<NonceAt> = spent.filter(|spent| spent.nonce > stored).collect();
    let NonceAt { nonce, height } = shown_nonce(needed, &spent)?;
    Some(LaneSpent { lane: lane.clone(), lock: Lock(nonce.to_string().into()), height })
}

#[cfg(test)]
mod tests {
    use super::{MOST_AHEAD, NonceAt, plausible, shown_nonce};

    /// Turns red where one of three sets the nonce or the height, and where a height that no block has stops the chain for
    /// ever.
    #[test]
    fn one_provider_sets_neither_nonce_nor_height() {
        let shown = |needed: usize, seen: &[(u64, u64)]| {
            let seen: Vec<NonceAt> = seen
                .iter()
                .map(|(nonce, height)| NonceAt { nonce: *nonce, height: *height })
                .collect();
            shown_nonce(needed, &seen).map(|one| (one.nonce, one.height))
        };
        assert_eq!(shown(2, &[(10, 100), (10, 101), (6, 1 << 63)]), Some((10, 101)));
        assert_eq!(shown(2, &[(10, 1 << 63), (10, 100), (10, 101)]), Some((10, 101)));
        assert_eq!(shown(2, &[(10, 100), (12, 102)]), Some((10, 102)));
        assert_eq!(shown(2, &[(10, 100)]), None);
        assert_eq!(plausible(105, 103), 105);
        assert_eq!(plausible(1 << 63, 103), 103 + MOST_AHEAD);
    }
}
