//! The accounts of the lanes, for operators: lists them, creates those that are missing, and closes those that are no
//! longer used.
//!
//! A reply says nothing, and a wait that ends says nothing either: what became of a transaction is what final blocks show
//! of the account. A lane is created once, and closed once, however often that is asked for.

use super::concerns::FEES_LOW;
use super::rpc::{AccountView, AccountsView, NONE_SHOWN, accounts, blockhash, rent, send};
use super::settings::MOST_LANES;
use super::snapshot::nonce;
use super::tx::{LaneDraft, lane_address, lock_of, spelled, with_signature};
use super::{SolanaChain, SolanaLink};
use crate::rpc::{ProviderFact, ProviderReply, collect_facts};
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use solana_address::Address;
use solana_hash::Hash;
use solana_message::Message;
use solana_nonce::state::State;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The time between two looks at the accounts, in milliseconds.
const LOOK_MS: Millis = 2_000;
/// The most lamports that such a transaction costs in fees, also where it is repeated for each provider's blockhash.
const MOST_FEES: u64 = 30_000;

/// The account of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneAccount {
    /// Its number, from which its address is derived.
    pub number: usize,
    /// The address, as attempts name the lane.
    pub address: Arc<str>,
    /// The state in final blocks.
    pub state: LaneState,
}

/// The state of a lane's account in final blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneState {
    /// There is no such account yet; `lamports`: what was paid to its address all the same.
    Missing { lamports: u64 },
    /// It can be used: `lock` is its nonce.
    Usable { lock: Lock, lamports: u64 },
    /// It is no nonce account that the vault's key can advance.
    Unusable { lamports: u64 },
    /// The providers do not agree.
    NotKnown(Cause),
}

/// What became of a lane that was to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedLane {
    /// The account, as it was seen last.
    pub lane: LaneAccount,
    pub outcome: LaneCreation,
}

/// What became of the creation of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneCreation {
    /// It existed before anything was sent.
    Existed,
    /// It was sent, and final blocks show it now.
    Created,
    /// Another account is at its address, and no creation helps.
    Unusable,
    /// No final block shows it yet: asking again is safe, and creates it once.
    NotYet(Cause),
}

/// What became of a lane that was to be closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneClosing {
    /// There was no such account.
    Absent,
    /// It was closed: what it had is the key's.
    Closed,
    /// Final blocks still show it: asking again is safe.
    NotYet(Cause),
}

impl SolanaChain {
    /// The lanes of the settings, and those beyond them that exist, in the order of their numbers.
    ///
    /// # Errors
    /// Too few providers answer, or the chain is not bound.
    pub async fn lane_accounts(&self) -> Result<Vec<LaneAccount>, Cause> {
        let all = self.link.lane_accounts().await?;
        let own = self.link.settings.lanes;
        let shown = |lane: &LaneAccount| {
            lane.number < own || !matches!(lane.state, LaneState::Missing { .. })
        };
        Ok(all.into_iter().filter(shown).collect())
    }

    /// Creates the lanes of the settings that are missing, and looks for them in final blocks for as long as `wait_ms`.
    ///
    /// # Errors
    /// Nothing was sent: `NO_KEY`, `FEES_LOW` where the key would have less than the floor, or too few providers answer.
    pub async fn create_lanes(&self, wait_ms: Millis) -> Result<Vec<CreatedLane>, Cause> {
        self.link.create_lanes(wait_ms).await
    }

    /// Closes a lane beyond those of the settings, and looks for that in final blocks for as long as `wait_ms`. The caller
    /// makes sure that no stored attempt is open on it: without its account no proof explains how such a one ended.
    ///
    /// # Errors
    /// Nothing was sent: `NO_KEY`, `LANE_IN_USE` where the settings use it, `KEY_RESTRICTED` where it is no lane of the
    /// key, or too few providers answer.
    pub async fn close_lane(&self, number: usize, wait_ms: Millis) -> Result<LaneClosing, Cause> {
        self.link.close_lane(number, wait_ms).await
    }
}

