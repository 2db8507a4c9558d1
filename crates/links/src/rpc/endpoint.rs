//! Sends requests to one provider, and reads each answer whole: bounded in time, size and rate, never
//! repeated here.

use super::budget::RequestBudget;
use super::call::Dialect;
use super::identity::{ExpectedChain, SHOWN_FOR, ShownIdentity};
use super::limits::RpcLimits;
use super::reply::{RATE_LIMITED, RpcFailure, read};
use super::tls;
use futures_util::stream;
use kernel::answer::Cause;
use kernel::ids::{ChainId, Millis};
use kernel::ports::chain::{ChainIdentity, ProviderReport, ProviderState};
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::meter::{Meter, Seen};
use kernel::ports::sending::{NOT_SENT, NotSent, SendCheck};
use kernel::record::System;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, Url};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The longest answer that is read: a chunk with some hundred transactions has some megabytes.
const LONGEST: usize = 16 * 1024 * 1024;
/// The number of failures in a row after which a provider rests.
const FAILURES: u32 = 3;
/// The longest rest of a provider that does not answer.
const LONGEST_REST: Millis = 30_000;
/// The rest after the first failure too many, and of one that refuses the rate.
const REST: Millis = 1_000;
/// How long a connection waits for its next request.
const IDLE: Duration = Duration::from_secs(10);

/// The ports of an endpoint, and its chain.
pub(super) struct EndpointPorts {
    pub chain: ChainId,
    /// How its nodes are called.
    pub dialect: &'static dyn Dialect,
    /// Asked before the first byte of a transaction.
    pub check: SendCheck,
    pub clock: Arc<dyn Clock>,
    pub meter: Arc<dyn Meter>,
    /// Which chain it has to show.
    pub expected: Arc<ExpectedChain>,
}

/// One provider's address, its rate and its state.
pub(crate) struct RpcEndpoint {
    client: reqwest::Client,
    url: Url,
    /// Host and port, for logs and documents: a path or a query may have a key in it.
    label: Arc<str>,
    limits: RpcLimits,
    budget: RequestBudget,
    ports: EndpointPorts,
    identity: ShownIdentity,
    failures: AtomicU32,
    rests_until: AtomicU64,
    next_id: AtomicU64,
}

impl std::fmt::Debug for RpcEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.label)
    }
}

