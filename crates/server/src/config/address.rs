//! A setting that is an address on the network: what is behind its host and port may be a secret, and is masked
//! wherever settings are printed or logged.

use super::section::{Setting, Shape};
use reqwest::Url;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;

/// An address of which host and port alone are shown: providers and hooks take keys in the path and the query.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Address(String);

impl Deref for Address {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Address {
    /// Its host and port; `None`: it is no address that this process may ask.
    pub(in crate::config) fn host_and_port(&self) -> Option<String> {
        let url = crate::outbound_http::address(self).ok()?;
        Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// The address as it is shown; a text that is none shows nothing of itself.
pub(crate) fn masked(text: &str) -> String {
    const MASK: &str = "********";
    if text.is_empty() {
        return String::new();
    }
    let url = Url::parse(text).ok();
    let Some((url, host)) = url.as_ref().and_then(|url| Some((url, url.host_str()?))) else {
        return MASK.to_owned();
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let shown = format!("{}://{host}{port}", url.scheme());
    let bare = [shown.clone(), format!("{shown}/")].iter().any(|bare| bare == text);
    if bare { text.to_owned() } else { format!("{shown}/{MASK}") }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&masked(&self.0))
    }
}

impl Setting for Address {
    const KIND: &'static str = "a text";
    const SHAPE: Shape = Shape::Text;
}

impl Setting for Vec<Address> {
    const KIND: &'static str = "a list of texts";
    const SHAPE: Shape = Shape::List;
}

#[cfg(test)]
mod tests {
    use super::{Address, masked};

    /// Turns red where a key in the path, the query or before the host is printed.
    #[test]
    fn an_address_is_shown_to_its_port() {
        for (text, shown) in [
            ("https://rpc.example", "https://rpc.example"),
            ("http://127.0.0.1:3030/", "http://127.0.0.1:3030/"),
            ("https://rpc.example:8443/v1/canary", "https://rpc.example:8443/********"),
            ("https://rpc.example?apiKey=canary", "https://rpc.example/********"),
            ("https://canary:canary@rpc.example/", "https://rpc.example/********"),
            ("https://rpc.example/#canary", "https://rpc.example/********"),
            ("canary", "********"),
            ("", ""),
        ] {
            assert_eq!(masked(text), shown, "{text}");
            let address = Address::from(text);
            assert_eq!(serde_json::json!(address), shown);
            assert_eq!(format!("{address:?}"), shown);
        }
    }
}
