//! Sends one request and reads its whole answer, for both forms: bounded in time, in size and in
//! number, never repeated, never redirected, never through a proxy.

use super::classify::HttpReply;
use super::tls;
use super::wire::HALT_HEADER;
use futures_util::stream;
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId};
use kernel::ports::sending::{NOT_SENT, NotSent, SendCheck};
use kernel::record::System;
use reqwest::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Method, Url};
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a connection waits for its next request.
const IDLE: Duration = Duration::from_secs(10);

/// How a ledger is reached.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where its routes begin: `http://…` or `https://…`, without query or credentials.
    pub url: String,
    /// The bearer token; never shown.
    pub token: Token,
    /// How long one request may take, its answer included.
    pub timeout_ms: u64,
    /// How long a connection may take to stand.
    pub connect_timeout_ms: u64,
    /// The maximum number of requests at once; the others wait, at most half as long as a request may take.
    pub max_in_flight: usize,
    /// The most operations of one request.
    pub batch: usize,
}

/// A bearer token; empty for none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "********" })
    }
}

/// Why a ledger cannot be reached by these settings, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit(pub String);

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// Whether connections may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// They may: the other side stores what it answers.
    Open,
    /// Each request has its own, which is closed after it. That says nothing about the request: a
    /// hop may deliver it later.
    Closed,
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SendPurpose {
    /// Operations of these transfers, which are not sent where they may not be sent any more.
    MovesMoney(Vec<Id>),
    /// A question, a fence, a horizon, a status or the number of a HALT, which is sent under HALT too.
    MovesNone,
}

/// A body as it is sent.
struct PostedBody {
    body: Vec<u8>,
    purpose: SendPurpose,
}

/// The way to one ledger.
#[derive(Debug)]
pub(super) struct Http {
    ledger: LedgerId,
    client: reqwest::Client,
    /// Asked when a connection stands.
    pub(super) check: SendCheck,
    base: String,
    token: Option<HeaderValue>,
    /// What moves money carries the number of the last HALT: the full form knows it.
    carries_halt: bool,
    timeout: Duration,
    permits: Semaphore,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Undelivered {
    /// Not one byte of it left this process: no connection stood, or it might not be sent any more.
    Never(Cause),
    /// It may have arrived, or may arrive yet, however its connection ended.
    Perhaps(Cause),
}

impl From<Undelivered> for Cause {
    fn from(why: Undelivered) -> Self {
        match why {
            Undelivered::Never(cause) | Undelivered::Perhaps(cause) => cause,
        }
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(super) struct Whole {
    status: u16,
    body: Vec<u8>,
}

impl Whole {
    pub(super) fn reply(&self) -> HttpReply<'_> {
        HttpReply { status: self.status, body: &self.body }
    }
}

/// The rules that an address of a ledger keeps to.
///
/// # Errors
/// The rule that it breaks.
pub fn address(url: &str) -> Result<Url, Unfit> {
    let unfit = |why: &str| Unfit(format!("`{url}`: {why}"));
    let parsed = Url::parse(url).map_err(|_| unfit("not an address"))?;
    let plain = parsed.query().is_none() && parsed.fragment().is_none();
    match parsed.scheme() {
        "http" | "https" if parsed.host().is_none() => Err(unfit("it has no host")),
        // not repeated: it is a secret
        "http" | "https" if !parsed.username().is_empty() || parsed.password().is_some() => {
            Err(Unfit("an address has no credentials in it; the token has its own setting".into()))
        }
        "http" | "https" if plain => Ok(parsed),
        "http" | "https" => Err(unfit("it goes on behind a `?` or `#`")),
        _ => Err(unfit("it begins with http:// or https://")),
    }
}

impl Http {
    pub(super) fn new(ledger: LedgerId, settings: &Settings, keep: Keep) -> Result<Self, Unfit> {
        let url = address(&settings.url)?;
        let tls = tls::config(url.scheme() == "https").map_err(Unfit)?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            // a proxy or a redirect would show the token to others, a repeat would be a second
            // request that is not counted
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_millis(settings.connect_timeout_ms))
            // sooner than anybody at the other end closes it: a request must not meet a closed one
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(if keep == Keep::Open { settings.max_in_flight } else { 0 })
            .build()
            .map_err(|fault| Unfit(format!("no client can be made: {fault}")))?;
        let token = match settings.token.0.as_str() {
            "" => None,
            token => {
                let unfit = |_| Unfit("a token is visible ASCII".to_owned());
                let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(unfit)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self {
            ledger,
            client,
            check: SendCheck::default(),
            base: url.as_str().trim_end_matches('/').to_owned(),
            token,
            carries_halt: keep == Keep::Open,
            timeout: Duration::from_millis(settings.timeout_ms),
            permits: Semaphore::new(settings.max_in_flight),
        })
    }

    pub(super) async fn get(&self, path: &str, most: usize) -> Result<Whole, Cause> {
        Ok(self.send(Method::GET, path, None, most).await?)
    }

