//! The vault as a watcher reads it: every final movement of its money, oldest first and without a gap.
//!
//! The indexes of all providers are put together, each transaction counts as several of them show it, and every slot has
//! to go on from the balance that the one before left. At the end of what is known that balance has to be the vault's own.
//! What is left out by all of them is a gap, which is asked for again and never passed.

mod movements;
mod sequence;

use super::history::{History, MOST_PAGES, NOT_SHOWN};
use super::rpc::{AccountView, SeenTransaction, accounts, block_time, transaction};
use super::tx::address_of;
use super::{BadChainSettings, SolanaChain, SolanaLink};
use crate::rpc::{ProviderReply, bad_reply, collect_facts};
use flows::swaps::fees::SwapFees;
use kernel::answer::Cause;
use kernel::ids::{AssetId, ChainId, FlowId, Millis};
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::deposits::{DepositSource, VAULT_GAP, VaultPage};
use movements::{BalanceChange, OpenedSwaps, change_of};
use sequence::in_sequence;
use solana_address::Address;
use solana_program_pack::Pack;
use spl_token_interface::state::Account as TokenAccount;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of transactions of one page of an index: the most that a node gives.
const PAGE: usize = 1_000;

/// The settings of a vault whose deposits are swapped.
#[derive(Debug, Clone)]
pub struct DepositSettings {
    /// The flow that a deposit opens a transfer of, and the principal that makes it.
    pub flow: FlowId,
    pub principal: Arc<str>,
    /// Where the payout is made, and in which asset.
    pub target_chain: ChainId,
    pub target_asset: AssetId,
    /// What a swap costs.
    pub fees: SwapFees,
    /// How long after its deposit a swap may be accepted, in milliseconds of the chain's time.
    pub refund_timeout_ms: Millis,
    /// The token accounts from which money is the service's own.
    pub funding_accounts: Vec<Arc<str>>,
    /// The transaction behind whose block the watch begins; `None`: now.
    pub start: Option<Arc<str>>,
    /// How long the newest final movement may take to be read, in milliseconds of the chain's time.
    pub normal_lag_ms: Millis,
    /// How long to wait before the providers are asked for more, in milliseconds.
    pub interval_ms: Millis,
}

/// The deposits of the vault.
pub struct SolanaDeposits {
    link: Arc<SolanaLink>,
    settings: DepositSettings,
}

impl std::fmt::Debug for SolanaDeposits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SolanaDeposits").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The end of a block, and the vault's balance there: everything up to it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    slot: u64,
    balance: u64,
}

impl Place {
    fn text(self) -> Arc<str> {
        format!("{}:{}", self.slot, self.balance).into()
    }

    fn read(text: &str) -> Option<Self> {
        let (slot, balance) = text.split_once(':')?;
        Some(Self { slot: slot.parse().ok()?, balance: balance.parse().ok()? })
    }
}

impl SolanaChain {
    /// The deposits of the adapter's vault.
    ///
    /// # Errors
    /// A funding account is no address, or it is the vault's own.
    pub fn deposits(&self, settings: DepositSettings) -> Result<SolanaDeposits, BadChainSettings> {
        for account in &settings.funding_accounts {
            let address = address_of(account).filter(|one| *one != self.link.vault.account);
            if address.is_none() {
                return Err(BadChainSettings(format!("`{account}` is no funding account")));
            }
        }
        Ok(SolanaDeposits { link: self.link.clone(), settings })
    }
}

impl SolanaDeposits {
    async fn page(&self, behind: Option<&str>, limit: usize) -> Result<VaultPage, Cause> {
        let now = self.newest().await?;
        let Some(behind) = behind else { return self.begins(now).await };
        let from = Place::read(behind).ok_or(Cause::of("BAD_CURSOR"))?;
        let (mut at, mut movements, mut more) = (from, Vec::new(), false);
        let slots = self.slots(from.slot, now.slot).await?;
        for (slot, signatures) in slots {
            if movements.len() >= limit {
                more = true;
                break;
            }
            let changes = self.changes(slot, &signatures).await?;
            let ordered = in_sequence(at.balance, changes).ok_or_else(|| gap(at, slot))?;
            let balance = ordered.last().map_or(at.balance, |last| last.after);
            if !ordered.is_empty() {
                let time = self.time_of(slot).await?;
                let opened =
                    OpenedSwaps { own: &self.link.settings, settings: &self.settings, time };
                movements.extend(ordered.iter().flat_map(|change| opened.movements(change)));
            }
            at = Place { slot, balance };
        }
        if !more {
            if at.balance != now.balance {
                return Err(gap(at, now.slot));
            }
            at = now;
        }
        let (before, after) = (Amount(from.balance.into()), Amount(at.balance.into()));
        let read_to = self.time_of(at.slot).await?;
        Ok(VaultPage { movements, before, after, place: at.text(), read_to, more })
    }

    /// Where the watch begins: behind the block of the transaction that the settings name, or now.
    async fn begins(&self, now: Place) -> Result<VaultPage, Cause> {
        let place = match &self.settings.start {
            None => now,
            Some(start) => {
                let slot = self.agreed(start).await?.ok_or_else(|| {
                    let facts = format!("no provider shows {start}, where the watch begins");
                    Cause::because(NOT_SHOWN, facts)
                })?;
                self.stood_behind(slot.slot, now).await?
            }
        };
        let balance = Amount(place.balance.into());
        let read_to = self.time_of(place.slot).await?;
        let (place, movements) = (place.text(), Vec::new());
        Ok(VaultPage { movements, before: balance, after: balance, place, read_to, more: false })
    }

