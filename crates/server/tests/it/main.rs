//! The server, driven through its own routes and as a process.

#[cfg(test)]
mod acceptance;
#[cfg(test)]
mod backup_command;
#[cfg(test)]
mod command;
#[cfg(test)]
mod conclude;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod depth;
#[cfg(test)]
mod door;
#[cfg(test)]
mod edge;
#[cfg(test)]
mod file_modes;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod identity_provider;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod own;
#[cfg(test)]
#[path = "../keys/mod.rs"]
mod pairs;
#[cfg(test)]
mod receiver;
#[cfg(test)]
mod release;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod stderr;
mod stdout;
#[cfg(test)]
mod transfer_command;
