//! What judges the campaigns, on cases that are known.

#[cfg(test)]
mod histories;
