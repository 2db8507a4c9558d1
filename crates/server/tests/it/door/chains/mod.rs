//! The flows on chains over HTTP, without a network.

mod relay;
mod swap;

use super::{Door, Reply};
