//! Writes the figures of the last campaign into their page of `docs/proof`.

use crate::faults::Faulted;
use crate::gateway::Jumped;
use crate::kill::Killed;
use crate::power::Lost;
use crate::{Outcome, account, fleet, relay, swap};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where figures are kept, and of what they are.
#[derive(Debug, Clone)]
pub struct Record {
    /// The page of `docs/proof` that the figures go into.
    pub page: PathBuf,
    /// Commit, binary and seed, as one sentence.
    pub of: String,
}

impl Record {
    /// The kill campaign's.
    ///
    /// # Errors
    /// The page's.
    pub fn kills(
        &self,
        killed: &Killed,
        met: &BTreeMap<&'static str, u64>,
        known: usize,
    ) -> Outcome {
        let starts = sorted(&killed.starts);
        let met: Vec<String> = met.iter().map(|(kind, times)| format!("{times} {kind}")).collect();
        let mut text = format!(
            "{}: {} kills in {}, {} a minute; {} of them with a transfer open, {} before the server \
             listened. {} starts were checked; half of them took at most {} ms, 99 of 100 at most {} \
             ms. {known} keys acknowledged, none missing, none doubled. Answers in the history: {}.\n\n\
             | named point | kills |\n|---|---|\n",
            self.of,
            killed.kills,
            minutes(killed.took),
            per_minute(killed.kills, killed.took),
            killed.open,
            killed.starting,
            killed.checked,
            share(&starts, 50),
            share(&starts, 99),
            met.join(", "),
        );
        for (name, hits) in &killed.points {
            text.push_str(&format!("| {name} | {hits} |\n"));
        }
        self.put("kills", &text)
    }

    /// The kills of a server whose log takes nothing.
    ///
    /// # Errors
    /// The page's.
    pub fn dead_log(&self, killed: &Killed, broken: u64, known: usize) -> Outcome {
        let text = format!(
            "{}: {} kills in {}, {} of them with a transfer open; {known} keys acknowledged, none missing, none \
             doubled. At each of {broken} broken writes and syncs the process ended with its exit code.\n",
            self.of,
            killed.kills,
            minutes(killed.took),
            killed.open,
        );
        self.put("dead-log", &text)
    }

    /// The jumps of a clock.
    ///
    /// # Errors
    /// The page's.
    pub fn clock(&self, jumped: &Jumped) -> Outcome {
        let ended: Vec<String> =
            jumped.ended.iter().map(|(state, times)| format!("{times} {state}")).collect();
        let text = format!(
            "{}: {} jumps, {} kills. {} transfers waited for a retry when a jump was over; the last of them ended \
             after {} ms. All in all {}.\n",
            self.of,
            jumped.jumps,
            jumped.kills,
            jumped.waited,
            jumped.longest.as_millis(),
            ended.join(", "),
        );
        self.put("clock", &text)
    }

    /// The kills in a fleet.
    ///
    /// # Errors
    /// The page's.
    pub fn fleet(
        &self,
        killed: &fleet::Killed,
        met: &BTreeMap<&'static str, u64>,
        known: usize,
    ) -> Outcome {
        let met: Vec<String> = met.iter().map(|(kind, times)| format!("{times} {kind}")).collect();
        let mut text = format!(
            "{}: {} kills in {}; {} of them with a transfer open. {known} keys acknowledged, none \
             missing, none doubled. Answers in the history: {}.\n\n| killed | times |\n|---|---|\n",
            self.of,
            killed.kills,
            minutes(killed.took),
            killed.open,
            met.join(", "),
        );
        for (name, times) in &killed.by {
            text.push_str(&format!("| {name} | {times} |\n"));
        }
        self.put("fleet", &text)
    }

