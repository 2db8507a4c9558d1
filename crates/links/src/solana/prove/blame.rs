//! Finds out why a payment failed: whether its receiver cannot take it, which is a refusal, or we could not make it,
//! which says nothing of the receiver.

use super::super::SolanaLink;
use super::super::concerns::{FEES_LOW, TREASURY_SHORT, VAULT_FROZEN};
use super::super::rpc::accounts;
use super::super::snapshot::{TokenView, token};
use super::super::tx::{TokenPayment, spelled};
use crate::rest::{RestCause, TokenFailure};
use crate::rpc::{ProviderReply, RpcFailure};
use crate::verdict::{coded, dead};
use kernel::answer::{Answer, Cause, Receipt};
use serde_json::{Value, json};
use std::sync::Arc;

/// The place of the transfer among the instructions of a form; where it creates an account that is done there.
const TRANSFER: u64 = 3;
/// The error of an account that has too little, of the token program and of the system's.
const INSUFFICIENT: u64 = 1;

/// The code of a payment that failed for no reason that is seen.
const PAYMENT_FAILED: &str = "PAYMENT_FAILED";
/// The code of a receiver without an account.
const MISSING: &str = "ACCOUNT_MISSING";

/// Who is to blame for a payment that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The receiver's account cannot take it, as final blocks show.
    Receiver(&'static str),
    /// The vault could not pay it.
    Vault(&'static str),
    /// The transfer failed, and now both accounts are as they should be. Its receiver can bring that about, so no other
    /// payment waits for it.
    Unexplained,
}

/// The code of an account that takes nothing; `None`: it takes money.
fn refusal(view: &TokenView) -> Option<&'static str> {
    match view {
        TokenView::Missing => Some(MISSING),
        TokenView::OtherProgram => Some("ACCOUNT_OF_OTHER_PROGRAM"),
        TokenView::Uninitialised => Some("ACCOUNT_NOT_INITIALISED"),
        TokenView::OtherMint => Some("ACCOUNT_OF_OTHER_MINT"),
        TokenView::Frozen => Some("ACCOUNT_FROZEN"),
        TokenView::Usable { .. } => None,
    }
}

/// The part of a payment that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailedPart {
    /// The creation of the receiver's account, `short` where the vault's key has too little for it.
    Creation { short: bool },
    /// The transfer, `short` where the vault has too little.
    Transfer { short: bool },
    /// None of the receiver's.
    Other,
}

fn failed_part(payment: &TokenPayment, error: &Value) -> FailedPart {
    let failed = error.get("InstructionError").and_then(Value::as_array);
    let Some([place, kind]) = failed.map(Vec::as_slice) else { return FailedPart::Other };
    let short = kind.get("Custom").and_then(Value::as_u64) == Some(INSUFFICIENT);
    let behind = place.as_u64().and_then(|place| place.checked_sub(TRANSFER));
    match (payment.creates, behind) {
        (None, Some(0)) | (Some(_), Some(1)) => FailedPart::Transfer { short },
        (Some(_), Some(0)) => FailedPart::Creation { short },
        (_, _) => FailedPart::Other,
    }
}

impl SolanaLink {
    /// Who is to blame for a payment that failed with this error in the block of a slot.
    ///
    /// # Errors
    /// The accounts are not known now.
    pub(super) async fn blame(
        &self,
        payment: &TokenPayment,
        slot: u64,
        error: &Value,
    ) -> Result<Blame, Cause> {
        let ask = accounts(&[payment.destination, self.vault.account]);
        let replies = self.rpc.each(&ask).await.into_iter().map(|one| {
            let reply = one.reply.and_then(|view| {
                if view.slot < slot {
                    let facts = format!("{} is at slot {}", one.by, view.slot);
                    return Err(RpcFailure::Silent(Cause::because(crate::rpc::BEHIND, facts)));
                }
                let mut accounts = view.accounts.iter();
                let mut next = || accounts.next().and_then(Option::as_ref);
                let (receiver, held) = (next(), next());
                let vault = token(held, &self.vault.mint);
                let usable = matches!(vault, TokenView::Usable { .. });
                Ok((refusal(&token(receiver, &self.vault.mint)), usable))
            });
            ProviderReply { by: one.by, reply }
        });
        let (refusal, usable) = self.rpc.agree(replies.collect())?.fact;
        let failed = failed_part(payment, error);
        let refusal = refusal.filter(|code| match failed {
            FailedPart::Transfer { short } => !short,
            // that it is missing is no fault of the receiver's: it was to be created
            FailedPart::Creation { .. } => *code != MISSING,
            FailedPart::Other => false,
        });
        Ok(match (refusal, failed) {
            (Some(code), _) => Blame::Receiver(code),
            (None, FailedPart::Creation { short: true }) => Blame::Vault(FEES_LOW),
            (None, _) if !usable => Blame::Vault(VAULT_FROZEN),
            (None, FailedPart::Transfer { short: true }) => Blame::Vault(TREASURY_SHORT),
            (None, FailedPart::Transfer { .. } | FailedPart::Creation { .. }) => Blame::Unexplained,
            (None, FailedPart::Other) => Blame::Vault(PAYMENT_FAILED),
        })
    }

    /// The answer of a payment that failed. Where we are to blame nothing more is signed for a while.
    pub(super) fn condemned(&self, blame: Blame, document: Arc<str>, height: u64) -> Answer {
        match blame {
            Blame::Receiver(code) => {
                let evidence = coded(code, &document);
                let landed = Receipt { seq: height, doc: evidence.doc.clone() };
                Answer::Rejected(evidence, landed)
            }
            Blame::Unexplained => dead(PAYMENT_FAILED, document),
            Blame::Vault(code) => {
                let facts = json!({ "code": code, "vault": spelled(&self.vault.account) });
                let failure = TokenFailure {
                    why: RestCause::Unexplained,
                    facts: facts.to_string().into(),
                    height,
                };
                self.rest.failed(failure, self.clock.ticks(), self.settings.rest_ms);
                if [VAULT_FROZEN, TREASURY_SHORT, FEES_LOW].contains(&code) {
                    self.concerns.note(code, &document, &*self.clock);
                }
                dead(code, document)
            }
        }
    }
}