impl RpcEndpoint {
    pub(super) fn new(
        address: &str,
        limits: RpcLimits,
        ports: EndpointPorts,
    ) -> Result<Self, String> {
        // the address is not repeated: it may have a key in it
        let url = Url::parse(address).map_err(|_| "a provider's address is none".to_owned())?;
        let host = url.host_str().ok_or("a provider's address has no host")?.to_owned();
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err("a provider's address begins with http:// or https://".to_owned()),
        };
        let port = url.port_or_known_default().unwrap_or_default();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::trust(https)?)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_millis(limits.connect_timeout_ms))
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|fault| format!("no client can be made: {fault}"))?;
        Ok(Self {
            client,
            url,
            label: format!("{host}:{port}").into(),
            limits,
            budget: RequestBudget::new(limits.per_second, limits.burst),
            identity: ShownIdentity::new(ports.expected.clone()),
            ports,
            failures: AtomicU32::new(0),
            rests_until: AtomicU64::new(0),
            next_id: AtomicU64::new(1),
        })
    }

    /// Host and port of its address.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Whether it rests after its failures, so that others are asked first.
    pub(super) fn rests(&self) -> bool {
        self.ports.clock.ticks() < self.rests_until.load(Ordering::Relaxed)
    }

    /// Whether it is asked before others: it answers, and is of no other chain, as far as that is known.
    pub(super) fn is_in_use(&self) -> bool {
        !self.rests() && !self.is_wrong()
    }

    /// The number of requests in a row without an answer.
    pub(super) fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The chain that it shows, and whether what it says may count.
    pub(super) fn report(&self) -> ProviderReport {
        ProviderReport {
            provider: self.label.clone(),
            state: self.identity.state(),
            shows: self.identity.last(),
            failures: self.failures(),
        }
    }

    /// Whether it showed another chain when it answered last.
    pub(super) fn is_wrong(&self) -> bool {
        self.identity.state() == ProviderState::WrongChain
    }

    /// The chain that it shows now, or showed a moment ago.
    ///
    /// # Errors
    /// Why it does not say.
    pub(super) async fn shown(&self, fresh_for: u64) -> Result<ChainIdentity, RpcFailure> {
        self.identity.shown(&*self.ports.clock, fresh_for, Box::pin(self.status())).await
    }

    /// Whether it is of the right chain now: what it said before this is asked counts then.
    ///
    /// # Errors
    /// Why that is not so, or is not known.
    pub(super) async fn is_still_right(&self) -> Result<(), RpcFailure> {
        self.identity.admitted(&*self.ports.clock, 0, Box::pin(self.status())).await
    }

    async fn status(&self) -> Result<ChainIdentity, RpcFailure> {
        let status = self.ports.dialect.identity();
        (status.read)(self.request(status.method, &status.params).await)
    }

    /// Calls a method, where the provider is of the right chain.
    ///
    /// # Errors
    /// What the node refused, that there was no answer, or that it is of another chain. None of it is evidence.
    pub(super) async fn call(&self, method: &str, params: &Value) -> Result<Value, RpcFailure> {
        self.identity.admitted(&*self.ports.clock, SHOWN_FOR, Box::pin(self.status())).await?;
        Box::pin(self.request(method, params)).await
    }

    async fn request(&self, method: &str, params: &Value) -> Result<Value, RpcFailure> {
        let begun = self.ports.clock.ticks();
        let reply = self.answer(method, params).await;
        let outcome = match &reply {
            Ok(_) => "answered",
            Err(RpcFailure::Refused { .. }) => "refused",
            Err(RpcFailure::Silent(cause)) => cause.class,
        };
        let nanos = self.ports.clock.ticks().saturating_sub(begun);
        let (chain, provider) = (self.ports.chain.name(), &*self.label);
        self.ports.meter.see(Seen::ChainCall { chain, provider, method, outcome, nanos });
        reply
    }

    async fn answer(&self, method: &str, params: &Value) -> Result<Value, RpcFailure> {
        let timeout = self.limits.timeout_ms;
        let Some(wait) = self.budget.take(self.ports.clock.ticks(), timeout / 2) else {
            return Err(RpcFailure::Silent(Cause::of("RATE_BUDGET")));
        };
        if wait > 0 {
            self.ports.clock.sleep(wait).await;
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let sent = self.exchange(method, params, &id);
        let answered = tokio::time::timeout(Duration::from_millis(timeout), sent).await;
        let reply = match answered {
            Ok(Ok((status, body))) => read(self.ports.dialect, status, &body, &id),
            Ok(Err(cause)) => Err(RpcFailure::Silent(cause)),
            Err(_) => Err(RpcFailure::Silent(Cause::of("TIMEOUT"))),
        };
        self.note(&reply);
        reply
    }

    async fn exchange(
        &self,
        method: &str,
        params: &Value,
        id: &str,
    ) -> Result<(u16, Vec<u8>), Cause> {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let call = call.to_string();
        let request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        let request = if method == self.ports.dialect.sends() {
            request.header(CONTENT_LENGTH, call.len()).body(self.checked(call))
        } else {
            request.body(call)
        };
        let mut response = request.send().await.map_err(lost)?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if body.len().saturating_add(chunk.len()) > LONGEST {
                return Err(Cause::of("BODY_TOO_LARGE"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, body))
    }

    /// A body that is taken up when the connection stands, and that asks then whether it may be sent. Where it may
    /// not, the connection is closed without a byte of the request.
    fn checked(&self, body: String) -> Body {
        let (check, system) = (self.ports.check.clone(), System::Chain(self.ports.chain));
        Body::wrap_stream(stream::once(async move { check.passes(system, &[]).map(|()| body) }))
    }

    /// How it does: a node that answers with an error answers.
    fn note(&self, reply: &Result<Value, RpcFailure>) {
        let Err(RpcFailure::Silent(cause)) = reply else {
            self.failures.store(0, Ordering::Relaxed);
            self.rests_until.store(0, Ordering::Relaxed);
            return;
        };
        if cause.class == NOT_SENT {
            // it was not asked
            return;
        }
        if cause.class != RATE_LIMITED {
            self.identity.was_silent();
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        tracing::debug!(provider = %self.label, %cause, failures, "a provider did not answer");
        let too_many = failures.saturating_sub(FAILURES);
        let rest = match (cause.class, failures >= FAILURES) {
            (RATE_LIMITED, _) | (_, true) => {
                let longer = 1_u64.checked_shl(too_many).unwrap_or(u64::MAX);
                REST.saturating_mul(longer)
            }
            (_, false) => return,
        };
        let rest = if rest > LONGEST_REST { LONGEST_REST } else { rest };
        let until = self.ports.clock.ticks().saturating_add(rest.saturating_mul(TICKS));
        self.rests_until.store(until, Ordering::Relaxed);
    }
}

/// Nothing came back: the request may have arrived all the same.
fn lost(fault: reqwest::Error) -> Cause {
    if NotSent::is_behind(&fault) {
        return Cause::of(NOT_SENT);
    }
    let class = if fault.is_timeout() {
        "TIMEOUT"
    } else if fault.is_connect() {
        "UNREACHABLE"
    } else {
        "CONNECTION_LOST"
    };
    // an address may have a key in it
    Cause::because(class, fault.without_url().to_string())
}
