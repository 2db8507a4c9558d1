//! The page of every crash point of a flow that sends, fused and plain.

use sim::generic::chain::{ChainCase, ChainMatrix, ChainTrial, UNREACHED, crash_matrix};
use std::collections::BTreeSet;

/// Where the cases of a flow are.
fn cases(flow: &str) -> &'static str {
    if flow == "relay" { "relay.rs" } else { "swaps/cases.rs" }
}

fn head(flow: &str) -> String {
    let of_flow = || UNREACHED.iter().filter(|un| un.flow == flow);
    let states: Vec<String> = of_flow().map(|un| format!("*{}*", un.state)).collect();
    let reasons: BTreeSet<&str> = of_flow().map(|un| un.why).collect();
    format!(
        "A process dies at each write of the journal, each call of a chain and each time at which something is \
         learnt, of each case\nof `crates/testing/sim/src/generic/{}`, and the next one goes on. Each run ends \
         under the oracles of the cases\nand of `chain` in that folder. The rows are the crash points of the \
         table.\n\nA dash is a point that no case can come to, of {}.\n{}\nA test computes this page.\n\n\
         On the embedded store a process dies at each of these rows once \
         (`crates/testing/sim/tests/chain_sqlite`). On PostgreSQL two\nworkers play each, and the first one to \
         come to it dies (`crates/engine/tests/it/postgres/chains`). There a row that is\nnot played fails the \
         test.\n\n",
        cases(flow),
        states.join(" or "),
        reasons.into_iter().collect::<Vec<_>>().join("\n"),
    )
}

/// The page of a flow, from the deaths of this trial.
pub(crate) fn page<C: ChainCase>(flow: &str, trial: &ChainTrial<C>, more: &str) -> String {
    let part = |fuse: bool| crash_matrix(&ChainTrial { fuse: vec![fuse], ..trial.clone() }, flow);
    let mut all = ChainMatrix::of(flow);
    std::thread::scope(|threads| {
        for part in [threads.spawn(|| part(true)), threads.spawn(|| part(false))] {
            match part.join() {
                Ok(reached) => all.add(reached),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    format!("# Crashes of `{flow}`\n\n{}{more}{}", head(flow), all.page())
}
