//! Loss of power: computes from the system calls of a process what the disk may hold afterwards.
//!
//! A process that is killed leaves its last writes in the page cache, so kills alone prove nothing about syncs.
//! Here `strace` records every write, sync, rename and removal, byte by byte; the power may go at any line of that
//! trace. Each image of the disk holds the synced bytes, and a random part of the others, torn at random bytes.
//! Every answer that the server had sent to a client before that line must hold on each image.

mod acks;
mod campaign;
mod disk;
mod trace;

pub use acks::{Ack, acks};
pub use campaign::{Lost, run};
pub use disk::Disk;
pub use trace::{Call, calls};
