//! Reads the vault and its lanes at one final block of each provider, by one request: what locks are free, whether the
//! vault can pay, and what it has for fees.

use super::rpc::{AccountView, AccountsView, accounts};
use super::tx::address_of;
use super::{FEE_PRECISION, SolanaLink};
use crate::rpc::{ProviderFact, ProviderReply, collect_facts, not_behind};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use kernel::ports::meter::Seen;
use solana_address::Address;
use solana_hash::Hash;
use solana_nonce::state::State;
use solana_nonce::versions::Versions;
use solana_program_pack::Pack;
use spl_token_interface::state::{Account as TokenAccount, AccountState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The age, in milliseconds, up to which a snapshot is recent enough to sign on.
pub(super) const RECENT: Millis = 2_000;

/// The state of a nonce account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NonceView {
    /// The key that advances it.
    pub authority: Address,
    /// Its value, which the next transaction spends.
    pub value: Hash,
}

/// The state of a token account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenView {
    /// There is no such account.
    Missing,
    /// It is not the token program's.
    OtherProgram,
    /// It is not initialised, or no token account.
    Uninitialised,
    /// It is of another mint.
    OtherMint,
    /// The issuer froze it.
    Frozen,
    /// It takes and gives; its balance in base units, and its owner.
    Usable { amount: u64, owner: Address },
}

impl TokenView {
    /// The balance of an account that this key owns and that gives; `None`: it is none.
    pub(super) fn balance_of(&self, key: &Address) -> Option<u64> {
        if let Self::Usable { amount, owner } = self
            && owner == key
        {
            return Some(*amount);
        }
        None
    }
}

/// The vault and its lanes at the last final block of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VaultView {
    /// The slot of the block.
    pub slot: u64,
    /// What the vault's key has for fees, in lamports.
    pub lamports: u64,
    pub token: TokenView,
    lanes: BTreeMap<Arc<str>, NonceView>,
}

/// What each provider shows.
pub(super) type VaultViews = Arc<Vec<ProviderFact<VaultView>>>;

impl VaultView {
    /// The nonce account of a lane; `None`: there is none.
    pub(super) fn lane(&self, lane: &str) -> Option<NonceView> {
        self.lanes.get(lane).copied()
    }
}

/// The nonce of an account; `None`: it is no nonce account that can be used.
pub(super) fn nonce(account: &AccountView) -> Option<NonceView> {
    let own = account.owner == solana_system_interface::program::ID;
    let versions: Versions = own.then(|| bincode::deserialize(&account.data).ok()).flatten()?;
    match versions {
        Versions::Current(state) => match *state {
            State::Initialized(data) => {
                Some(NonceView { authority: data.authority, value: data.blockhash() })
            }
            State::Uninitialized => None,
        },
        // no transaction can spend one of the first kind
        Versions::Legacy(_) => None,
    }
}

/// The state of an account as one of a mint.
pub(super) fn token(account: Option<&AccountView>, mint: &Address) -> TokenView {
    let Some(account) = account else { return TokenView::Missing };
    if account.owner != spl_token_interface::ID {
        return TokenView::OtherProgram;
    }
    let Ok(found) = TokenAccount::unpack_unchecked(&account.data) else {
        return TokenView::Uninitialised;
    };
    match found.state {
        AccountState::Uninitialized => TokenView::Uninitialised,
        _ if found.mint != *mint => TokenView::OtherMint,
        AccountState::Frozen => TokenView::Frozen,
        AccountState::Initialized => TokenView::Usable { amount: found.amount, owner: found.owner },
    }
}

impl SolanaLink {
    /// The vault and its own lanes, from as many providers as are needed. `fresh_for`: the age in milliseconds up to
    /// which an earlier one will do; those that ask at once share one.
    ///
    /// # Errors
    /// Too few answer: why the last one does not.
    pub(super) async fn snapshot(&self, fresh_for: Millis) -> Result<VaultViews, Cause> {
        let ask = async { self.read_snapshot(&self.lanes).await.map(Arc::new) };
        self.seen.get(&*self.clock, fresh_for.saturating_mul(TICKS), ask).await
    }

    /// The same with lanes that need not be of this process.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub(super) async fn snapshot_with(&self, lanes: &[Arc<str>]) -> Result<VaultViews, Cause> {
        if lanes.iter().all(|lane| self.lanes.contains(lane)) {
            return self.snapshot(0).await;
        }
        self.read_snapshot(lanes).await.map(Arc::new)
    }

    async fn read_snapshot(
        &self,
        lanes: &[Arc<str>],
    ) -> Result<Vec<ProviderFact<VaultView>>, Cause> {
        let mut addresses = vec![self.vault.key, self.vault.account];
        for lane in lanes {
            addresses.push(address_of(lane).ok_or(Cause::of("BAD_LANE"))?);
        }
        let replies = self.rpc.each(&accounts(&addresses)).await;
        let facts = collect_facts(self.rpc.needed(), replies)?;
        let read = |ProviderFact { by, fact }| {
            let AccountsView { slot, accounts } = fact;
            let mut accounts = accounts.into_iter();
            let key = accounts.next().flatten();
            let held = accounts.next().flatten();
            let states = lanes.iter().cloned().zip(accounts);
            let lanes = states.filter_map(|(lane, account)| Some((lane, nonce(&account?)?)));
            let lamports = key.map_or(0, |key| key.lamports);
            let token = token(held.as_ref(), &self.vault.mint);
            let fact = VaultView { slot, lamports, token, lanes: lanes.collect() };
            ProviderFact { by, fact }
        };
        let facts: Vec<ProviderFact<VaultView>> = facts.into_iter().map(read).collect();
        let lowest = facts.iter().map(|one| one.fact.lamports).min();
        if let Some(units) = lowest {
            let (chain, precision) = (self.settings.chain.name(), FEE_PRECISION);
            self.meter.see(Seen::FeeBalance { chain, units: units.into(), precision });
        }
        Ok(facts)
    }

    /// A lane as most of the providers show it that have come as far as `least`, with the lowest of their slots.
    /// `None`: it is not there.
    ///
    /// # Errors
    /// They do not agree, or too few have come so far.
    pub(super) fn agreed_lane(
        &self,
        lane: &str,
        snapshots: &[ProviderFact<VaultView>],
        least: u64,
    ) -> Result<LaneAt, Cause> {
        let views = not_behind(self.rpc.needed(), snapshots, least, |shown| shown.slot)?;
        let reply = |one: &ProviderFact<VaultView>| ProviderReply {
            by: one.by.clone(),
            reply: Ok(one.fact.lane(lane)),
        };
        let nonce = self.rpc.agree(views.iter().map(reply).collect())?.fact;
        let alike = views.iter().filter(|one| one.fact.lane(lane) == nonce);
        let slot = alike.map(|one| one.fact.slot).min().unwrap_or_default();
        Ok(LaneAt { nonce, slot })
    }
}

/// A lane at a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LaneAt {
    /// Its nonce; `None`: there is no such account.
    pub nonce: Option<NonceView>,
    pub slot: u64,
}
