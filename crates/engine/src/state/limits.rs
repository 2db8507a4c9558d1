//! The limits of creates, for the intake: how much and how often one owner may move on a day. The unit that
//! opens a transfer counts it.

use crate::plan::quota::{DayUse, OWNER_TRANSFERS, OWNER_UNITS, OwnerDay, Quota, count};
use crate::state::settings::{Limits, OwnerLimits, Settings};
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{Day, FlowId, Millis, UserId};
use kernel::limits::DailyCount;
use kernel::money::{Amount, Asset};
use kernel::record::Terms;
use kernel::unit::Guard;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of parts of a minute in which creates are counted.
const PARTS: u64 = 6;
/// The length of a part.
const PART: Millis = 10_000;
/// A rate has fallen once it was below the limit for this time.
const CALM: Millis = 60_000;

/// The most of an asset on one day: the lower of the setting's limit and the asset's own.
fn most_of(limits: &Limits, asset: &Asset) -> Option<Amount> {
    let set = limits.daily_amount.get(&asset.symbol);
    // one that was added since the start, with fewer decimals than its limit: nothing until then
    let set = set.map(|text| asset.amount(text).unwrap_or(Amount::ZERO));
    match (set, asset.daily) {
        (Some(set), Some(own)) => Some(if set < own { set } else { own }),
        (set, own) => set.or(own),
    }
}

/// Checks that the assets which the settings name exist, and that each daily amount is a valid amount of one: one of no
/// asset would bound nothing.
pub(crate) fn check_named_assets(settings: &Settings, assets: &[Asset]) -> Result<(), Cause> {
    for (ledger, symbols) in &settings.ledger_assets {
        let is_missing = |symbol: &&String| assets.iter().all(|asset| asset.symbol != **symbol);
        if let Some(symbol) = symbols.iter().find(is_missing) {
            let (name, why) = (ledger.name().to_lowercase(), no_asset(symbol, assets));
            return Err(Cause::because("NO_ASSET", format!("ledgers.{name}.assets: {why}")));
        }
    }
    let daily = settings.limits.daily_amount.iter().map(|limit| ("limits.daily_amount", limit));
    let deposits = settings.movement_limits.iter().map(|limit| ("ops.daily_deposit_limit", limit));
    for (name, (symbol, text)) in daily.chain(deposits) {
        let why = match assets.iter().find(|asset| asset.symbol == *symbol) {
            Some(asset) => match asset.amount(text) {
                Ok(_) => continue,
                Err(code) => format!("{text} is no amount of it: {code}"),
            },
            None => no_asset(symbol, assets),
        };
        return Err(Cause::because("BAD_LIMIT", format!("{name}.{symbol}: {why}")));
    }
    Ok(())
}

/// That no asset has this symbol, as text for the person who wrote the settings.
fn no_asset(symbol: &str, assets: &[Asset]) -> String {
    let near = assets.iter().find(|asset| asset.symbol.eq_ignore_ascii_case(symbol));
    match near {
        Some(asset) => format!("the asset's symbol is {}", asset.symbol),
        None => format!("there is no asset {symbol}: add it first (portage ops add-asset)"),
    }
}

/// The code for the caller where the journal refused a count.
pub(crate) fn exceeded(guard: &Guard) -> Option<Code> {
    match guard {
        Guard::AtMost { name, .. } if name.starts_with(OWNER_TRANSFERS) => {
            Some(Code::DailyLimitExceeded)
        }
        Guard::AtMost { name, .. } if name.starts_with(OWNER_UNITS) => {
            Some(Code::DailyAmountExceeded)
        }
        Guard::DayCount { .. } => Some(Code::DailyLimitExceeded),
        Guard::DayAmount { .. } => Some(Code::DailyAmountExceeded),
        Guard::Fresh(_)
        | Guard::Unbound { .. }
        | Guard::Transfer { .. }
        | Guard::Attempt { .. }
        | Guard::Resource { .. }
        | Guard::Inbox { .. }
        | Guard::Account { .. }
        | Guard::NotHalted
        | Guard::Halt(_)
        | Guard::Incarnation { .. }
        | Guard::Owner { .. }
        | Guard::LockFree { .. }
        | Guard::AtMost { .. }
        | Guard::AtLeast { .. }
        | Guard::NoPastAction { .. }
        | Guard::Pending(_) => None,
    }
}

/// The limits of creates: how much an owner may move on a day, and how often one creates.
pub(crate) struct CreateLimits {
    shared: Arc<SharedState>,
    pub rates: CreateRates,
}