    /// The faults of connections.
    ///
    /// # Errors
    /// The page's.
    pub fn wire(
        &self,
        silenced: &fleet::Silenced,
        met: &BTreeMap<&'static str, u64>,
        known: usize,
    ) -> Outcome {
        let met: Vec<String> = met.iter().map(|(kind, times)| format!("{times} {kind}")).collect();
        let mut text = format!(
            "{}: {} faults in {}; {} transfers were open when they began, and all ended within {} ms. \
             A process that could not write had given up its lease and said so within {} ms. {known} \
             keys acknowledged, none missing, none doubled. Answers in the history: {}.\n\n\
             | fault | times |\n|---|---|\n",
            self.of,
            silenced.faults,
            minutes(silenced.took),
            silenced.open,
            silenced.ended.as_millis(),
            silenced.gave_up.as_millis(),
            met.join(", "),
        );
        for (name, times) in &silenced.by {
            text.push_str(&format!("| {name} | {times} |\n"));
        }
        self.put("wire", &text)
    }

    /// The rounds on a replicated pair.
    ///
    /// # Errors
    /// The page's.
    pub fn pair(
        &self,
        paired: &fleet::Paired,
        met: &BTreeMap<&'static str, u64>,
        known: usize,
    ) -> Outcome {
        let met: Vec<String> = met.iter().map(|(kind, times)| format!("{times} {kind}")).collect();
        let mut text = format!(
            "{}: {} rounds in {}, {} promotions; {} waits for the standby were cancelled, {} sessions \
             ended in one; {} processes ended for another database and were started again. {known} \
             keys acknowledged, none missing, none doubled. Answers in the history: {}.\n\n\
             | round | times |\n|---|---|\n",
            self.of,
            paired.rounds,
            minutes(paired.took),
            paired.promoted,
            paired.cancelled,
            paired.ended,
            paired.restarted,
            met.join(", "),
        );
        for (name, times) in &paired.by {
            text.push_str(&format!("| {name} | {times} |\n"));
        }
        self.put("pair", &text)
    }

    /// A worker that stood still.
    ///
    /// # Errors
    /// The page's.
    pub fn still(&self, each: Duration, clients: u64, table: &str) -> Outcome {
        let (of, each) = (&self.of, each.as_secs());
        let text = format!(
            "{of}: {clients} clients, {each} s each, `engine.lease_seconds` = 3.\n\n{table}"
        );
        self.put("still", &text)
    }

    /// The kills in the pipeline of account transfers.
    ///
    /// # Errors
    /// The page's.
    pub fn account(&self, killed: &account::Killed) -> Outcome {
        let (completed, failed) = (killed.ends.completed, killed.ends.failed);
        let mut text = format!(
            "{}: {} kills in {}; {} of them with a transfer open. {} transfers acknowledged: {completed} \
             COMPLETED with one move each, {failed} FAILED with none; none missing, none doubled. {} \
             messages came again to the servers that lived to the end, and had no effect; {} forged ones moved nothing, \
             and {} dead letters came of them.\n\n\
             | killed | times |\n|---|---|\n",
            self.of,
            killed.kills,
            minutes(killed.took),
            killed.open,
            completed.saturating_add(failed),
            killed.seen_again,
            killed.forged,
            killed.dead_letters,
        );
        for (name, times) in &killed.by {
            text.push_str(&format!("| {name} | {times} |\n"));
        }
        self.put("account", &text)
    }

    /// The kills beneath the relay.
    ///
    /// # Errors
    /// The page's.
    pub fn relay(&self, killed: &relay::Killed) -> Outcome {
        let (completed, failed) = (killed.ends.completed, killed.ends.failed);
        let mut text = format!(
            "{}: {} kills in {}; {} of them with a transfer open. {} transfers acknowledged: {completed} \
             COMPLETED and paid once each by {} attempts, {failed} FAILED and not paid; none missing, none \
             doubled. A wallet signed {} times with a key of the relay, and one endpoint of three lied {} times.\n\n| killed | times |\n|---|---|\n",
            self.of,
            killed.kills,
            minutes(killed.took),
            killed.open,
            completed.saturating_add(failed),
            killed.attempts,
            killed.wallets,
            killed.lies,
        );
        for (name, times) in &killed.by {
            text.push_str(&format!("| {name} | {times} |\n"));
        }
        self.put("relay", &text)
    }

