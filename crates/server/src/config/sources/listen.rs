//! Resolves the addresses to listen on: a host by its name, or the port alone.

use super::tree::{Origin, Tree};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};

/// The settings that are addresses to listen on.
const PATHS: [[&str; 2]; 3] = [["server", "listen"], ["work", "listen"], ["spot", "listen"]];

/// An address to listen on, with a name for its host, or the port alone.
///
/// # Errors
/// A sentence that says what it must be.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let fault = |why: String| format!("{why}; write it as 127.0.0.1:3000, or 3000");
    let mut found = text.to_socket_addrs().map_err(|why| fault(why.to_string()))?;
    found.next().ok_or_else(|| fault("no such host".to_owned()))
}

/// Writes the numbers of an address where the settings have a name or a port alone. What is none stays, and is refused
/// with its kind.
pub(super) fn resolve(tree: &mut Tree) {
    for [section, key] in PATHS {
        let path = format!("{section}.{key}");
        let text = match tree.value(&path) {
            Some(Value::String(text)) if text.parse::<SocketAddr>().is_err() => text.clone(),
            Some(Value::Number(port)) => port.to_string(),
            _ => continue,
        };
        let Ok(address) = address(&text) else { continue };
        let origin = tree.origin(&path).cloned().unwrap_or(Origin::Default);
        let parts = [section.to_owned(), key.to_owned()];
        tree.set(&parts, Value::from(address.to_string()), origin);
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn a_port_or_a_name_is_an_address() {
        let shown = |text| address(text).map(|address| address.to_string()).ok();
        assert_eq!(shown("4000").as_deref(), Some("127.0.0.1:4000"));
        assert_eq!(shown("0.0.0.0:4000").as_deref(), Some("0.0.0.0:4000"));
        assert_eq!(shown("[::1]:4000").as_deref(), Some("[::1]:4000"));
        assert!(shown("localhost:4000").is_some_and(|at| at.ends_with(":4000")));
        assert!(shown("localhost").is_none() && shown("99999").is_none() && shown("").is_none());
    }
}
