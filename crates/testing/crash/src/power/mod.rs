//! Loss of power: computes from the system calls of a process what the disk may hold afterwards.
//!
//! A process that is killed leaves its last writes in the page cache, so killing alone proves
//! nothing about syncs. Here every write, sync, rename and removal is seen by `strace`, byte by
//! byte; at any line of that trace the power may go. What was synced is there; of the rest a random
//! part is, torn at random bytes. What the server had sent to a client before that line must hold on
//! every such image.

mod acks;
mod campaign;
mod disk;
mod trace;

pub use acks::{Ack, acks};
pub use campaign::{Lost, run};
pub use disk::Disk;
pub use trace::{Call, calls};