    /// The kills beneath the swaps.
    ///
    /// # Errors
    /// The page's.
    pub fn swap(&self, killed: &swap::Killed) -> Outcome {
        let (given_back, kept) = (killed.ends.given_back, killed.ends.kept);
        let mut text = format!(
            "{}: {} kills in {}; {} of them with a swap open. {} deposits: {given_back} given back once each by {} \
             attempts, {kept} kept as dust; none missing, none doubled, the books equal the vault. One endpoint of three \
             lied {} times.\n\n| killed | times |\n|---|---|\n",
            self.of,
            killed.kills,
            minutes(killed.took),
            killed.open,
            given_back.saturating_add(kept),
            killed.attempts,
            killed.lies,
        );
        for (name, times) in &killed.by {
            text.push_str(&format!("| {name} | {times} |\n"));
        }
        self.put("swap", &text)
    }

    /// The losses of power.
    ///
    /// # Errors
    /// The page's.
    pub fn power(&self, lost: &Lost) -> Outcome {
        let text = format!(
            "{}: {} losses of power in {}, {} of them around a first start on an empty folder, {} \
             while the server stopped. {} writes had not been synced then; {} promises were looked \
             for, and kept.\n",
            self.of,
            lost.losses,
            minutes(lost.took),
            lost.first,
            lost.stopping,
            lost.unsynced,
            lost.promises,
        );
        self.put("power", &text)
    }

    /// The full and the broken disk.
    ///
    /// # Errors
    /// The page's.
    pub fn faults(&self, faulted: &Faulted) -> Outcome {
        let (known, refused, unknown) = faulted.told;
        let mut text = format!(
            "{}: {} faults in {}. The transfer under test was acknowledged {known} times and was \
             there each time, refused {refused} times and was not, and {unknown} times its \
             outcome was unknown.\n\n| fault | times |\n|---|---|\n",
            self.of,
            faulted.faults,
            minutes(faulted.took),
        );
        for (what, times) in &faulted.by {
            text.push_str(&format!("| {what} | {times} |\n"));
        }
        self.put("faults", &text)
    }

    /// Replaces what stands between a kind's two marks.
    fn put(&self, kind: &str, text: &str) -> Outcome {
        let fault = |fault: std::io::Error| format!("{}: {fault}", self.page.display());
        let page = std::fs::read_to_string(&self.page).map_err(fault)?;
        let page = replaced(&page, kind, text)
            .ok_or_else(|| format!("{}: no place for {kind}", self.page.display()))?;
        write(&self.page, &page)
    }
}

fn write(page: &Path, text: &str) -> Outcome {
    std::fs::write(page, text).map_err(|fault| format!("{}: {fault}", page.display()))
}

fn replaced(page: &str, kind: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {kind} -->\n"), format!("<!-- /{kind} -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

fn minutes(took: Duration) -> String {
    let seconds = took.as_secs();
    format!("{} min {} s", seconds / 60, seconds % 60)
}

fn per_minute(kills: u64, took: Duration) -> u64 {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    kills.saturating_mul(60_000).checked_div(millis).unwrap_or_default()
}

fn sorted(all: &[u64]) -> Vec<u64> {
    let mut all = all.to_vec();
    all.sort_unstable();
    all
}

/// The percentile: `of_hundred` percent of the values are not above it.
fn share(sorted: &[u64], of_hundred: usize) -> u64 {
    let at = sorted.len().saturating_mul(of_hundred) / 100;
    sorted.get(at).or_else(|| sorted.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{per_minute, replaced, share};
    use std::time::Duration;

    #[test]
    fn only_its_own_place_changes() {
        let page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n";
        assert_eq!(replaced(page, "x", "new\n").unwrap(), page.replace("old", "new"));
        assert_eq!(replaced(page, "y", "new\n"), None);
    }

    #[test]
    fn figures_are_whole_numbers() {
        assert_eq!(per_minute(10, Duration::from_secs(30)), 20);
        assert_eq!((share(&[1, 2, 3, 9], 50), share(&[1, 2, 3, 9], 99), share(&[], 50)), (3, 9, 0));
    }
}
