//! Checks the target of an endpoint that an operator adds or changes: a URL or an e-mail address.

use super::public_address::{PRIVATE, is_private_literal};
use crate::outbound_http;
use kernel::webhooks::Channel;
use lettre::message::Mailbox;

/// What an operator may have written.
#[derive(Debug, Clone, Copy)]
pub struct TargetRules {
    /// Private networks are allowed.
    pub allow_private: bool,
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
                let url = outbound_http::address(target).map_err(str::to_owned)?;
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
