//! What the relay attaches to its calls, by its own code, and what a call may need at most.

use crate::reference::Burnt;
use kernel::ids::ChainId;
use links::near::{NearSettings, NearToken, gas_of_each};
use near_parameters::{ExtCosts, RuntimeConfigStore};

/// The gas that the relay attaches to each call in a transaction with this number of calls.
pub(crate) fn attached(calls: usize) -> u64 {
    let settings = NearSettings::new(ChainId::NEAR, "relay.devnet", Vec::new(), Vec::new());
    gas_of_each(settings.prepaid_tgas, NearToken::LEAST_TGAS, calls)
}

/// The nodes that a write touches at most on its way down the trie: one for each hexadecimal digit in which
/// keys differ and one for what they share behind it. Twelve digits tell 10^14 accounts of a shard apart,
/// eight tell 4 · 10^9 holders of a token apart.
const NODES: u64 = 40;
/// The last version of the protocol in which a node that was not touched before costs seven times as much.
const DEAREST: u32 = 81;

/// The gas that a call needs where the contract's state is large. The machine has no trie, so it charges no
/// node; a network charges those of a write, and none of a read (flat storage).
pub(crate) fn needed(call: Burnt) -> u64 {
    let store = RuntimeConfigStore::new(None);
    let costs = &store.get_config(DEAREST).wasm_config.ext_costs;
    let node = ExtCosts::touching_trie_node.gas(costs).as_gas();
    call.gas.saturating_add(call.writes.saturating_mul(NODES).saturating_mul(node))
}
