//! Every flow that this binary knows, erased once.

use crate::swaps::times::SwapTimes;
use crate::{account, internal, relay, swap_in, swap_out};
use kernel::flow::life::{Life as _, Normal, Word as _};
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

/// The same, where these times are normal for a swap.
pub fn registry_by(times: &SwapTimes) -> Flows {
    let mut flows = registry();
    for table in &mut flows.0 {
        if table.flow == swap_in::State::FLOW {
            set_normal(table, swap_in::State::ALL.iter().map(|state| state.normal_by(times)));
        } else if table.flow == swap_out::State::FLOW {
            set_normal(table, swap_out::State::ALL.iter().map(|state| state.normal_by(times)));
        }
    }
    flows
}

fn set_normal(table: &mut Table, normal: impl Iterator<Item = Normal>) {
    for (row, normal) in table.states.iter_mut().zip(normal) {
        row.normal = normal;
    }
}
