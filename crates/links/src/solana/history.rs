//! Walks what the vault did with a lane, from the newest final transaction back. The index of one provider may leave
//! transactions out, so those of all are put together, each transaction counts as several providers show it, and a walk
//! goes no further back than as many as are needed have shown everything.

use super::SolanaLink;
use super::rpc::{HistoryEntry, SeenTransaction, signatures, transaction};
use super::tx::{LaneStep, SignedTransaction, address_of, lock_of, step_of};
use crate::base58::base58;
use crate::rpc::{ProviderReply, RpcFailure, RpcPool};
use futures_util::future::join_all;
use kernel::answer::Cause;
use kernel::attempt::Lock;
use solana_address::Address;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

/// The number of transactions of one page.
const PAGE: usize = 100;
/// The number of pages of one walk. A stranger who names a lane in its own transactions pays a fee for each of them.
pub(super) const MOST_PAGES: usize = 500;
/// The number of transactions that are asked for at once, at most.
const AT_ONCE: usize = 32;
/// The number of transactions that are remembered; beyond it the memory begins anew.
const REMEMBERED: usize = 10_000;

/// The class of a cause: what spent a lock is shown by too few providers, or by none.
pub(super) const NOT_SHOWN: &str = "NOT_SHOWN";

/// One use of a lane by the vault's key.
#[derive(Debug, Clone)]
pub(super) struct LaneUse {
    /// The lock that it took, or for one that names none, the blockhash that it was signed under.
    pub lock: Lock,
    /// True where the lock is the nonce that it spent.
    pub spends: bool,
    /// The signature of its transaction.
    pub name: [u8; 64],
    pub seen: Arc<SeenTransaction>,
}

/// What a walk found.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    /// The uses of the lane, newest first.
    pub uses: Vec<LaneUse>,
    /// True where the lane begins before the last of them: nothing else used it.
    pub begins: bool,
}

/// How far the history of one provider was read.
#[derive(Debug, Clone, Default)]
struct Cursor {
    /// The oldest signature that it showed.
    before: Option<String>,
    /// The slot down to which it has shown everything; `None`: it has shown no page yet.
    down_to: Option<u64>,
}

/// The history of an address, as the indexes of all providers show it together, read page by page from the newest back.
#[derive(Debug)]
pub(super) struct History {
    address: Address,
    /// The number of transactions of one page.
    page: usize,
    /// The slot that a provider must have come to.
    least: u64,
    cursors: BTreeMap<Arc<str>, Cursor>,
    /// The slots and the signatures that were read, oldest first.
    pub entries: BTreeSet<(u64, String)>,
    /// The signatures that were taken: a later page of another index may show them again.
    taken: BTreeSet<String>,
}

impl History {
    pub(super) fn new(address: Address, page: usize, least: u64) -> Self {
        let (cursors, entries, taken) = Default::default();
        Self { address, page, least, cursors, entries, taken }
    }

    /// Reads the next page of each provider that has one. Returns the slot above which as many providers as are needed
    /// have shown everything; 0: they have shown all.
    ///
    /// # Errors
    /// Too few of them answer.
    pub(super) async fn read_on(&mut self, rpc: &RpcPool) -> Result<u64, Cause> {
        let call = |by: &str| {
            let cursor = self.cursors.get(by);
            let ended = cursor.is_some_and(|cursor| cursor.down_to == Some(0));
            let before = cursor.and_then(|cursor| cursor.before.as_deref());
            (!ended).then(|| signatures(&self.address, before, self.page, self.least))
        };
        let replies: Vec<ProviderReply<Vec<HistoryEntry>>> = rpc.each_by(call).await;
        let (mut failed, mut read) = (Cause::of("NO_PROVIDER"), false);
        for ProviderReply { by, reply } in replies {
            match reply {
                Ok(page) => {
                    read = true;
                    self.take(by, page);
                }
                Err(failure) => failed = failure.into(),
            }
        }
        let mut slots: Vec<u64> = self.cursors.values().filter_map(|one| one.down_to).collect();
        slots.sort_unstable();
        let covered = slots.get(rpc.needed().saturating_sub(1)).copied();
        covered.filter(|_| read).ok_or(failed)
    }

    /// Takes the newest signatures, `most` of them: those above a slot, since one slot may go over two pages, or all where it
    /// is 0.
    fn take_newest(&mut self, above: u64, most: usize) -> Vec<String> {
        let mut newest = Vec::new();
        while newest.len() < most {
            let is_covered = |(slot, _): &&(u64, String)| above == 0 || *slot > above;
            if self.entries.last().filter(is_covered).is_none() {
                break;
            }
            let Some((_, signature)) = self.entries.pop_last() else { break };
            if self.taken.insert(signature.clone()) {
                newest.push(signature);
            }
        }
        newest
    }

    fn take(&mut self, by: Arc<str>, page: Vec<HistoryEntry>) {
        let cursor = self.cursors.entry(by).or_default();
        let oldest = page.last();
        let whole = page.len() >= self.page;
        cursor.down_to = oldest.filter(|_| whole).map_or(Some(0), |oldest| Some(oldest.slot));
        cursor.before = oldest.map(|oldest| oldest.signature.clone());
        self.entries.extend(page.into_iter().map(|one| (one.slot, one.signature)));
    }
}

