//! The way to the receiver: one signed request, and what counts as taken.

use super::message::Message;
use super::sign::Signer;
use crate::config::Alerts;
use crate::outbound_http;
use client::whole;
use kernel::answer::Cause;
use kernel::ids::Millis;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use std::time::Duration;

/// How long one try may take, from the first packet to the answer's head.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The way to one receiver.
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
    pub(super) async fn post(&self, message: &Message, now: Millis) -> Result<(), Cause> {
        let Message { id, body } = message;
        let second = now / 1_000;
        let signature = self.signer.signature(id, second, body)?;
        let request = self
            .http
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", second)
            .header("webhook-signature", signature)
            .body(body.clone());
        // the answer's body says nothing that counts: it is not read
        let status = request.send().await.map_err(lost)?.status();
        if status.is_success() {
            return Ok(());
        }
        Err(Cause::because("STATUS", status.as_u16().to_string()))
    }
}

/// Nothing came back: it may have been taken all the same, and is posted again.
fn lost(fault: reqwest::Error) -> Cause {
    let class = if fault.is_timeout() {
        "TIMEOUT"
    } else if fault.is_connect() {
        "UNREACHABLE"
    } else {
        "CONNECTION_LOST"
    };
    // the address may hold what only the receiver is to know
    Cause::because(class, whole(&fault.without_url()))
}
