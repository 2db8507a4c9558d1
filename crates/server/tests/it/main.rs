//! The server, driven through its own routes.

#[cfg(test)]
mod acceptance;
#[cfg(test)]
mod release;
#[cfg(test)]
mod rig;
