//! The proofs: the audit chain and conservation.

mod audit;
mod conservation;
mod edited_rows;
mod load;
mod stored_proof;
