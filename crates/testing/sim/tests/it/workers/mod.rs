//! Several processes over one journal: halts, owners of a core, locked rows and late writes.

mod halt;
mod late_writes;
mod locked_row;
mod owners;
mod processes;
