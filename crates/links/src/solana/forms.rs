//! Reads stored forms: derives from the bytes of each what it does, and refuses one that does not do
//! what its attempt says.

use super::SolanaLink;
use super::tx::{Content, ReadForm, address_of, is_transfer_id, nonce_of, read_form};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Form, Purpose};
use kernel::ports::chain::FOREIGN_FORM;
use kernel::record::Record;

fn foreign(what: &str) -> Cause {
    Cause::because(FOREIGN_FORM, what)
}

/// The signed bytes of a form: its own, or those of another program's transaction, as providers showed them.
///
/// # Errors
/// `FOREIGN_FORM`: it has none.
pub(super) fn bytes_of(form: &Form) -> Result<Vec<u8>, Cause> {
    if !form.bytes.is_empty() {
        return Ok(form.bytes.to_vec());
    }
    let text = form.reference.as_deref().filter(|_| !form.repeatable);
    let bytes = text.and_then(|text| STANDARD.decode(text).ok());
    bytes.ok_or_else(|| foreign("a form has neither bytes nor a transaction"))
}

impl SolanaLink {
    /// Reads from the bytes of each form of an attempt what it does.
    ///
    /// # Errors
    /// `FOREIGN_FORM`: one of them is under another lane or nonce, or pays something else than the member.
    pub(super) fn forms(&self, attempt: &Attempt) -> Result<Vec<ReadForm>, Cause> {
        let lane = address_of(&attempt.lane).ok_or_else(|| foreign("the lane is no address"))?;
        let lock = nonce_of(&attempt.lock).ok_or_else(|| foreign("the lock is no nonce"))?;
        let mut forms = Vec::with_capacity(attempt.forms.len());
        for form in &attempt.forms {
            let found = read_form(&self.vault, &bytes_of(form)?)?;
            if found.lane != lane || found.lock != lock {
                return Err(foreign("a form is under another lane or nonce"));
            }
            if *form.name != found.signature {
                return Err(foreign("a form has another name than its bytes"));
            }
            if !self.serves(form, &found, &attempt.members) {
                return Err(foreign("a form is not of the members of its attempt"));
            }
            forms.push(found);
        }
        Ok(forms)
    }

    /// Whether a form is for these members: one payment for one of them, or nothing at all.
    fn serves(&self, form: &Form, found: &ReadForm, members: &[Record]) -> bool {
        match (form.purpose, &found.content, members) {
            (Purpose::Void, Content::Void, _) => true,
            (Purpose::Pay, Content::Pay(payment), [member]) => {
                let named = payment.memo.split_whitespace().last().and_then(is_transfer_id);
                // a transfer that a restored journal lost has another moment in its id than the one since
                let is_of = |id: kernel::ids::Id| {
                    id == member.id || form.bytes.is_empty() && id.tag() == member.id.tag()
                };
                named.is_some_and(is_of) && self.served(&found.content, member).is_some()
            }
            _ => false,
        }
    }
}
