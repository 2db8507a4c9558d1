//! Sends one signed request to a receiver, and decides whether its answer counts as accepted.

use super::message::Message;
use super::public_address::{AddressResolver, PRIVATE, PUBLIC, is_private_literal};
use super::sign::Signer;
use super::target::endpoint_address;
use crate::config::{self, Alerts};
use crate::outbound_http;
use client::whole;
use futures_util::stream;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::sending::{NOT_SENT, NotSent};
use kernel::webhooks::WebhookSecret;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Body, StatusCode, Url};
use std::sync::Arc;
use std::time::Duration;

/// The timeout of one try to the settings' address, from the first packet to the answer's head.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A receiver may ask for no longer a wait than this.
const LONGEST_WAIT: Millis = 86_400_000;

/// The receiver's answer, or the reason why there is none that counts.
#[derive(Debug)]
pub(super) enum Posted {
    /// The receiver has the message.
    Taken(u16),
    /// The receiver wants no further messages: 410.
    Gone,
    /// The receiver did not accept the message, or did not say so.
    Failed {
        cause: Cause,
        status: Option<u16>,
        /// The wait that the receiver asks for; `None`: it asks for none.
        retry_after: Option<Millis>,
        /// The receiver throttles: other messages wait too.
        throttles: bool,
    },
}

impl Posted {
    pub(super) const fn failed(cause: Cause) -> Self {
        Self::Failed { cause, status: None, retry_after: None, throttles: false }
    }
}

/// The time for which a message is this process's. It is looked at when the connection stands, right before the first
/// byte: later another process may have sent the message, and others after it.
#[derive(Clone)]
pub(super) struct MessageClaim {
    clock: Arc<dyn Clock>,
    until: u64,
}

impl MessageClaim {
    /// From now on, before the claim is asked for.
    pub(super) fn begin(clock: &Arc<dyn Clock>, length: Millis) -> Self {
        let until = clock.ticks().saturating_add(length.saturating_mul(TICKS));
        Self { clock: clock.clone(), until }
    }

    fn holds(&self) -> Result<(), NotSent> {
        if self.clock.ticks() < self.until { Ok(()) } else { Err(NotSent) }
    }
}

/// The way to the settings' address.
#[derive(Debug)]
pub(super) struct Sender {
    url: Url,
    http: reqwest::Client,
    signer: Signer,
}

impl Sender {
    pub(super) fn new(alerts: &Alerts) -> Result<Self, String> {
        let url = outbound_http::address(&alerts.webhook_url).map_err(str::to_owned)?;
        let http = outbound_http::client(&url, TIMEOUT)?;
        let signer = Signer::new(alerts.webhook_secret.reveal()).map_err(str::to_owned)?;
        Ok(Self { url, http, signer })
    }

    /// Posts it. Taken is what a status of 200 to 299 says, and nothing else.
    pub(super) async fn post(
        &self,
        message: &Message,
        now: Millis,
        claim: MessageClaim,
    ) -> Result<(), Cause> {
        let second = now / 1_000;
        let signature = self.signer.signature(&message.id, second, &message.body)?;
        let (http, url) = (&self.http, &self.url);
        let request = SignedRequest { http, url, message, second, signature };
        let (status, _) = request.send(claim).await?;
        if status.is_success() {
            return Ok(());
        }
        Err(Cause::because("STATUS", status.as_u16().to_string()))
    }
}

/// The way to the endpoints of operators.
#[derive(Debug)]
pub(super) struct EndpointSender {
    http: reqwest::Client,
    /// For `http://` in private networks, where the settings allow it: it connects to no public address.
    plain: Option<reqwest::Client>,
    allow_private: bool,
}

impl EndpointSender {
    pub(super) fn new(settings: &config::Webhooks) -> Result<Self, String> {
        let timeout = Duration::from_secs(settings.timeout_seconds);
        let allow_private = settings.allow_private;
        let guard = |builder: reqwest::ClientBuilder| match allow_private {
            true => builder,
            false => builder.dns_resolver(Arc::new(AddressResolver::Public)),
        };
        // endpoints may all lie on loopback or be mailboxes: this is no reason not to serve
        let tls = client::tls::machine().or_else(|fault| {
            tracing::warn!(%fault, "no endpoint with https:// can be reached");
            client::tls::no_authority()
        });
        let tls = tls.map_err(|fault| fault.to_string())?;
        let http = guard(outbound_http::builder(tls, timeout)).build().map_err(|f| whole(&f))?;
        let plain = settings.allow_private_http.then(|| {
            let tls = client::tls::no_authority().map_err(|fault| fault.to_string())?;
            let builder = outbound_http::builder(tls, timeout);
            builder.dns_resolver(Arc::new(AddressResolver::Private)).build().map_err(|f| whole(&f))
        });
        Ok(Self { http, plain: plain.transpose()?, allow_private })
    }

