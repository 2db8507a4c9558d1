//! What another worker, a crash or a lost answer left open, and how this worker takes it up or lets it go.

pub(crate) mod handback;
pub(crate) mod lease;
pub(crate) mod scan;
pub(crate) mod superseded;
