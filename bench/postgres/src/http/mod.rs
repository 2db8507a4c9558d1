//! Through HTTP: a server in a process of its own, ours or the bare statements behind the same door.

mod child;
mod host;
mod wire;

pub(crate) use child::Child;
pub(crate) use host::{Host, serve};
