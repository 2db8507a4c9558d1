//! Shows the engine keys that its journal has no row of: the nonce of now, and the nonce from which on the
//! journal has to know what the key did: the one that it had at a height. Where no provider keeps that block, a key
//! that has the nonce with which its block added it, a multiple of a million, was never used.

use super::NearLink;
use super::key_history::is_not_kept;
use super::lane::NONCE_RANGE;
use super::rpc::{
    BlockAt, KeyList, PROVIDERS_DISAGREE, ProviderFact, access_key, access_keys, collect_facts,
    in_words,
};
use super::tx::key_of;
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ports::chain::{GoneLane, LaneStart, NewLane};
use std::collections::BTreeMap;
use std::sync::Arc;

impl NearLink {
    /// Those of the keys that the account has, as the final blocks of as many providers as are needed show them.
    pub(super) async fn new_lanes(
        &self,
        lanes: &[Arc<str>],
        since: Option<u64>,
    ) -> Result<Vec<NewLane>, Cause> {
        let needed = self.rpc.needed();
        let lists =
            collect_facts(needed, self.rpc.each(&access_keys(&self.settings.account)).await)?;
        let mut found = Vec::new();
        for lane in lanes {
            let Some(now) = shown_alike(needed, lane, &lists)? else { continue };
            let start = match since {
                Some(height) => match self.stood_at(lane, height, &now).await? {
                    None if is_unused(&now) => Some(now.clone()),
                    start => start,
                },
                None => Some(now.clone()),
            };
            found.push(NewLane { lane: lane.clone(), now, start });
        }
        Ok(found)
    }

    /// The nonce of a key at a height, or the one with which a later block added it. `None`: no provider keeps the
    /// blocks that show it.
    async fn stood_at(
        &self,
        lane: &Arc<str>,
        height: u64,
        now: &LaneStart,
    ) -> Result<Option<LaneStart>, Cause> {
        if height >= now.height {
            return Ok(Some(now.clone()));
        }
        let key = key_of(lane).ok_or(Cause::of("BAD_LANE"))?;
        let call = access_key(&self.settings.account, &key, BlockAt::Height(height));
        let stood = match self.rpc.agreed(&call).await {
            Ok(view) => view,
            Err(cause) if is_not_kept(&cause) => return Ok(None),
            Err(cause) => return Err(cause),
        };
        if let Some(nonce) = stood.nonce {
            return Ok(Some(LaneStart { lock: Lock(nonce.to_string().into()), height }));
        }
        let absent = GoneLane { lane: lane.clone(), height };
        match self.start(&absent, now.height).await {
            Err(cause) if is_not_kept(&cause) => Ok(None),
            start => start,
        }
    }
}

/// True for a nonce that no transaction spent: the chain set it when it added the key.
fn is_unused(now: &LaneStart) -> bool {
    now.lock.on_chain().parse::<u64>().is_ok_and(|nonce| nonce % NONCE_RANGE == 0)
}

/// The nonce that as many lists as are needed show of a key, with the lowest of their heights; `None`: as many
/// show that the account does not have it. Pure.
fn shown_alike(
    needed: usize,
    lane: &str,
    lists: &[ProviderFact<KeyList>],
) -> Result<Option<LaneStart>, Cause> {
    let mut votes: BTreeMap<Option<u64>, Vec<u64>> = BTreeMap::new();
    for ProviderFact { fact: list, .. } in lists {
        votes.entry(list.view(lane).nonce).or_default().push(list.height);
    }
    votes.retain(|_, heights| heights.len() >= needed);
    let (Some((nonce, heights)), None) = (votes.pop_first(), votes.pop_first()) else {
        let each = in_words(lists, |list| list.view(lane).in_words());
        let facts = format!("the nonce of {lane}: {each}");
        return Err(Cause::because(PROVIDERS_DISAGREE, facts));
    };
    let height = heights.into_iter().min().unwrap_or_default();
    Ok(nonce.map(|nonce| LaneStart { lock: Lock(nonce.to_string().into()), height }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns red where one provider's nonce counts, where one that lags keeps a key from its row for ever, and where
    /// a key that two do not show has one.
    #[test]
    fn a_key_is_as_two_of_three_show_it() {
        let (with, without) = (|at| KeyList::of(at, &["key"]), |at| KeyList::of(at, &[]));
        let of = |lists: &[KeyList]| {
            let each = lists.iter().cloned().zip(["a:1", "b:1", "c:1"]);
            let facts = each.map(|(fact, by)| ProviderFact { by: by.into(), fact });
            shown_alike(2, "key", &facts.collect::<Vec<_>>())
        };
        let at = |height| Ok(Some(LaneStart { lock: "7".into(), height }));
        assert_eq!(of(&[with(120), with(121)]), at(120));
        assert_eq!(of(&[with(122), without(110), with(121)]), at(121));
        assert_eq!(of(&[without(122), with(110), without(121)]), Ok(None));
        let class = |lists: &[KeyList]| of(lists).map_err(|cause| cause.class);
        assert_eq!(class(&[with(120), without(121)]), Err(PROVIDERS_DISAGREE));
        assert_eq!(class(&[with(120)]), Err(PROVIDERS_DISAGREE));
        let named = of(&[with(120), without(121)]).unwrap_err().to_string();
        for shown in ["a:1 shows nonce 7 at block 120", "b:1 shows no such key at block 121"] {
            assert!(named.contains(shown), "{named}");
        }
    }

    #[test]
    fn a_multiple_of_a_million_was_never_spent() {
        let of = |nonce: &str| is_unused(&LaneStart { lock: nonce.into(), height: 9 });
        assert_eq!(["0", "47000000", "47000001", "x"].map(of), [true, true, false, false]);
    }
}