/// What is known of a transaction of a lane.
#[derive(Debug, Clone)]
pub(super) enum LaneFact {
    /// The vault did not sign it, so it left the nonce as it was.
    Stranger,
    /// The lane begins with it.
    Beginning,
    Use(LaneUse),
}

impl SolanaLink {
    /// The uses of a lane, newest first, as providers show them that have come as far as the slot `least`; it ends with
    /// the first that is `enough`, or where the lane begins.
    ///
    /// # Errors
    /// Too few providers show all that is needed, or they do not agree.
    pub(super) async fn walk(
        &self,
        lane: &str,
        least: u64,
        mut enough: impl FnMut(&LaneUse) -> bool + Send,
    ) -> Result<Walk, Cause> {
        let address = address_of(lane).ok_or(Cause::of("BAD_LANE"))?;
        let mut history = History::new(address, PAGE, least);
        let (mut walk, mut at_once) = (Walk::default(), 1_usize);
        for _ in 0..MOST_PAGES {
            let covered = history.read_on(&self.rpc).await?;
            loop {
                let newest = history.take_newest(covered, at_once);
                if newest.is_empty() {
                    break;
                }
                // the newest is ours, unless strangers name the lane: then there are many of them
                at_once = if at_once < AT_ONCE { at_once.saturating_mul(2) } else { AT_ONCE };
                let facts = newest.iter().map(|signature| self.known(&address, signature));
                for fact in join_all(facts).await {
                    match fact? {
                        LaneFact::Stranger => continue,
                        LaneFact::Beginning => walk.begins = true,
                        LaneFact::Use(found) => {
                            let last = enough(&found);
                            walk.uses.push(found);
                            if !last {
                                continue;
                            }
                        }
                    }
                    return Ok(walk);
                }
            }
            if covered == 0 {
                walk.begins = true;
                return Ok(walk);
            }
        }
        Err(Cause::because(NOT_SHOWN, format!("the history of {lane} has too many pages")))
    }

    /// What is known of a transaction that an index of the lane names.
    async fn known(&self, address: &Address, signature: &str) -> Result<LaneFact, Cause> {
        let key = (*address, signature.to_owned());
        let remembered = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&key).cloned()
        };
        if let Some(known) = remembered {
            return Ok(known);
        }
        let known = self.find_out(address, signature).await?;
        self.remember(address, signature.to_owned(), known.clone());
        Ok(known)
    }

    /// Notes what a form of ours did with its lane, as it was proven: the lane's next lock counts from there.
    pub(super) fn note_use(&self, lane: &Address, used: LaneUse) {
        self.remember(lane, base58(&used.name), LaneFact::Use(used));
    }

    fn remember(&self, lane: &Address, signature: String, known: LaneFact) {
        let key = (*lane, signature);
        let mut memory = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() >= REMEMBERED {
            memory.clear();
        }
        memory.insert(key, known);
    }

    async fn find_out(&self, lane: &Address, signature: &str) -> Result<LaneFact, Cause> {
        let replies = self.rpc.each(&transaction(signature)).await;
        let step = |seen: &SeenTransaction| {
            let found = SignedTransaction::read(&seen.bytes, &seen.loaded)?;
            let named = found.name().is_some_and(|name| base58(&name) == signature);
            let step = step_of(&found, &self.vault.key, lane).filter(|_| named)?;
            Some((step, found))
        };
        let shown = |one: &ProviderReply<Option<SeenTransaction>>| match &one.reply {
            Ok(Some(seen)) => Some(step(seen)),
            Ok(None) | Err(_) => None,
        };
        let concerns = replies.iter().filter(|one| shown(one).flatten().is_some()).count();
        let others = replies.iter().filter(|one| matches!(shown(one), Some(None))).count();
        if concerns == 0 && others >= self.rpc.needed() {
            return Ok(LaneFact::Stranger);
        }
        let seen = self.agreed_transaction(signature, replies)?;
        match step(&seen) {
            None => Ok(LaneFact::Stranger),
            // what failed did not change it
            Some((LaneStep::Begins | LaneStep::Advances, _)) if seen.error.is_some() => {
                Ok(LaneFact::Stranger)
            }
            Some((LaneStep::Begins, _)) => Ok(LaneFact::Beginning),
            Some((step @ (LaneStep::Spends | LaneStep::Advances), found)) => {
                let name = found.name().ok_or(Cause::of("NO_FORM"))?;
                let (lock, spends) = (lock_of(found.lock()), step == LaneStep::Spends);
                Ok(LaneFact::Use(LaneUse { lock, spends, name, seen: Arc::new(seen) }))
            }
        }
    }

    /// The transaction as many providers as are needed show it alike. Who does not find it only lags.
    pub(super) fn agreed_transaction(
        &self,
        signature: &str,
        replies: Vec<ProviderReply<Option<SeenTransaction>>>,
    ) -> Result<SeenTransaction, Cause> {
        let missing = || RpcFailure::Silent(Cause::because(NOT_SHOWN, signature));
        let found = replies.into_iter().map(|one| ProviderReply {
            by: one.by,
            reply: one.reply.and_then(|seen| seen.ok_or_else(missing)),
        });
        self.rpc.agree(found.collect()).map(|agreed| agreed.fact)
    }
}
