//! Finds keys that were proven gone and that the account has again, for the engine.
//!
//! When a key is added, the chain sets its nonce to the block's height times a million, above every
//! nonce that was signed before. No transaction spent that nonce. Where two providers show the block
//! that added the key, the nonces that it spends are counted from there; where none can show that block
//! any more, nothing is known of them.

use super::NearLink;
use super::key_history::{NonceChange, is_not_kept};
use super::rpc::{
    KeyList, PROVIDERS_DISAGREE, ProviderFact, access_keys, collect_facts, in_words, not_behind,
};
use super::tx::key_of;
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ports::chain::{GoneLane, LaneStart, ReturnedLane};

impl NearLink {
    /// The keys, among these, that the final blocks of as many providers as are needed have again.
    pub(super) async fn returned(&self, gone: &[GoneLane]) -> Result<Vec<ReturnedLane>, Cause> {
        let needed = self.rpc.needed();
        // asked first: lists from below it do not say that a key is still gone
        let head = self.rpc.recent_block().await;
        let lists =
            collect_facts(needed, self.rpc.each(&access_keys(&self.settings.account)).await)?;
        let mut returned = Vec::new();
        for one in gone {
            let Some(height) = shown_again(needed, one, &lists)? else { continue };
            let start = match self.start(one, height).await {
                Ok(start) => start,
                Err(cause) if is_not_kept(&cause) => None,
                Err(cause) => return Err(cause),
            };
            returned.push(ReturnedLane { lane: one.lane.clone(), height, start });
        }
        if returned.is_empty() {
            not_behind(needed, &lists, head?.height, |list| list.height)?;
        }
        Ok(returned)
    }

    /// The nonce that a key began with, as many providers as are needed show alike; `None`: one is no proof.
    pub(super) async fn start(
        &self,
        gone: &GoneLane,
        seen: u64,
    ) -> Result<Option<LaneStart>, Cause> {
        if !self.rpc.proves_by_several() {
            return Ok(None);
        }
        let key = key_of(&gone.lane).ok_or(Cause::of("BAD_LANE"))?;
        let height = self.last_change(&key, gone.height..seen, |nonce| nonce.is_some()).await?;
        match self.nonce_change(&key, height).await? {
            NonceChange { from: None, to: Some(nonce), .. } => {
                Ok(Some(LaneStart { lock: Lock(nonce.to_string().into()), height }))
            }
            NonceChange { shown_by, .. } => {
                let facts = format!(
                    "block {height} is not the one that added {}, as {shown_by} shows it",
                    gone.lane
                );
                Err(Cause::because(PROVIDERS_DISAGREE, facts))
            }
        }
    }
}

/// The lowest of the blocks that show a key again, where as many providers as are needed do. A block from before
/// the proof says nothing. Pure.
fn shown_again(
    needed: usize,
    gone: &GoneLane,
    lists: &[ProviderFact<KeyList>],
) -> Result<Option<u64>, Cause> {
    let later = lists.iter().map(|one| &one.fact).filter(|list| list.height > gone.height);
    let shows = later.filter(|list| list.view(&gone.lane).nonce.is_some());
    let heights: Vec<u64> = shows.map(|list| list.height).collect();
    match heights.iter().min() {
        Some(_) if heights.len() < needed => {
            let each = in_words(lists, |list| list.view(&gone.lane).in_words());
            let facts = format!("whether {} is there again: {each}", gone.lane);
            Err(Cause::because(PROVIDERS_DISAGREE, facts))
        }
        least => Ok(least.copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ed25519:back";

    /// Turns red where one provider is believed that a key is back, and where a provider that lags behind the proof
    /// brings it back.
    #[test]
    fn a_key_is_back_where_two_show_it_behind_the_proof() {
        let gone = GoneLane { lane: KEY.into(), height: 100 };
        let of = |needed, lists: &[ProviderFact<KeyList>]| shown_again(needed, &gone, lists);
        let list = |at, key| ProviderFact { by: "a:1".into(), fact: KeyList::of(at, &[key]) };
        let (with, without) = (|at| list(at, KEY), |at| list(at, "other"));
        assert_eq!(of(2, &[with(120), with(121)]), Ok(Some(120)));
        assert_eq!(of(2, &[with(121), without(120), with(122)]), Ok(Some(121)));
        assert_eq!(of(2, &[without(120), without(121)]), Ok(None));
        assert_eq!(of(2, &[with(99), with(100)]), Ok(None), "they lag behind the proof");
        let class = |lists: &[ProviderFact<KeyList>]| of(2, lists).map_err(|cause| cause.class);
        assert_eq!(class(&[with(121), without(121)]), Err(PROVIDERS_DISAGREE));
        let named = of(2, &[with(121), without(121)]).unwrap_err().to_string();
        assert!(named.contains("a:1 shows nonce 7 at block 121"), "{named}");
        assert_eq!(class(&[with(121), with(99)]), Err(PROVIDERS_DISAGREE));
    }
}
