//! The crash matrices of the flows that send, on PostgreSQL: two workers share a database and the flow's chains, and
//! at each row of the flow's page of crashes the first worker to come to it dies. The other worker ends every
//! transfer.
//!
//! A row counts as played where a worker died there; [`matrix`] holds what was played to the page, on which no row
//! may be missing but those of `sim::generic::chain::UNREACHED`.

mod fixture;
mod matrix;
mod relay;
mod swap_in;
mod swap_out;
