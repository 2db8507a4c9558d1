//! The testbed on a real server: what other tests lean on.

#[cfg(test)]
mod base;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod replica;
#[cfg(test)]
mod server;
