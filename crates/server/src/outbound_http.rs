//! The HTTP client for requests that the server itself makes: it reads key sets and posts webhooks.

use client::whole;
use reqwest::{Url, redirect};
use std::time::Duration;

/// The time for which an idle connection is kept.
const IDLE: Duration = Duration::from_secs(10);

/// The address, where it may be in the settings: who may come in is read from it, or who is in trouble
/// is written to it, so it travels encrypted or not at all.
///
/// # Errors
/// What an address must be.
pub fn address(text: &str) -> Result<Url, &'static str> {
    checked(text, false)
}

/// The same, where `http://` may lead into a private network too: to an address that is private, or to a name of which
/// [`crate::webhooks`] looks only at private addresses.
///
/// # Errors
/// What an address must be.
pub fn private_address(text: &str) -> Result<Url, &'static str> {
    checked(text, true)
}

fn checked(text: &str, plain_http: bool) -> Result<Url, &'static str> {
    const RULE: &str = "an address that begins with https:// (http:// for a loopback address), \
                        without user, password and fragment";
    let url = Url::parse(text).map_err(|_| RULE)?;
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let near = host == "localhost"
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let fit = match url.scheme() {
        "https" => !host.is_empty(),
        "http" => near || plain_http && !host.is_empty(),
        _ => false,
    };
    if fit && plain { Ok(url) } else { Err(RULE) }
}

/// The HTTP client for that address, with this timeout for each request: no proxy and no redirect may answer in
/// its place, and nothing is repeated unseen.
///
/// # Errors
/// The machine's roots of trust cannot be read.
pub fn client(url: &Url, timeout: Duration) -> Result<reqwest::Client, String> {
    let tls =
        if url.scheme() == "https" { client::tls::machine() } else { client::tls::no_authority() };
    let tls = tls.map_err(|fault| fault.to_string())?;
    builder(tls, timeout).build().map_err(|fault| whole(&fault))
}

/// The same, to be completed.
pub fn builder(tls: rustls::ClientConfig, timeout: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .http1_only()
        .user_agent(concat!("portage/", env!("CARGO_PKG_VERSION")))
        .timeout(timeout)
        .pool_idle_timeout(IDLE)
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn what_matters_travels_encrypted_or_not_at_all() {
        for fit in [
            "https://id.example/.well-known/jwks.json",
            "https://10.0.0.1:8443/k?v=1",
            "http://127.0.0.1:9/k",
            "http://127.9.9.9/k",
            "http://[::1]:9/k",
            "http://localhost:9/k",
        ] {
            assert!(address(fit).is_ok(), "{fit}");
        }
        for unfit in [
            "http://id.example/k",
            "http://10.0.0.1/k",
            "http://localhost.example/k",
            "http://[::2]/k",
            "https://user@id.example/k",
            "https://user:secret@id.example/k",
            "https://id.example/k#x",
            "file:///etc/keys",
            "ftp://127.0.0.1/k",
            "https://",
            "keys.json",
            "",
        ] {
            assert!(address(unfit).is_err(), "{unfit}");
        }
    }
}
