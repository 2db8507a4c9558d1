//! Checks the target of an endpoint that an operator adds or changes: a URL or an e-mail address.

use super::public_address::{PRIVATE, PUBLIC, is_private_literal, is_public_literal};
use crate::outbound_http;
use kernel::webhooks::Channel;
use lettre::message::Mailbox;
use reqwest::Url;

/// What an operator may have written.
#[derive(Debug, Clone, Copy)]
pub struct TargetRules {
    /// Private networks are allowed.
    pub allow_private: bool,
    /// Addresses in private networks may begin with `http://`.
    pub allow_private_http: bool,
    /// E-mail is sent through `mail.host`.
    pub mails: bool,
}

impl TargetRules {
    /// Whether an endpoint may be there. Names are resolved when something is sent, every time.
    ///
    /// # Errors
    /// A sentence that says what it must be.
    pub fn check(self, channel: Channel, target: &str) -> Result<(), String> {
        match channel {
            Channel::Http => {
                let url = endpoint_address(target, self.allow_private_http)?;
                if !self.allow_private && is_private_literal(&url) {
                    return Err(PRIVATE.to_owned());
                }
                Ok(())
            }
            Channel::Email if !self.mails => {
                Err("no e-mail is sent: mail.host is not set".to_owned())
            }
            Channel::Email => match target.parse::<Mailbox>() {
                Ok(_) => Ok(()),
                Err(_) => Err("the address of a mailbox".to_owned()),
            },
        }
    }
}

/// The address of an endpoint. Without TLS a public one is refused; names are looked at when something is sent.
///
/// # Errors
/// A sentence that says what it must be.
pub(super) fn endpoint_address(
    target: &str,
    allow_private_http: bool,
) -> Result<Url, &'static str> {
    if !allow_private_http {
        return outbound_http::address(target);
    }
    let url = outbound_http::private_address(target)?;
    if url.scheme() == "http" && is_public_literal(&url) { Err(PUBLIC) } else { Ok(url) }
}

#[cfg(test)]
mod tests {
    use super::endpoint_address;

    /// Turns red where words may cross the public internet in the clear, and where the switch opens nothing.
    #[test]
    fn http_leads_into_private_networks_alone() {
        for (target, without, with) in [
            ("https://hooks.example/x", true, true),
            ("http://127.0.0.1:9/x", true, true),
            ("http://10.0.0.5:8080/x", false, true),
            ("http://hooks.internal:8080/x", false, true),
            ("http://1.1.1.1/x", false, false),
            ("http://[2606:4700::1111]/x", false, false),
            ("http://user:pass@10.0.0.5/x", false, false),
            ("ftp://10.0.0.5/x", false, false),
        ] {
            assert_eq!(endpoint_address(target, false).is_ok(), without, "{target}");
            assert_eq!(endpoint_address(target, true).is_ok(), with, "{target}");
        }
    }
}