impl CreateLimits {
    pub(crate) fn new(shared: &Arc<SharedState>) -> Arc<Self> {
        Arc::new(Self { shared: shared.clone(), rates: CreateRates::default() })
    }

    /// What a transfer would take from its owner's day now; `None` where nothing limits it.
    pub(crate) fn quota(&self, flow: FlowId, terms: &Terms) -> Option<Quota> {
        let assets = self.shared.assets();
        let asset = assets.iter().find(|asset| asset.id == terms.source.asset);
        let day = Day::of(self.shared.parts.journal.clock());
        let user = count(terms, day);
        let (transfers, amount) = if user.is_some() {
            let limits = &self.shared.parts.settings.limits;
            (limits.transfers_per_day, asset.and_then(|asset| most_of(limits, asset)))
        } else {
            let own = self.owner_limits(flow);
            let of_asset = asset.and_then(|asset| asset.daily);
            let amount = own.amount_per_day.into_iter().chain(of_asset).min();
            (own.transfers_per_day, amount)
        };
        let transfers = Some(transfers).filter(|most| *most > 0);
        if transfers.is_none() && amount.is_none() {
            return None;
        }
        let used = match user {
            Some(count) => DayUse::User(count),
            None => DayUse::Owner(OwnerDay::of(terms, day)),
        };
        Some(Quota { used, transfers, amount })
    }

    /// The limits of an owner that is no user, in this flow.
    fn owner_limits(&self, flow: FlowId) -> OwnerLimits {
        let name = self.shared.plan.table(flow).flow;
        self.shared.parts.settings.owner_limits.get(name).copied().unwrap_or_default()
    }

    /// True where one transfer of an owner that is no user is above the most that its flow allows.
    pub(crate) fn above_most(&self, flow: FlowId, terms: &Terms) -> bool {
        let most = self.owner_limits(flow).amount_per_transfer;
        terms.owner.user().is_none() && most.is_some_and(|most| terms.source.amount > most)
    }

    /// The code of the owner's limit that these terms would pass, by what the day has used before.
    pub(crate) async fn used_up(&self, flow: FlowId, terms: &Terms) -> Result<Option<Code>, Cause> {
        let Some(quota) = self.quota(flow, terms) else { return Ok(None) };
        let (transfers, units) = self.used_before(&quota.used).await?;
        if quota.transfers.is_some_and(|most| transfers >= most.into()) {
            return Ok(Some(Code::DailyLimitExceeded));
        }
        let sum = units.plus(terms.source.amount);
        let above = quota.amount.is_some_and(|most| sum.is_none_or(|sum| sum > most));
        Ok(above.then_some(Code::DailyAmountExceeded))
    }

    /// What the same day has used before: transfers, and base units of the asset.
    async fn used_before(&self, used: &DayUse) -> Result<(u128, Amount), Cause> {
        match used {
            DayUse::User(DailyCount { user, day, asset, .. }) => {
                let spent = self.shared.parts.journal.daily_usage(*user, *day, *asset).await?;
                Ok((spent.transfers.into(), spent.amount))
            }
            DayUse::Owner(owner) => {
                let transfers = self.shared.parts.journal.counter(owner.transfers.clone()).await?;
                let units = self.shared.parts.journal.counter(owner.units.clone()).await?;
                Ok((transfers, Amount(units)))
            }
        }
    }
}

/// How often one user creates.
#[derive(Debug, Clone, Copy, Default)]
struct CreateRate {
    parts: [u32; 6],
    /// The part that was counted last.
    last: u64,
    /// When the rate was last above the limit.
    over: Option<Millis>,
}

impl CreateRate {
    /// Forgets the parts that are more than a minute old.
    fn forward(&mut self, part: u64) {
        let passed = part.saturating_sub(self.last);
        if passed >= PARTS {
            self.parts = [0; 6];
        } else {
            for old in self.last.saturating_add(1)..=part {
                self.clear(old);
            }
        }
        if part > self.last {
            self.last = part;
        }
    }

    fn clear(&mut self, part: u64) {
        if let Some(slot) = usize::try_from(part % PARTS).ok().and_then(|n| self.parts.get_mut(n)) {
            *slot = 0;
        }
    }

    fn add(&mut self, part: u64) {
        if let Some(slot) = usize::try_from(part % PARTS).ok().and_then(|n| self.parts.get_mut(n)) {
            *slot = slot.saturating_add(1);
        }
    }

