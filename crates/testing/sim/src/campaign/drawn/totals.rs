//! Adds up the results of a campaign's runs.

use super::{DrawnCampaign, DrawnRun};
use crate::generic::Played;
use std::collections::BTreeMap;
use std::time::Duration;

/// Minimum number of runs of a campaign that is judged by what went wrong.
const JUDGED: u64 = 200;

/// What the runs of a campaign came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    runs: u64,
    transfers: u64,
    deaths: u64,
    /// How many runs there were of each sort.
    sorts: BTreeMap<&'static str, u64>,
    /// How often each kind of thing went wrong.
    faults: BTreeMap<String, u64>,
}

impl Totals {
    pub(super) fn add(&mut self, run: &dyn DrawnRun, played: &Played) {
        self.runs += 1;
        self.transfers += u64::try_from(run.transfers()).unwrap_or(0);
        self.deaths += u64::from(run.kills());
        for sort in run.sorts() {
            *self.sorts.entry(sort).or_insert(0) += 1;
        }
        for kind in &played.kinds {
            self.deaths += u64::from(kind.contains("Crash"));
            *self.faults.entry(kind.clone()).or_insert(0) += 1;
        }
    }

    /// A campaign in which too little went wrong proves nothing: what is never drawn, by name.
    pub(super) fn missing(&self, campaign: &DrawnCampaign) -> Vec<String> {
        if self.runs < JUDGED {
            return Vec::new();
        }
        let kinds = (campaign.kinds)().into_iter();
        let never = kinds.filter(|kind| !self.faults.contains_key(kind));
        let mut missing: Vec<String> = never.map(|kind| format!("never drawn: {kind}")).collect();
        let none = campaign.sorts.iter().filter(|sort| !self.sorts.contains_key(*sort));
        missing.extend(none.map(|sort| format!("never drawn: a run {sort}")));
        if self.deaths * 10 < self.runs {
            missing.push("too few deaths: under one for ten runs".to_owned());
        }
        missing
    }

    pub(super) fn line(&self, took: Duration) -> String {
        let Self { runs, transfers, deaths, sorts, faults } = self;
        let sorts: Vec<String> = sorts.iter().map(|(sort, n)| format!("{n} {sort}")).collect();
        let kinds: Vec<String> = faults.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        format!(
            "{runs} runs in {} s, {transfers} transfers, {deaths} deaths; {}\n  planned: {}",
            took.as_secs(),
            sorts.join(", "),
            kinds.join(", ")
        )
    }
}
