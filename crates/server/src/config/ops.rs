//! `[ops]`

use super::section::{Rules, section};

section! {
    /// Operators.
    Ops {
        /// Verdicts and the end of a HALT take effect when another person approves.
        four_eyes: bool = true,
        /// So many hours a proposal may be approved, by the database's clock. 1 to 8760.
        approval_hours: u64 = 24,
    }
}

/// The longest that a proposal may wait: a year.
const MOST_HOURS: u64 = 8_760;

impl Ops {
    pub(super) fn rules(&self, rules: &mut Rules) {
        let fits = (1..=MOST_HOURS).contains(&self.approval_hours);
        rules.need("ops.approval_hours", fits, "1 to 8760");
    }
}
