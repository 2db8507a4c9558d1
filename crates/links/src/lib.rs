//! Links to systems outside: today the bus that lives in the process.

pub mod in_process;
