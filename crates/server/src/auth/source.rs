//! Where a set of keys is read from: a file, or an address.

use super::jwks::MOST;
use reqwest::header::ACCEPT;
use reqwest::{StatusCode, Url, redirect};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the whole answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A place that holds the current set.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file of this machine.
    File(PathBuf),
    /// An address, and what asks it.
    Url(Url, reqwest::Client),
}

/// The address, where a set may be fetched from it: whoever can change what comes back decides who
/// may come in, so it travels encrypted or not at all.
///
/// # Errors
/// What an address must be.
pub fn address(text: &str) -> Result<Url, &'static str> {
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
        "http" => near,
        _ => false,
    };
    if fit && plain { Ok(url) } else { Err(RULE) }
}

impl Source {
    /// What asks an address: no proxy and no redirect may answer in its place.
    ///
    /// # Errors
    /// The machine's roots of trust cannot be read.
    pub fn url(url: Url) -> Result<Self, String> {
        let tls =
            if url.scheme() == "https" { client::tls::machine() } else { client::tls::nobody() };
        let tls = tls.map_err(|fault| fault.to_string())?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(PATIENCE)
            .build()
            .map_err(|fault| whole(&fault))?;
        Ok(Self::Url(url, http))
    }

    /// The document, as it is now.
    ///
    /// # Errors
    /// Why it cannot be had, for the log.
    pub(super) async fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || file(&path)).await;
                read.map_err(|fault| fault.to_string())?.map_err(|fault| fault.to_string())
            }
            Self::Url(url, http) => fetched(url, http).await,
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "auth.jwks_file: {}", path.display()),
            Self::Url(url, _) => write!(f, "auth.jwks_url: {url}"),
        }
    }
}

/// One byte more than the most shows that there is more.
fn file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let most = u64::try_from(MOST).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(most).read_to_end(&mut text)?;
    Ok(text)
}

async fn fetched(url: &Url, http: &reqwest::Client) -> Result<Vec<u8>, String> {
    let asked = http.get(url.clone()).header(ACCEPT, "application/json").send().await;
    let mut response = asked.map_err(|fault| whole(&fault))?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status().as_u16()));
    }
    let mut text = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|fault| whole(&fault))? {
        text.extend_from_slice(&part);
        if text.len() > MOST {
            return Err("the answer is above 64 KiB".to_owned());
        }
    }
    Ok(text)
}

/// A library's error with what lies below it, on one line.
fn whole(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut below = fault.source();
    while let Some(fault) = below {
        text = format!("{text}: {fault}");
        below = fault.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn keys_travel_encrypted_or_not_at_all() {
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
