//! The swaps' flows under the generic tests of flows that send, with the product's own adapter (`links::solana`) and its
//! deposits over a local Solana that executes the real token program (`devnet`), and the simulated Nexus on the other
//! side.
//!
//! `solana` is the local chain and what outlives a process, `chain` both chains of a swap, `facts` what the rules
//! learn of them, `case` what is played; then the tests.

#[cfg(test)]
mod case;
#[cfg(test)]
mod chain;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod generic;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod solana;
#[cfg(test)]
mod wrong;

/// A number that a campaign gives: `cargo xtask campaign swaps`.
#[cfg(test)]
fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// The number of bad days, where everything is played, for as long as it takes.
#[cfg(test)]
fn whole_set() -> Option<u64> {
    given("SWAP_SEEDS")
}
