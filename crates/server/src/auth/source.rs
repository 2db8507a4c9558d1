//! Reads a key set for the verifier from its source: a file or a URL.

use super::jwks::MOST;
use crate::config::address::masked;
use crate::outbound_http;
use client::whole;
use reqwest::header::ACCEPT;
use reqwest::{StatusCode, Url};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The timeout of one request to the address.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A place that holds the current set.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file on this machine.
    File(PathBuf),
    /// An address, and the HTTP client for it.
    Url(Url, reqwest::Client),
}

impl Source {
    /// The set at an address.
    ///
    /// # Errors
    /// The machine's roots of trust cannot be read.
    pub fn url(url: Url) -> Result<Self, String> {
        let http = outbound_http::client(&url, TIMEOUT)?;
        Ok(Self::Url(url, http))
    }

    /// The document, as it is now.
    ///
    /// # Errors
    /// The reason why the document cannot be read, for the log.
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
            Self::Url(url, _) => write!(f, "auth.jwks_url: {}", masked(url.as_str())),
        }
    }
}

/// Reads one byte more than the limit, to detect a file that is too large.
fn file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let most = u64::try_from(MOST).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(most).read_to_end(&mut text)?;
    Ok(text)
}

async fn fetched(url: &Url, http: &reqwest::Client) -> Result<Vec<u8>, String> {
    let asked = http.get(url.clone()).header(ACCEPT, "application/json").send().await;
    let mut response = asked.map_err(|fault| whole(&fault.without_url()))?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status().as_u16()));
    }
    let mut text = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|fault| whole(&fault.without_url()))? {
        text.extend_from_slice(&part);
        if text.len() > MOST {
            return Err("the answer is above 64 KiB".to_owned());
        }
    }
    Ok(text)
}
