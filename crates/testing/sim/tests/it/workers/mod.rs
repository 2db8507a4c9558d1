//! Several processes over one journal: halts, owners of a core, locked rows and late writes.

mod halt;
mod late_actions;
mod locked_row;
mod owners;
mod processes;