impl SolanaLink {
    async fn lane_accounts(&self) -> Result<Vec<LaneAccount>, Cause> {
        let addresses = (0..MOST_LANES).map(|number| lane_address(&self.vault.key, number));
        let addresses = addresses.collect::<Option<Vec<_>>>().ok_or(Cause::of("BAD_LANE"))?;
        let views = collect_facts(self.rpc.needed(), self.rpc.each(&accounts(&addresses)).await)?;
        let state = |place: usize| {
            let of = |ProviderFact { by, fact }: &ProviderFact<AccountsView>| {
                let account = fact.accounts.get(place).and_then(Option::as_ref);
                ProviderReply { by: by.clone(), reply: Ok(state_of(account, &self.vault.key)) }
            };
            let agreed = self.rpc.agree(views.iter().map(of).collect());
            agreed.map_or_else(LaneState::NotKnown, |agreed| agreed.fact)
        };
        let account = |(number, address): (usize, &Address)| LaneAccount {
            number,
            address: spelled(address).into(),
            state: state(number),
        };
        Ok(addresses.iter().enumerate().map(account).collect())
    }

    async fn create_lanes(&self, wait_ms: Millis) -> Result<Vec<CreatedLane>, Cause> {
        let mut before = self.lane_accounts().await?;
        before.truncate(self.settings.lanes);
        let sent = self.send_creations(&before).await?;
        let is_there = |lane: &LaneAccount| {
            !sent.contains(&lane.number) || matches!(lane.state, LaneState::Usable { .. })
        };
        let after = match sent.is_empty() {
            true => Ok(before.clone()),
            false => self.look_until(wait_ms, |lanes| lanes.iter().all(is_there)).await,
        };
        let of = |was: LaneAccount| {
            let is_sent = sent.contains(&was.number);
            let lane = match &after {
                Ok(seen) if is_sent => seen.get(was.number).cloned().unwrap_or(was),
                Err(cause) if is_sent => {
                    LaneAccount { state: LaneState::NotKnown(cause.clone()), ..was }
                }
                Ok(_) | Err(_) => was,
            };
            CreatedLane { outcome: outcome(is_sent, &lane.state), lane }
        };
        Ok(before.into_iter().map(of).collect())
    }

    /// Sends the creation of each lane that is missing; the numbers of those.
    async fn send_creations(&self, lanes: &[LaneAccount]) -> Result<BTreeSet<usize>, Cause> {
        let missing = lanes.iter().filter_map(|lane| match lane.state {
            LaneState::Missing { lamports } => Some((lane.number, lamports)),
            LaneState::Usable { .. } | LaneState::Unusable { .. } | LaneState::NotKnown(_) => None,
        });
        let missing: Vec<(usize, u64)> = missing.collect();
        if missing.is_empty() {
            return Ok(BTreeSet::new());
        }
        let rent = self.rpc.agreed(&rent(State::size())).await?;
        let each =
            missing.iter().map(|(_, has)| rent.saturating_sub(*has).saturating_add(MOST_FEES));
        self.can_spend(each.fold(0, u64::saturating_add)).await?;
        let hashes = self.blockhashes().await?;
        let (mut sent, mut messages) = (BTreeSet::new(), Vec::new());
        for (number, has) in missing {
            let lamports = rent.saturating_sub(has);
            let drafts = hashes.iter().map(|hash| self.lane_draft(number, lamports, *hash));
            messages.extend(drafts.map(|draft| draft.creation()));
            sent.insert(number);
        }
        self.send_for_lanes(messages).await?;
        Ok(sent)
    }

    async fn close_lane(&self, number: usize, wait_ms: Millis) -> Result<LaneClosing, Cause> {
        if number < self.settings.lanes {
            let facts = format!("the settings use {} lanes, from 0 on", self.settings.lanes);
            return Err(Cause::because("LANE_IN_USE", facts));
        }
        let state = self.lane_accounts().await?.into_iter().find(|lane| lane.number == number);
        let lamports = match state.map(|lane| lane.state) {
            Some(LaneState::Usable { lamports, .. }) => lamports,
            Some(LaneState::Missing { .. }) | None => return Ok(LaneClosing::Absent),
            Some(LaneState::Unusable { .. }) => return Err(Cause::of("KEY_RESTRICTED")),
            Some(LaneState::NotKnown(cause)) => return Err(cause),
        };
        let hashes = self.blockhashes().await?;
        let drafts = hashes.iter().map(|hash| self.lane_draft(number, lamports, *hash));
        self.send_for_lanes(drafts.map(|draft| draft.closing()).collect()).await?;
        let is_gone = |lanes: &[LaneAccount]| {
            let lane = lanes.iter().find(|lane| lane.number == number);
            lane.is_some_and(|lane| matches!(lane.state, LaneState::Missing { .. }))
        };
        let seen = self.look_until(wait_ms, is_gone).await;
        Ok(match seen {
            Ok(lanes) if is_gone(&lanes) => LaneClosing::Closed,
            Ok(_) => LaneClosing::NotYet(Cause::because(NONE_SHOWN, "the account is still there")),
            Err(cause) => LaneClosing::NotYet(cause),
        })
    }

