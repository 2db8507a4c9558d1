//! The proofs: the audit chain and conservation.

mod audit;
mod conservation;
mod load;
mod stored_proof;