    pub(super) async fn post(
        &self,
        path: &str,
        body: &impl serde::Serialize,
        purpose: SendPurpose,
        most: usize,
    ) -> Result<Whole, Cause> {
        Ok(self.deliver(path, body, purpose, most).await?)
    }

    /// The same, for callers that must know whether the request may still arrive.
    pub(super) async fn deliver(
        &self,
        path: &str,
        body: &impl serde::Serialize,
        purpose: SendPurpose,
        most: usize,
    ) -> Result<Whole, Undelivered> {
        let body = serde_json::to_vec(body);
        let body = body.map_err(|_| Undelivered::Never(Cause::of("BAD_OPERATION")))?;
        self.send(Method::POST, path, Some(PostedBody { body, purpose }), most).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        asked: Option<PostedBody>,
        most: usize,
    ) -> Result<Whole, Undelivered> {
        let waits = tokio::time::timeout(self.timeout / 2, self.permits.acquire());
        let Ok(Ok(_permit)) = waits.await else {
            return Err(Undelivered::Never(Cause::of("BULKHEAD")));
        };
        let mut request = self.client.request(method, format!("{}/{path}", self.base));
        // what a cache on the way kept is the answer to another moment's question
        request = request.header(CACHE_CONTROL, "no-store");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        if let Some(PostedBody { body, purpose }) = asked {
            request = request.header(CONTENT_TYPE, "application/json");
            request = match purpose {
                SendPurpose::MovesNone => request.body(body),
                SendPurpose::MovesMoney(transfers) => {
                    // before the check, which nothing passes with the number of a HALT that is in force
                    if self.carries_halt {
                        request = request.header(HALT_HEADER, self.check.last_halt());
                    }
                    // not chunked, which a ledger need not understand
                    request.header(CONTENT_LENGTH, body.len()).body(self.checked(body, transfers))
                }
            };
        }
        // a body that drips is cut off like one that never comes
        let read = tokio::time::timeout(self.timeout, whole(request, most));
        read.await.unwrap_or(Err(Undelivered::Perhaps(Cause::of("TIMEOUT"))))
    }

    /// A body that is taken up when the connection stands, and that asks then whether it may be sent. Where it may
    /// not, the connection is closed without a byte of the request.
    fn checked(&self, body: Vec<u8>, transfers: Vec<Id>) -> Body {
        let (check, system) = (self.check.clone(), System::Ledger(self.ledger));
        let checked = async move { check.passes(system, &transfers).map(|()| body) };
        Body::wrap_stream(stream::once(checked))
    }
}

/// Reads an answer while it comes, and no further than it may go.
async fn whole(request: reqwest::RequestBuilder, most: usize) -> Result<Whole, Undelivered> {
    let mut response = request.send().await.map_err(lost)?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        if body.len().saturating_add(chunk.len()) > most {
            return Err(Undelivered::Perhaps(Cause::of("BODY_TOO_LARGE")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Whole { status, body })
}

/// Nothing that counts came back: the request may have arrived all the same, unless no connection
/// ever stood, or nothing might be sent on it any more.
fn lost(fault: reqwest::Error) -> Undelivered {
    if NotSent::is_behind(&fault) {
        return Undelivered::Never(Cause::of(NOT_SENT));
    }
    let never = fault.is_connect();
    let class = if fault.is_timeout() {
        "TIMEOUT"
    } else if fault.is_connect() {
        "UNREACHABLE"
    } else {
        "CONNECTION_LOST"
    };
    let fault = fault.without_url();
    let mut words = fault.to_string();
    let mut deeper = std::error::Error::source(&fault);
    while let Some(fault) = deeper {
        words = format!("{words}: {fault}");
        deeper = fault.source();
    }
    let cause = Cause::because(class, words);
    if never { Undelivered::Never(cause) } else { Undelivered::Perhaps(cause) }
}

#[cfg(test)]
mod tests {
    use super::{Http, Keep, LedgerId, Settings, Token, address};

    fn settings(url: &str, token: &str) -> Settings {
        Settings {
            url: url.to_owned(),
            token: Token(token.to_owned()),
            timeout_ms: 100,
            connect_timeout_ms: 100,
            max_in_flight: 2,
            batch: 10,
        }
    }

    #[test]
    fn an_address_is_plain() {
        for good in ["http://127.0.0.1:1", "https://x.example/ledger/v1/", "http://[::1]:5/a"] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in ["", "x", "ftp://x", "http://", "http://x/?a=1", "http://x/#a", "unix:/x"] {
            assert!(address(bad).is_err(), "{bad}");
        }
        let told = address("http://user:hunter2@x/").unwrap_err().to_string();
        assert!(!told.contains("hunter2"), "{told}");
    }

    #[test]
    fn a_token_is_not_shown() {
        let settings = settings("https://x.example", "hunter2");
        let http = Http::new(LedgerId::SPOT, &settings, Keep::Open).unwrap();
        for shown in [format!("{settings:?}"), format!("{http:?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        assert!(
            Http::new(LedgerId::SPOT, &self::settings("http://x", "a\nb"), Keep::Open).is_err()
        );
    }
}