    fn lane_draft(&self, number: usize, lamports: u64, blockhash: Hash) -> LaneDraft<'_> {
        let (key, price) = (&self.vault.key, self.settings.priority_fee);
        LaneDraft { key, number, lamports, price, blockhash }
    }

    /// The newest final blockhashes of all providers. A transaction is sent under each: one that a provider made up would
    /// keep it from every block, and a second one that lands changes nothing.
    async fn blockhashes(&self) -> Result<BTreeSet<Hash>, Cause> {
        let replies = self.rpc.each_still_right(&blockhash()).await;
        let facts = collect_facts(1, replies)?;
        Ok(facts.into_iter().map(|one| one.fact).collect())
    }

    /// Signs transactions about lanes, and sends all of them. What comes back says nothing.
    ///
    /// # Errors
    /// Nothing was sent: one of them was not signed.
    async fn send_for_lanes(&self, messages: Vec<Option<Message>>) -> Result<(), Cause> {
        if !self.has_key() {
            return Err(Cause::of("NO_KEY"));
        }
        let mut signed = Vec::with_capacity(messages.len());
        for message in messages {
            let message = message.ok_or(Cause::of("BAD_LANE"))?;
            let signature =
                self.signer.sign(&self.vault.key.to_bytes(), &message.serialize()).await?;
            signed.push(with_signature(message, signature)?);
        }
        for bytes in signed {
            drop(self.rpc.each(&send(&bytes)).await);
        }
        Ok(())
    }

    /// Whether the vault's key has that much beside the floor of its fees.
    async fn can_spend(&self, lamports: u64) -> Result<(), Cause> {
        let snapshots = self.snapshot(0).await?;
        let has = snapshots.iter().map(|one| one.fact.lamports).min().unwrap_or_default();
        let floor = self.settings.fee_floor;
        if has >= floor.saturating_add(lamports) {
            return Ok(());
        }
        let facts = format!(
            "the vault's key has {has} lamports; {lamports} and a floor of {floor} are needed"
        );
        Err(Cause::because(FEES_LOW, facts))
    }

    /// Looks at the lanes until they are as they should be, or the wait is over: what was seen last.
    async fn look_until(
        &self,
        wait_ms: Millis,
        is_done: impl Fn(&[LaneAccount]) -> bool,
    ) -> Result<Vec<LaneAccount>, Cause> {
        let (began, wait) = (self.clock.ticks(), wait_ms.saturating_mul(TICKS));
        loop {
            let seen = self.lane_accounts().await;
            let is_over = self.clock.ticks().saturating_sub(began) >= wait;
            if is_over || seen.as_deref().is_ok_and(&is_done) {
                return seen;
            }
            self.clock.sleep(LOOK_MS).await;
        }
    }
}

/// The state of an account as a lane of this key.
fn state_of(account: Option<&AccountView>, key: &Address) -> LaneState {
    let Some(account) = account else { return LaneState::Missing { lamports: 0 } };
    let lamports = account.lamports;
    if account.owner == solana_system_interface::program::ID && account.data.is_empty() {
        return LaneState::Missing { lamports };
    }
    match nonce(account).filter(|nonce| nonce.authority == *key) {
        Some(nonce) => LaneState::Usable { lock: lock_of(&nonce.value), lamports },
        None => LaneState::Unusable { lamports },
    }
}

/// What became of a lane that is in this state; `is_sent`: its creation was sent before.
fn outcome(is_sent: bool, state: &LaneState) -> LaneCreation {
    match state {
        LaneState::Usable { .. } if is_sent => LaneCreation::Created,
        LaneState::Usable { .. } => LaneCreation::Existed,
        LaneState::Unusable { .. } => LaneCreation::Unusable,
        LaneState::Missing { .. } => {
            LaneCreation::NotYet(Cause::because(NONE_SHOWN, "no final block shows the account"))
        }
        LaneState::NotKnown(cause) => LaneCreation::NotYet(cause.clone()),
    }
}
