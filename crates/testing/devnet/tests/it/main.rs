//! The local chains: their rules, their faults, and their shapes against the types of NEAR and Solana themselves.

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
mod solana;
#[cfg(test)]
mod token;
#[cfg(test)]
mod wasm_file;