    /// The balance behind the block of a slot: that of now, less all that came since. The pages from there on show whether
    /// it is right.
    async fn stood_behind(&self, slot: u64, now: Place) -> Result<Place, Cause> {
        let (mut came, mut left) = (0_u64, 0_u64);
        for (slot, signatures) in self.slots(slot, now.slot).await? {
            for change in self.changes(slot, &signatures).await? {
                came = came.saturating_add(change.after.saturating_sub(change.before));
                left = left.saturating_add(change.before.saturating_sub(change.after));
            }
        }
        let balance = now.balance.checked_add(left).and_then(|sum| sum.checked_sub(came));
        let place = Place { slot, balance: now.balance };
        Ok(Place { slot, balance: balance.ok_or_else(|| gap(place, now.slot))? })
    }

    /// The lowest of the providers' last final blocks, with the vault's balance there.
    async fn newest(&self) -> Result<Place, Cause> {
        let link = &self.link;
        let replies =
            link.rpc.each(&accounts(&[link.vault.account])).await.into_iter().map(|one| {
                let place = one.reply.and_then(|view| {
                    let held = view.accounts.into_iter().next().flatten();
                    let balance = held.and_then(|held| balance(&held, &link.vault.mint));
                    let balance = balance.ok_or_else(|| bad_reply("the vault's account"))?;
                    Ok(Place { slot: view.slot, balance })
                });
                ProviderReply { by: one.by, reply: place }
            });
        let places = collect_facts(link.rpc.needed(), replies.collect())?;
        let lowest = places.iter().map(|one| one.fact).min_by_key(|place| place.slot);
        lowest.ok_or(Cause::of("NO_PROVIDER"))
    }

    /// The transactions that name the vault's account in the blocks behind one slot and up to another, by slot, as the
    /// indexes of all providers have them.
    async fn slots(&self, behind: u64, to: u64) -> Result<BTreeMap<u64, BTreeSet<String>>, Cause> {
        let link = &self.link;
        let mut history = History::new(link.vault.account, PAGE, to);
        let mut down_to = u64::MAX;
        for _ in 0..MOST_PAGES {
            down_to = history.read_on(&link.rpc).await?;
            if down_to <= behind {
                break;
            }
        }
        if down_to > behind {
            return Err(Cause::because(
                NOT_SHOWN,
                format!("the vault's history behind slot {behind}"),
            ));
        }
        let mut slots: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for (slot, signature) in history.entries {
            if slot > behind && slot <= to {
                slots.entry(slot).or_default().insert(signature);
            }
        }
        Ok(slots)
    }

    /// What the transactions of a slot changed of the vault's balance.
    async fn changes(
        &self,
        slot: u64,
        signatures: &BTreeSet<String>,
    ) -> Result<Vec<BalanceChange>, Cause> {
        let mut changes = Vec::new();
        for signature in signatures {
            let Some(seen) = self.agreed(signature).await? else { continue };
            if seen.slot != slot {
                let facts = format!("{signature} is in slot {}, and not in {slot}", seen.slot);
                return Err(Cause::because(crate::rpc::PROVIDERS_DISAGREE, facts));
            }
            changes.extend(change_of(&self.link.vault, signature, &seen)?);
        }
        Ok(changes)
    }

    /// A transaction as several providers show it; `None`: as many do not find it. Where it moved the vault's money
    /// all the same, its balance shows the gap.
    async fn agreed(&self, signature: &str) -> Result<Option<SeenTransaction>, Cause> {
        let rpc = &self.link.rpc;
        let replies = rpc.each(&transaction(signature)).await;
        let missing = replies.iter().filter(|one| matches!(one.reply, Ok(None))).count();
        let found = replies.iter().filter(|one| matches!(one.reply, Ok(Some(_)))).count();
        if missing >= rpc.needed() && found < rpc.needed() {
            return Ok(None);
        }
        self.link.agreed_transaction(signature, replies).map(Some)
    }

    /// The time of the block of a slot, as enough providers show it alike.
    async fn time_of(&self, slot: u64) -> Result<Millis, Cause> {
        self.link.rpc.agreed(&block_time(slot)).await
    }
}

/// The balance of a token account, frozen or not.
fn balance(account: &AccountView, mint: &Address) -> Option<u64> {
    let own = account.owner == spl_token_interface::ID;
    let held = own.then(|| TokenAccount::unpack(&account.data).ok()).flatten()?;
    (held.mint == *mint).then_some(held.amount)
}

fn gap(at: Place, slot: u64) -> Cause {
    let Place { slot: from, balance } = at;
    let facts = format!("from {balance} behind slot {from} no way leads to what slot {slot} shows");
    Cause::because(VAULT_GAP, facts)
}

impl DepositSource for SolanaDeposits {
    fn chain(&self) -> ChainId {
        self.link.settings.chain
    }

    fn flow(&self) -> FlowId {
        self.settings.flow
    }

    fn asset(&self) -> AssetId {
        self.link.settings.asset
    }

    fn vault(&self) -> Arc<str> {
        let settings = &self.link.settings;
        format!("{} of {}", settings.vault_account, settings.mint).into()
    }

    fn interval(&self) -> Millis {
        self.settings.interval_ms
    }

    fn normal_lag(&self) -> Millis {
        self.settings.normal_lag_ms
    }

    fn movements<'a>(
        &'a self,
        behind: Option<&'a str>,
        limit: usize,
    ) -> Fut<'a, Result<VaultPage, Cause>> {
        Box::pin(async move { self.link.noted(self.page(behind, limit).await) })
    }
}
