//! Every flow that this binary knows, erased once.

use crate::{account, internal, relay, swap_in, swap_out};
use kernel::flow::table::{Flows, Table};

/// The tables. A flow's place in them is its [`kernel::ids::FlowId`]. Which of them are offered is said
/// by who starts an engine: those for whose systems there is an adapter.
pub fn registry() -> Flows {
    Flows(vec![
        Table::of::<internal::State>(),
        Table::of::<account::State>(),
        Table::of::<relay::State>(),
        Table::of::<swap_in::State>(),
        Table::of::<swap_out::State>(),
    ])
}
