//! Every crash point of a flow that sends, fused and plain.

use sim::generic::chain::{ChainCase, ChainMatrix, ChainTrial, crash_matrix, unplayed_rows};

/// The process dies at each event of each case, and each crash point of the table is among them. Prints the points, with
/// the paths on which a process died there.
pub(crate) fn dies_at_every_one<C: ChainCase>(flow: &str, trial: &ChainTrial<C>) {
    let part = |fuse: bool| crash_matrix(&ChainTrial { fuse: vec![fuse], ..trial.clone() }, flow);
    let mut all = ChainMatrix::of(flow);
    std::thread::scope(|threads| {
        for part in [threads.spawn(|| part(true)), threads.spawn(|| part(false))] {
            match part.join() {
                Ok(reached) => {
                    let played = reached.reached();
                    let faults = unplayed_rows(flow, played.iter().map(String::as_str));
                    assert_eq!(faults, [""; 0]);
                    all.add(reached);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    println!("{}", all.page());
}
