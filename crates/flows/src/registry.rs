//! Every flow that this binary knows, erased once.

use crate::internal;
use kernel::flow::table::{Flows, Table};

/// The tables. A flow's place in them is its [`kernel::ids::FlowId`].
pub fn registry() -> Flows {
    Flows(vec![Table::of::<internal::State>()])
}