    fn sum(&self) -> u32 {
        self.parts.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// How often users create, in this process (MON-004).
#[derive(Debug, Default)]
pub(crate) struct CreateRates {
    users: Mutex<BTreeMap<UserId, CreateRate>>,
}

impl CreateRates {
    fn users(&self) -> MutexGuard<'_, BTreeMap<UserId, CreateRate>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn see(&self, user: UserId, now: Millis, most: u32) {
        let mut users = self.users();
        let rate = users.entry(user).or_default();
        let part = now / PART;
        rate.forward(part);
        rate.add(part);
        if rate.sum() > most {
            rate.over = Some(now);
        }
    }

    /// The users who were above the limit within the last minute, with their creates in the last
    /// minute; forgets every user that was idle for one.
    pub(crate) fn hasty(&self, now: Millis, most: u32) -> BTreeMap<UserId, u32> {
        let mut hasty = BTreeMap::new();
        self.users().retain(|user, rate| {
            rate.forward(now / PART);
            let sum = rate.sum();
            if sum > most {
                rate.over = Some(now);
            }
            rate.over = rate.over.filter(|over| now.saturating_sub(*over) < CALM);
            if rate.over.is_some() {
                hasty.insert(*user, sum);
            }
            sum > 0 || rate.over.is_some()
        });
        hasty
    }
}

#[cfg(test)]
mod tests {
    use super::{CALM, CreateRates, check_named_assets};
    use crate::state::settings::Settings;
    use kernel::ids::{LedgerId, UserId};
    use kernel::money::Asset;

    const USER: UserId = UserId(7);

    /// Turns red where an amount of no asset is passed over: it bounds nothing, and no line says so.
    #[test]
    fn a_limit_names_an_asset_that_exists() {
        let said = |symbol: &str, amount: &str| {
            let movement_limits = [(symbol.to_owned(), amount.to_owned())].into();
            let settings = Settings { movement_limits, ..Settings::default() };
            check_named_assets(&settings, &Asset::fresh()).err().and_then(|cause| cause.detail)
        };
        assert_eq!(said("USDT", "10"), None);
        for (symbol, amount, why) in [
            ("USDT", "0.0000001", "no amount of it"),
            ("usdt", "10", "the asset's symbol is USDT"),
            ("USDTT", "10", "there is no asset USDTT"),
        ] {
            let told = said(symbol, amount).expect("it is refused");
            assert!(
                told.contains(why) && told.contains(&format!("daily_deposit_limit.{symbol}")),
                "{told}"
            );
        }
        let ledger_assets = [(LedgerId::FUTURE, [String::from("Usdt")].into())].into();
        let settings = Settings { ledger_assets, ..Settings::default() };
        let told = check_named_assets(&settings, &Asset::fresh()).expect_err("it is refused");
        assert_eq!(
            told.detail.as_deref(),
            Some("ledgers.future.assets: the asset's symbol is USDT")
        );
    }

    #[test]
    fn a_user_is_hasty_above_the_limit_until_a_minute_after() {
        let (rates, dawn) = (CreateRates::default(), 1_600_000_000_000);
        for n in 0..60 {
            rates.see(USER, dawn + n * 500, 60);
            rates.see(UserId(8), dawn + n * 1_500, 60);
        }
        assert!(rates.hasty(dawn + 30_000, 60).is_empty(), "the limit itself is no excess");
        rates.see(USER, dawn + 30_000, 60);
        assert_eq!(rates.hasty(dawn + 30_000, 60).get(&USER), Some(&61));
        assert!(!rates.hasty(dawn + 30_000, 60).contains_key(&UserId(8)));
        // looked at every second, as the watch does
        let end = (31..).find(|s| rates.hasty(dawn + s * 1_000, 60).is_empty());
        let calm = (30_000 + CALM) / 1_000;
        assert!(end.is_some_and(|s| s > calm && s < 30 + 2 * CALM / 1_000), "{end:?}");
        for s in 0..2 * CALM / 1_000 {
            rates.hasty(dawn + (200 + s) * 1_000, 60);
        }
        assert!(rates.users().is_empty(), "a user without creates is forgotten");
    }

    #[test]
    fn a_minute_is_counted_and_no_more() {
        let (rates, dawn) = (CreateRates::default(), 1_600_000_000_000);
        for n in 0..600 {
            rates.see(USER, dawn + n * 1_000, 60);
        }
        assert!(rates.hasty(dawn + 600_000, 60).is_empty());
    }
}
