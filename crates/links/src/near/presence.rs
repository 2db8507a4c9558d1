//! Reads which of the relay's keys its account has, and what the account has for fees, for operators
//! who take a key out of use.
//!
//! A key is proven gone in the same way as an attempt is proven dead: at least two providers show every
//! key of the account at final blocks without it, and none shows it. A block from before the key was
//! used says nothing.

use super::NearLink;
use super::rpc::{
    KeyList, ProviderFact, ProviderReply, access_keys, account, collect_facts, in_words,
};
use super::sign::DECIMALS;
use kernel::answer::Cause;
use kernel::ports::chain::{FeeBalance, LanePresence, LanesOnChain};
use kernel::ports::clock::TICKS;

/// The age, in ticks, after which the list for operators is read again: frequent looks cost payments no request.
const SHOWN_FOR: u64 = 2_000 * TICKS;

impl NearLink {
    /// The keys that any provider shows; at most so old.
    pub(super) async fn lanes_on_chain(&self) -> Result<LanesOnChain, Cause> {
        let ask = async {
            let replies = self.rpc.each(&access_keys(&self.settings.account)).await;
            let lists = without_names(collect_facts(1, replies)?);
            Ok(LanesOnChain {
                height: lowest(&lists),
                providers: lists.len(),
                lanes: lists.iter().flat_map(KeyList::names).map(Into::into).collect(),
            })
        };
        self.shown.get(&*self.clock, SHOWN_FOR, ask).await
    }

    /// Whether the account has a key, at blocks from a height on.
    pub(super) async fn lane_presence(
        &self,
        lane: &str,
        since: Option<u64>,
    ) -> Result<LanePresence, Cause> {
        let needed = self.rpc.needed();
        // asked first: a list from below it is not of now
        let head = self.rpc.recent_block().await;
        let replies = self.rpc.each(&access_keys(&self.settings.account)).await;
        let now = head.as_ref().map(|head| head.height).unwrap_or_default();
        let since = since.unwrap_or_default();
        let least = if now > since { now } else { since };
        match (presence(needed, lane, least, replies)?, head) {
            (LanePresence::Absent { .. }, Err(cause)) => Err(cause),
            (found, _) => Ok(found),
        }
    }

    /// The account's balance, by one provider.
    pub(super) async fn fee_balance(&self) -> Result<FeeBalance, Cause> {
        // for operators: what is signed is decided by another look
        let units = self.rpc.first(&account(&self.settings.account)).await?;
        let units = units.ok_or(Cause::of("NO_ACCOUNT"))?;
        Ok(FeeBalance { units, floor: self.settings.near_floor, precision: DECIMALS })
    }
}

fn without_names(lists: Vec<ProviderFact<KeyList>>) -> Vec<KeyList> {
    lists.into_iter().map(|one| one.fact).collect()
}

fn lowest(lists: &[KeyList]) -> u64 {
    lists.iter().map(|list| list.height).min().unwrap_or_default()
}

/// Decides from the lists whether the account has a key. Pure.
fn presence(
    needed: usize,
    lane: &str,
    since: u64,
    replies: Vec<ProviderReply<KeyList>>,
) -> Result<LanePresence, Cause> {
    let (lists, earlier): (Vec<_>, Vec<_>) =
        collect_facts(1, replies)?.into_iter().partition(|list| list.fact.height >= since);
    let old = in_words(&earlier, |list| format!("block {}", list.height));
    let lists = without_names(lists);
    let shown_by = lists.iter().filter(|list| list.view(lane).nonce.is_some()).count();
    let height = lowest(&lists);
    if shown_by > 0 {
        return Ok(LanePresence::There { height, shown_by, of: lists.len() });
    }
    if needed < crate::rpc::SEVERAL {
        let facts = "one provider's word is no proof that the key is gone: name a second one";
        return Err(Cause::because("ONE_PROVIDER", facts));
    }
    if lists.len() < needed {
        let facts = format!(
            "{} of {needed} providers show all keys, {} of them at a block that is too old: {old}",
            lists.len().saturating_add(earlier.len()),
            earlier.len()
        );
        return Err(Cause::because("FEW_PROVIDERS", facts));
    }
    Ok(LanePresence::Absent { height, providers: lists.len() })
}

#[cfg(test)]
mod tests {
    use super::super::rpc::RpcFailure;
    use super::*;

    const KEY: &str = "ed25519:gone";

    fn list(height: u64, keys: &[&str]) -> ProviderReply<KeyList> {
        ProviderReply { by: "a:1".into(), reply: Ok(KeyList::of(height, keys)) }
    }

    fn silent_provider() -> ProviderReply<KeyList> {
        let reply = Err(RpcFailure::Silent(Cause::of("TIMEOUT")));
        ProviderReply { by: "b:1".into(), reply }
    }

    /// Turns red where one provider is believed, where a provider that is silent counts as one that agrees, where
    /// two outvote one that shows the key, and where a block from before its last use counts.
    #[test]
    fn a_key_is_gone_where_two_say_so_and_none_shows_it() {
        let of = |needed, replies| presence(needed, KEY, 100, replies);
        let gone = Ok(LanePresence::Absent { height: 120, providers: 2 });
        assert_eq!(of(2, vec![list(120, &["other"]), list(121, &[])]), gone);
        assert_eq!(of(2, vec![list(120, &["other"]), silent_provider(), list(121, &[])]), gone);
        let there = Ok(LanePresence::There { height: 120, shown_by: 1, of: 3 });
        assert_eq!(of(2, vec![list(121, &[]), list(120, &[KEY]), list(121, &[])]), there);
        let class = |needed, replies| of(needed, replies).unwrap_err().class;
        assert_eq!(class(2, vec![list(120, &[]), silent_provider()]), "FEW_PROVIDERS");
        assert_eq!(class(2, vec![list(120, &[]), list(99, &[])]), "FEW_PROVIDERS");
        assert_eq!(class(3, vec![list(120, &[]), list(120, &[])]), "FEW_PROVIDERS");
        assert_eq!(class(1, vec![list(120, &[])]), "ONE_PROVIDER");
        assert_eq!(class(1, vec![list(120, &[]), list(120, &[])]), "ONE_PROVIDER");
        assert_eq!(class(2, vec![silent_provider(), silent_provider()]), "TIMEOUT");
    }
}
