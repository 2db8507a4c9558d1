//! Sends events as text to e-mail endpoints, through the SMTP server of the settings.

use super::message::Message;
use super::sender::Posted;
use crate::config;
use client::whole;
use kernel::answer::Cause;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use serde_json::Value;
use std::time::Duration;

/// The timeout of the SMTP server for one e-mail.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Sends e-mail through one SMTP server.
#[derive(Debug)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// By the settings.
    ///
    /// # Errors
    /// The sender is none, or TLS cannot be used.
    pub fn new(mail: &config::Mail) -> Result<Self, String> {
        let from = mail.from.parse().map_err(|_| "mail.from: no address".to_owned())?;
        let builder = match &*mail.encryption {
            "tls" => AsyncSmtpTransport::<Tokio1Executor>::relay(&mail.host),
            "none" => Ok(AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&mail.host)),
            _ => AsyncSmtpTransport::<Tokio1Executor>::starttls_relay(&mail.host),
        };
        let builder = builder.map_err(|fault| whole(&fault))?;
        let mut builder = builder.port(mail.port).timeout(Some(TIMEOUT));
        if !mail.user.is_empty() {
            let password = mail.password.reveal().to_owned();
            builder = builder.credentials(Credentials::new(mail.user.clone(), password));
        }
        Ok(Self { transport: builder.build(), from })
    }

    /// Sends the event. Taken is what the server accepts for the mailbox.
    pub(super) async fn send(&self, to: &str, message: &Message) -> Posted {
        let Ok(to) = to.parse::<Mailbox>() else { return Posted::failed(Cause::of("ADDRESS")) };
        let email = lettre::Message::builder()
            .from(self.from.clone())
            .to(to)
            .message_id(Some(format!("<{}@{}>", message.id, self.from.email.domain())))
            .subject(subject(&message.body))
            .header(ContentType::TEXT_PLAIN)
            .body(text(message));
        let email = match email {
            Ok(email) => email,
            Err(fault) => return Posted::failed(Cause::because("MAIL", whole(&fault))),
        };
        match self.transport.send(email).await {
            Ok(_) => Posted::Taken(250),
            Err(fault) => {
                let status = fault.status().map(u16::from);
                let class = if fault.is_timeout() { "TIMEOUT" } else { "MAIL" };
                let cause = Cause::because(class, whole(&fault));
                Posted::Failed { cause, status, retry_after: None, throttles: false }
            }
        }
    }
}

/// What the event is, and what of.
fn subject(body: &str) -> String {
    let event: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let data = event.get("data");
    let named = |name: &str| data.and_then(|data| data.get(name)).and_then(text);
    let what = match (named("kind"), named("subject")) {
        (Some(kind), Some(subject)) => format!("{kind} {subject}"),
        _ => named("req_id").or_else(|| named("endpoint")).unwrap_or_default(),
    };
    let kind = event.get("type").and_then(text).unwrap_or_default();
    // a header has one line
    format!("[portage] {kind} {what}").chars().filter(|one| !one.is_control()).collect()
}

/// The event with its fields a line each.
fn text(message: &Message) -> String {
    let event: Value = serde_json::from_str(&message.body).unwrap_or_default();
    let pretty = serde_json::to_string_pretty(&event).unwrap_or_default();
    format!("{pretty}\n\nEvent {}. It may come twice; this number stays.\n", message.id)
}

#[cfg(test)]
mod tests {
    use super::subject;

    /// Turns red with a build that takes the texts as they are: a name with a line's end writes headers.
    #[test]
    fn a_subject_is_one_line() {
        let body = r#"{"type":"case.opened","data":{"kind":"STUCK\r\nBcc: x","subject":"user/1"}}"#;
        assert_eq!(subject(body), "[portage] case.opened STUCKBcc: x user/1");
        let body = r#"{"type":"transfer.completed","data":{"req_id":"01J"}}"#;
        assert_eq!(subject(body), "[portage] transfer.completed 01J");
        assert_eq!(subject("{"), "[portage]  ");
    }
}
