//! The limits of a user's creates: their rate, and those that end without effect.

mod rate;
mod refused_creates;

use super::{CREATE, Door, USER, transfer};
