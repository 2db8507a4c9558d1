//! The local chain: its rules, its faults, and its shapes against NEAR's own types.

#[cfg(test)]
mod accounts;
#[cfg(test)]
mod batches;
#[cfg(test)]
mod blocklist;
#[cfg(test)]
mod client;
#[cfg(test)]
mod fault_sends;
#[cfg(test)]
mod fault_views;
#[cfg(test)]
mod finality;
#[cfg(test)]
mod gas;
#[cfg(test)]
mod nonces;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod token;
#[cfg(test)]
mod wasm_file;
