//! Why the engine does not start, as the operator reads it.

use crate::cli::exit::{Exit, Fault};
use kernel::answer::Cause;

/// The advice for a second process that wants to share a journal.
const ALONE: &str = ". A core in a process has one owner: run it by itself with `portage spot \
    serve`, and set ledgers.spot.kind = \"remote\" for every process that shares the journal";

/// The fault of a start that the engine refused: what the settings name is no passing trouble. `topics` says what to do
/// where the bus has the topics of another journal.
pub(super) fn start_fault(cause: &Cause, topics: impl Fn() -> String) -> Fault {
    let exit = match cause.class {
        "BAD_LIMIT" | "NO_ASSET" | "OWNED" | "FOREIGN_TOPICS" | "OTHER_VAULT" => Exit::Config,
        _ => Exit::Io,
    };
    let hint = match cause.class {
        "OWNED" => ALONE.to_owned(),
        "FOREIGN_TOPICS" => topics(),
        _ => String::new(),
    };
    Fault::new(exit, format!("the engine cannot start: {cause}{hint}"))
}
