//! What people are asked, decide and do: how it is written, and read by the journal.

mod put;
mod read;

pub(super) use read::{
    ACTED, APPROVAL, accepted, acted, action, approval, halt, open_cases, paused, proposal,
};
