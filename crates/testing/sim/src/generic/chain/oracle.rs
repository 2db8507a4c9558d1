//! The oracle of flows that send: once all transfers ended, none was paid twice by the chain's own blocks, none waits
//! without a case, nothing is open, nothing is paused, each decision keeps the facts behind it, and providers that held
//! a transfer up are told of once each time.

use crate::chain::{FactLog, PlayedChain};
use kernel::answer::Cause;
use kernel::flow::table::{Flows, Table};
use kernel::ids::ChainId;
use kernel::ports::journal::{Journal, Linked};
use kernel::record::Record;

/// Everything that is wrong with what a journal and its chains say of these transfers, which ended.
pub async fn chain_faults(
    journal: &dyn Journal,
    flows: &Flows,
    chains: &[impl PlayedChain],
    learned: &FactLog,
    ended: &[Record],
) -> Vec<String> {
    let mut faults = unexplained(journal, flows, learned, ended).await;
    for chain in chains {
        faults.extend(chain.faults());
        faults.extend(left_open(journal, chain.rules().id).await);
    }
    faults.extend(paused(journal).await);
    faults.extend(waiting(journal).await);
    faults.extend(asked(journal).await);
    faults
}

/// Transfers that still wait though all ended that clients ask after, and that no case is about: of those with a case
/// [`asked`] says it.
async fn waiting(journal: &dyn Journal) -> Vec<String> {
    let cases = journal.open_cases().await.unwrap_or_default();
    let is_asked = |id| cases.iter().any(|case| case.subject.transfer() == Some(id));
    match journal.open_older_than(journal.now(), usize::MAX).await {
        Ok(open) => {
            let silent = open.iter().filter(|record| !is_asked(record.id));
            silent.map(|record| format!("{} waits without a case", record.id)).collect()
        }
        Err(cause) => silent(&cause),
    }
}

/// Cases that nothing closed, though all that they ask about is over.
async fn asked(journal: &dyn Journal) -> Vec<String> {
    match journal.open_cases().await {
        Ok(cases) => cases.iter().map(|case| format!("an open case: {case:?}")).collect(),
        Err(cause) => silent(&cause),
    }
}

fn silent(cause: &Cause) -> Vec<String> {
    vec![format!("the journal does not answer: {cause}")]
}

/// Decisions that do not keep what they were made from.
async fn unexplained(
    journal: &dyn Journal,
    flows: &Flows,
    learned: &FactLog,
    ended: &[Record],
) -> Vec<String> {
    let mut faults = Vec::new();
    for record in ended {
        match journal.history(record.id).await {
            Ok(history) => {
                let table = flows.table(record.flow);
                faults.extend(learned.unexplained(table, record, &history));
                let twice = told_twice(table, &history);
                faults.extend(twice.map(|at| {
                    format!("{}: event {at} tells the trouble of an event before", record.id)
                }));
            }
            Err(cause) => faults.extend(silent(&cause)),
        }
    }
    faults
}

/// The lines that tell of providers that hold a transfer up, though one did since it went on last.
fn told_twice<'a>(table: &'a Table, history: &'a [Linked]) -> impl Iterator<Item = u32> + 'a {
    let mut told = false;
    history.iter().filter_map(move |Linked { entry, .. }| {
        if entry.from != Some(entry.to) {
            told = false;
            return None;
        }
        let tells = table.trouble.is_some_and(|what| entry.event == what);
        (tells && std::mem::replace(&mut told, true)).then_some(entry.seq)
    })
}

/// What was stopped and stands still.
async fn paused(journal: &dyn Journal) -> Vec<String> {
    match journal.service_status().await {
        Ok(status) => status.paused.iter().map(|pause| format!("paused: {pause:?}")).collect(),
        Err(cause) => silent(&cause),
    }
}

/// Attempts and lanes that are not over.
async fn left_open(journal: &dyn Journal, chain: ChainId) -> Vec<String> {
    let mut faults = match journal.open_attempts(chain).await {
        Ok(attempts) => attempts.iter().map(|attempt| format!("open: {attempt:?}")).collect(),
        Err(cause) => silent(&cause),
    };
    match journal.resources(format!("lane:{}:", chain.name()).into()).await {
        Ok(lanes) => {
            let busy = lanes.iter().filter(|lane| !lane.value.contains(r#""open":null"#));
            faults.extend(busy.map(|lane| format!("busy: {lane:?}")));
        }
        Err(cause) => faults.extend(silent(&cause)),
    }
    faults
}
