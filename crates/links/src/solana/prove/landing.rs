//! Decides which form of an attempt landed, from what each provider says of each form, and whether it moved what it
//! should have moved.

use super::super::SolanaLink;
use super::super::rpc::{NONE_SHOWN, SeenTransaction, TokenBalance, transaction};
use super::super::tx::{ReadForm, SignedTransaction, TokenPayment, Vault};
use crate::base58::base58;
use crate::rpc::{PROVIDERS_DISAGREE, ProviderReply, RpcFailure, bad_reply};
use kernel::answer::Cause;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of comparing what the providers say of all forms of an attempt.
#[derive(Debug)]
pub(super) enum Landing {
    /// As many as are needed show the same of this form, more than show otherwise.
    Agreed { at: usize, seen: Box<SeenTransaction> },
    /// Some say that one landed, and that is not enough.
    Open(Cause),
    /// None says that any of them landed.
    Nowhere(Cause),
}

/// What a provider shows of a form: the outcome and the balances, which say what was paid.
#[derive(Debug, Clone, PartialEq)]
struct FormShown {
    at: usize,
    seen: Box<SeenTransaction>,
}

impl SolanaLink {
    /// Whether what is shown is the transaction that was signed: the vault's signature is of no other message.
    fn is_of(&self, form: &ReadForm, seen: &SeenTransaction) -> bool {
        let found = SignedTransaction::read(&seen.bytes, &[]);
        found.is_some_and(|found| {
            found.name() == Some(form.signature) && found.is_signed_by(&self.vault.key)
        })
    }

    /// Which form landed. A provider that finds none only lags; one that shows two is believed in nothing.
    pub(super) async fn landing(&self, forms: &[ReadForm]) -> Landing {
        let mut replies: BTreeMap<Arc<str>, Result<FormShown, RpcFailure>> = BTreeMap::new();
        for (at, form) in forms.iter().enumerate() {
            let name = base58(&form.signature);
            for ProviderReply { by, reply } in self.rpc.each(&transaction(&name)).await {
                let shown = match reply {
                    Ok(Some(seen)) if self.is_of(form, &seen) => {
                        Ok(FormShown { at, seen: Box::new(seen) })
                    }
                    Ok(Some(_)) => Err(bad_reply("another transaction than was asked for")),
                    Ok(None) => Err(RpcFailure::Silent(Cause::because(NONE_SHOWN, name.as_str()))),
                    Err(failure) => Err(failure),
                };
                let both = matches!((replies.get(&by), &shown), (Some(Ok(_)), Ok(_)));
                let shown = if both { Err(bad_reply("two forms of one lock")) } else { shown };
                if both || !matches!(replies.get(&by), Some(Ok(_))) {
                    replies.insert(by, shown);
                }
            }
        }
        let found = replies.values().any(Result::is_ok);
        let replies = replies.into_iter().map(|(by, reply)| ProviderReply { by, reply });
        match self.rpc.agree(replies.collect()) {
            Ok(agreed) => {
                let FormShown { at, seen } = agreed.fact;
                Landing::Agreed { at, seen }
            }
            Err(cause) if !found => Landing::Nowhere(cause),
            Err(cause) if cause.class == PROVIDERS_DISAGREE => Landing::Open(cause),
            // the others do not show it yet
            Err(cause) => Landing::Open(Cause::because("FEW_PROVIDERS", cause.to_string())),
        }
    }
}

/// Whether a payment moved its amount from the vault's account to its receiver's, in the vault's token.
pub(super) fn is_paid(vault: &Vault, payment: &TokenPayment, seen: &SeenTransaction) -> bool {
    let Some(found) = SignedTransaction::read(&seen.bytes, &seen.loaded) else { return false };
    let place = |key| found.place(key);
    let (Some(from), Some(to)) = (place(&vault.account), place(&payment.destination)) else {
        return false;
    };
    let balance = |balances: &BTreeMap<u64, TokenBalance>, at: u64| {
        let balance = balances.get(&at).filter(|balance| balance.mint == vault.mint);
        balance.map(|balance| balance.amount)
    };
    let left = balance(&seen.before, from).zip(balance(&seen.after, from));
    // one that the payment itself created had nothing before
    let before = balance(&seen.before, to).or_else(|| payment.creates.map(|_| 0));
    let came = before.zip(balance(&seen.after, to));
    let moved = |less: u64, more: u64| more.checked_sub(less) == Some(payment.amount);
    left.is_some_and(|(before, after)| moved(after, before))
        && came.is_some_and(|(before, after)| moved(before, after))
}
