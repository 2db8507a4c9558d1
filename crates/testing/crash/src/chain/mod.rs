//! What the campaigns before a local chain have in common: the chain's process, what happens by chance, and the moments
//! between the journal and the chain.

pub(crate) mod chance;
pub(crate) mod local_chain;
pub(crate) mod moments;