    /// Posts it, signed with each of the secrets.
    #[expect(clippy::too_many_arguments, reason = "what is posted, where to, and until when")]
    pub(super) async fn post(
        &self,
        target: &str,
        secrets: impl Iterator<Item = &WebhookSecret>,
        message: &Message,
        now: Millis,
        claim: MessageClaim,
    ) -> Posted {
        let Ok(url) = endpoint_address(target, self.plain.is_some()) else {
            return Posted::failed(Cause::of("ADDRESS"));
        };
        let plain = self.plain.as_ref().filter(|_| url.scheme() == "http");
        let http = plain.unwrap_or(&self.http);
        if !self.allow_private && is_private_literal(&url) {
            return Posted::failed(Cause::because("PRIVATE_ADDRESS", PRIVATE));
        }
        let second = now / 1_000;
        let signature = match signatures(secrets, second, message) {
            Ok(signature) => signature,
            Err(cause) => return Posted::failed(cause),
        };
        let request = SignedRequest { http, url: &url, message, second, signature };
        match request.send(claim).await {
            Err(cause) => Posted::failed(cause),
            Ok((status, _)) if status.is_success() => Posted::Taken(status.as_u16()),
            Ok((StatusCode::GONE, _)) => Posted::Gone,
            Ok((status, headers)) => Posted::Failed {
                cause: Cause::because("STATUS", status.as_u16().to_string()),
                status: Some(status.as_u16()),
                retry_after: retry_after(&headers, now),
                throttles: matches!(
                    status,
                    StatusCode::TOO_MANY_REQUESTS
                        | StatusCode::BAD_GATEWAY
                        | StatusCode::GATEWAY_TIMEOUT
                ) || headers.contains_key(RETRY_AFTER),
            },
        }
    }
}

/// The signature of each secret, as Standard Webhooks lists them.
fn signatures<'s>(
    secrets: impl Iterator<Item = &'s WebhookSecret>,
    second: u64,
    message: &Message,
) -> Result<String, Cause> {
    let unfit = |_| Cause::of("NOT_SIGNED");
    let sign = |secret: &WebhookSecret| {
        let signer = Signer::new(&secret.0).map_err(unfit)?;
        signer.signature(&message.id, second, &message.body)
    };
    Ok(secrets.map(sign).collect::<Result<Vec<_>, Cause>>()?.join(" "))
}

/// The wait that a receiver asks for: seconds, or a date. Another text asks for nothing.
fn retry_after(headers: &HeaderMap, now: Millis) -> Option<Millis> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => seconds.saturating_mul(1_000),
        Err(_) => {
            let date = httpdate::parse_http_date(text).ok()?;
            let since = date.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?;
            u64::try_from(since.as_millis()).ok()?.saturating_sub(now)
        }
    };
    Some(if wait < LONGEST_WAIT { wait } else { LONGEST_WAIT })
}

/// One signed request to a receiver.
struct SignedRequest<'r> {
    http: &'r reqwest::Client,
    url: &'r Url,
    message: &'r Message,
    second: u64,
    signature: String,
}

impl SignedRequest<'_> {
    /// The head of the answer. Its body says nothing that counts: it is not read.
    async fn send(self, claim: MessageClaim) -> Result<(StatusCode, HeaderMap), Cause> {
        let Self { http, url, message: Message { id, body }, second, signature } = self;
        let text = body.clone();
        // taken up when the connection stands
        let checked = async move { claim.holds().map(|()| text) };
        let request = http
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", second)
            .header("webhook-signature", signature)
            .header(CONTENT_LENGTH, body.len())
            .body(Body::wrap_stream(stream::once(checked)));
        let answer = request.send().await.map_err(lost)?;
        Ok((answer.status(), answer.headers().clone()))
    }
}

/// Nothing came back: it may have been taken all the same, and is posted again.
fn lost(fault: reqwest::Error) -> Cause {
    if NotSent::is_behind(&fault) {
        return Cause::of(NOT_SENT);
    }
    // the address may hold what only the receiver is to know
    let fault = fault.without_url();
    let text = whole(&fault);
    let class = if text.contains(PRIVATE) {
        "PRIVATE_ADDRESS"
    } else if text.contains(PUBLIC) {
        "PUBLIC_ADDRESS"
    } else if fault.is_timeout() {
        "TIMEOUT"
    } else if fault.is_connect() {
        "UNREACHABLE"
    } else {
        "CONNECTION_LOST"
    };
    Cause::because(class, text)
}

#[cfg(test)]
mod tests {
    use super::{MessageClaim, NOT_SENT, SignedRequest, TIMEOUT, outbound_http, retry_after};
    use crate::runtime::SystemClock;
    use crate::webhooks::message::Message;
    use kernel::ports::clock::Clock;
    use reqwest::Url;
    use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
    use std::io::Read;
    use std::net::TcpListener;
    use std::sync::Arc;

    /// Another process may have the message by the time at which the connection stands.
    ///
    /// Wrong build that turns it red: a body that is given as it is.
    #[tokio::test]
    async fn not_a_byte_is_sent_of_a_message_that_is_another_processs() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let receiver = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let message = Message { id: "1".to_owned(), body: "{}".to_owned() };
        let url = Url::parse(&url).unwrap();
        let http = outbound_http::client(&url, TIMEOUT).unwrap();
        let (second, signature) = (1, "v1,x".to_owned());
        let request =
            SignedRequest { http: &http, url: &url, message: &message, second, signature };
        let sent = request.send(MessageClaim::begin(&clock, 0)).await;
        assert_eq!(sent.map(|(status, _)| status).map_err(|cause| cause.class), Err(NOT_SENT));
        drop(http);
        assert_eq!(receiver.join().unwrap(), b"", "something was sent");
    }

    #[test]
    fn a_receiver_asks_for_seconds_or_a_date_and_for_no_more_than_a_day() {
        let now = 1_700_000_000_000;
        let wait = |text: &'static str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            retry_after(&headers, now)
        };
        assert_eq!(wait("7"), Some(7_000));
        assert_eq!(wait("999999999"), Some(86_400_000));
        assert_eq!(wait("Tue, 14 Nov 2023 22:13:30 GMT"), Some(10_000));
        assert_eq!(wait("Tue, 14 Nov 2023 22:13:10 GMT"), Some(0));
        assert_eq!(wait("-7"), None);
        assert_eq!(wait("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
