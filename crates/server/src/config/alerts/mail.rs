//! `[mail]`: the SMTP server that sends events to e-mail endpoints.

use crate::config::secret::Secret;
use crate::config::section::{SettingRules, section};
use lettre::message::Mailbox;

section! {
    /// The server that takes e-mail for endpoints of the kind `email`.
    Mail {
        /// Its name; empty sends none, and no endpoint of that kind is added.
        host: String = String::new(),
        /// Its port: 587 with `starttls`, 465 with `tls`.
        port: u16 = 587,
        /// `starttls`, `tls`, or `none` for a server on this machine.
        encryption: String = "starttls".to_owned(),
        /// Who logs in; empty logs in as no one.
        user: String = String::new(),
        /// The password with which that user logs in.
        password: Secret = Secret::default(),
        /// The sender of each e-mail.
        from: String = String::new(),
    }
}

impl Mail {
    /// True where e-mail is sent.
    pub const fn is_set(&self) -> bool {
        !self.host.is_empty()
    }

    pub(in crate::config) fn rules(&self, rules: &mut SettingRules) {
        if !self.is_set() {
            let unset = self.user.is_empty() && self.from.is_empty();
            rules.need("mail.host", unset, "set where mail.user or mail.from is");
            return;
        }
        let near = matches!(&*self.host, "localhost" | "127.0.0.1" | "::1");
        let encrypted = matches!(&*self.encryption, "starttls" | "tls");
        let fits = encrypted || (self.encryption == "none" && near);
        let rule = "`starttls`, `tls`, or `none` where mail.host is a loopback address";
        rules.need("mail.encryption", fits, rule);
        let sender = self.from.parse::<Mailbox>().is_ok();
        rules.need("mail.from", sender, "an address such as `Portage <portage@example.com>`");
        let login = self.user.is_empty() == self.password.reveal().is_empty();
        rules.need("mail.password", login, "set where mail.user is, and only there");
    }
}
