//! `[ops]`: the rule of four eyes, and the limits of movements by one operator.

use super::limits;
use super::section::{SettingRules, section};
use std::collections::BTreeMap;

section! {
    /// Which actions take two operators, and how much one moves by hand.
    Ops {
        /// Verdicts, the end of a HALT and the end of a stop that the service made for a chain take effect when another person approves; who barred an account does not free it alone.
        four_eyes: bool = true,
        /// The hours in which a proposal may be approved, by the database's clock. 1 to 8760.
        approval_hours: u64 = 24,
        /// The most of this asset that one operator deposits by hand on one UTC day without a second person, in its unit, and the most that one withdraws; without it `default_deposit_limit` counts.
        daily_deposit_limit: BTreeMap<String, String> = BTreeMap::new(),
        /// The same in whole units, for each asset that has none of its own above; 0 is no bound, and the start warns.
        default_deposit_limit: u64 = 10_000,
    }
}

/// The longest that a proposal may wait: a year.
const MOST_HOURS: u64 = kernel::operators::LONGEST_APPROVAL / 3_600_000;

impl Ops {
    /// What one person may move of this asset by hand on a day, with the setting that says so; as text for people.
    pub(crate) fn movement_bound(&self, symbol: &str) -> String {
        match self.daily_deposit_limit.get(symbol) {
            Some(amount) => format!("{amount} {symbol} (ops.daily_deposit_limit.{symbol})"),
            None => format!("{} {symbol} (ops.default_deposit_limit)", self.default_deposit_limit),
        }
    }

    pub(super) fn rules(&self, rules: &mut SettingRules) {
        let fits = (1..=MOST_HOURS).contains(&self.approval_hours);
        rules.need("ops.approval_hours", fits, "1 to 8760");
        limits::amounts(rules, "ops.daily_deposit_limit", &self.daily_deposit_limit);
    }
}
