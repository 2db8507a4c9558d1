//! The crash matrices of the flows that send, on PostgreSQL: two workers share a database and the flow's chains, and
//! at each crash point of the flow's table the first worker to come to it dies. The other worker ends every
//! transfer.
//!
//! A crash point counts as played where a worker died there; [`matrix`] holds what was played to the table, of which no
//! point may be missing but those of `sim::generic::chain::UNREACHED`.

mod fixture;
mod matrix;
mod relay;
mod swap_in;
mod swap_out;
