//! `[limits]`: the limits of one user: requests per second, refused ones per hour, transfers and amounts per day.

use super::section::{SettingRules, section};
use ::engine::operators::asset::fits_as_symbol;
use std::collections::BTreeMap;

section! {
    /// How much one user may ask for.
    Limits {
        /// Creates of one user per second, in each process; 0 is no limit.
        requests_per_second: u32 = 0,
        /// Transfers of one user within an hour, in each process, that may end without effect (FAILED, ROLLED_BACK) before its creates are refused; 0 is no limit.
        refused_per_hour: u32 = 100,
        /// Transfers of one user per UTC day; 0 is no limit.
        transfers_per_day: u64 = 0,
        /// The sum of one user's transfers of this asset per UTC day, in its unit.
        daily_amount: BTreeMap<String, String> = BTreeMap::new(),
        /// Creates of one user within a minute above which a case opens; nothing is refused, 0 is never.
        warn_per_minute: u32 = 60,
    }
}

impl Limits {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        amounts(rules, "limits.daily_amount", &self.daily_amount);
    }
}

/// Whether each amount of an asset is one that can be written.
pub(super) fn amounts(rules: &mut SettingRules, name: &str, amounts: &BTreeMap<String, String>) {
    for (asset, amount) in amounts {
        rules.need(
            format!("{name}.{asset}"),
            fits_as_symbol(asset),
            "the symbol of an asset: 1 to 16 upper-case letters and digits, such as USDT",
        );
        let (whole, fraction) = amount.split_once('.').unwrap_or((amount, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let some = amount.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        rules.need(
            format!("{name}.{asset}"),
            digits(whole) && digits(fraction) && some,
            "a plain decimal above 0, as a text (\"10000.00\")",
        );
    }
}
