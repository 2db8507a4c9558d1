//! The relay's flow under the generic tests of flows that send, with the product's own adapter (`links::near`) over a
//! local chain that executes the token's contract (`devnet`).
//!
//! `local_chain` is the chain and what outlives a process, `case` what is played; then the tests. The adapter is in the
//! simulation's time by `sim::chain::BridgedPort`.

#[cfg(test)]
mod builds;
#[cfg(test)]
mod case;
#[cfg(test)]
mod generic;
#[cfg(test)]
mod local_chain;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod registrations;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod stranger;
#[cfg(test)]
mod workers;
#[cfg(test)]
mod wrong;
#[cfg(test)]
mod wrong_providers;

/// A number that a campaign gives: `cargo xtask campaign near`.
#[cfg(test)]
fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// How many seeds are drawn, where everything is played, for as long as it takes.
#[cfg(test)]
fn whole_set() -> Option<u64> {
    given("NEAR_SEEDS")
}
