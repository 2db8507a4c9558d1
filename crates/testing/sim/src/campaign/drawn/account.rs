//! The drawn campaign of account transfers over a simulated bus.

use super::{DrawnCampaign, DrawnRun, WORKERS};
use crate::generic::account::{AccountPlay, AccountRun};
use crate::generic::{Played, WorkerEnd};
use crate::wrong;

const PARKED: &str = "with a parked key";
const REPEATED: &str = "with all published again";
const LASTING: &str = "with faults that last";

pub(super) const CAMPAIGN: DrawnCampaign = DrawnCampaign {
    flag: "--account",
    what: "account transfers",
    draw: |seed| Box::new(AccountRun::of(seed)),
    knows_wrong: |name| wrong::messages(name).is_some(),
    kinds: AccountRun::kinds,
    sorts: &[WORKERS, PARKED, REPEATED, LASTING],
};

impl DrawnRun for AccountRun {
    fn transfers(&self) -> usize {
        self.case.transfers.len()
    }

    fn sorts(&self) -> Vec<&'static str> {
        let flags = [
            (matches!(self.play, AccountPlay::Workers(_)), WORKERS),
            (self.case.parks, PARKED),
            (self.case.repeats, REPEATED),
            (matches!(self.play, AccountPlay::Lasting(_)), LASTING),
        ];
        flags.into_iter().filter_map(|(on, sort)| on.then_some(sort)).collect()
    }

    fn kills(&self) -> bool {
        matches!(&self.play, AccountPlay::Workers(run) if run.end == WorkerEnd::Killed)
    }

    fn play(&self, wrong: Option<&str>) -> Played {
        self.play(&wrong.and_then(wrong::messages).unwrap_or_default())
    }
}
