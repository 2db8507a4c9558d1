//! Flows that send, over the simulated chain. It links no real store, so that it is quick to build.

// it prints the points, which only a test may
#[cfg(test)]
mod crash_points;
mod foreign;
mod identity;
mod keys;
mod operators;
mod relay;
mod replayed_keys;
mod rests;
mod returned;
mod seeds;
mod suite;
mod swaps;
mod workers;
mod wrong;
