//! Validates a relay create and its key, and turns them into the terms of a transfer.

use super::intake::OfferedRelay;
use crate::auth::Caller;
use crate::http::middleware::body;
use crate::http::middleware::error::{Refusal, sentence};
use crate::http::transfers::create::RequestedTransfer;
use crate::http::transfers::validate::{AccountNames, taken_in};
use crate::http::{App, name_errors};
use api::relay::CreateRelayTransfer;
use axum::http::HeaderMap;
use flows::relay::is_account_id;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{ChainId, FlowId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::record::{Account, Binding, Party, Record, System, Terms};
use std::sync::Arc;

/// The scope of every key where `relay.shared_keys` is on, and of each one that an older release bound. No
/// principal is called so.
pub(in crate::http) const SHARED_SCOPE: &str = "deployment";
/// The most characters of a key.
pub(super) const KEY: usize = 128;

/// The key of a create.
///
/// # Errors
/// 400: none, one that does not fit, or two that differ.
pub(super) fn key(headers: &HeaderMap) -> Result<Arc<str>, Refusal> {
    let needed = || {
        Refusal::because(
            Code::IdempotencyKeyRequired,
            "A key is required: the header `X-Idempotency-Key`",
        )
    };
    body::header_key(headers, KEY)?.map(Into::into).ok_or_else(needed)
}

/// The owner of what a caller makes, the same under every issuer that its subject had.
fn owner(app: &App, caller: &Caller) -> TransferOwner {
    let first = app.engine.intake.key_scopes(&caller.principal).into_iter().next();
    TransferOwner::Principal(first.unwrap_or_else(|| Arc::clone(&caller.principal)))
}

/// The scopes of a caller's keys: that of new ones, and the one in which the other setting of
/// `relay.shared_keys`, or an older release, bound what the caller made.
fn scopes(relay: OfferedRelay<'_>, caller: &Caller) -> [Arc<str>; 2] {
    let (own, shared) = (Arc::clone(&caller.principal), Arc::from(SHARED_SCOPE));
    if relay.intake.shared_keys { [shared, own] } else { [own, shared] }
}

/// The caller's transfer of a key.
///
/// # Errors
/// The cause for which the journal does not answer.
pub(super) async fn bound(
    app: &App,
    relay: OfferedRelay<'_>,
    caller: &Caller,
    key: &str,
) -> Result<Option<Record>, Cause> {
    let owner = owner(app, caller);
    for scope in scopes(relay, caller) {
        let found = app.engine.intake.find_bound(relay.flow, &scope, &key.into()).await?;
        if let Some(record) = found.filter(|record| record.terms.owner == owner) {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// A well-formed create of a relay transfer.
#[derive(Debug)]
pub(super) struct RelayTransferRequest<'a> {
    /// The relay that the request goes to.
    pub relay: OfferedRelay<'a>,
    /// The principal who asks: `issuer|sub`.
    pub principal: Arc<str>,
    /// Whose transfer it is.
    pub owner: TransferOwner,
    /// The scope of its key.
    scope: Arc<str>,
    /// The other scope in which the caller may have bound the key before.
    former_scope: Arc<str>,
    /// The client's key of the transfer.
    key: Arc<str>,
    /// The request's body, in its form.
    body: CreateRelayTransfer,
}

impl<'a> RelayTransferRequest<'a> {
    /// The request of this caller under a well-formed key.
    pub(super) fn new(
        app: &App,
        relay: OfferedRelay<'a>,
        caller: &Caller,
        key: Arc<str>,
        body: CreateRelayTransfer,
    ) -> Self {
        let (principal, owner) = (Arc::clone(&caller.principal), owner(app, caller));
        let [scope, former_scope] = scopes(relay, caller);
        Self { relay, principal, owner, scope, former_scope, key, body }
    }

    /// Whom it pays: a name that the chain could have, and not one whose tokens would be lost.
    fn receiver(&self) -> Result<Arc<str>, Code> {
        let (name, intake) = (self.body.receiver_id.as_str(), self.relay.intake);
        if !is_account_id(name) || *name == *intake.contract {
            return Err(Code::InvalidReceiver);
        }
        if *name == *intake.account {
            return Err(Code::SameAccount);
        }
        if !intake.allows(name) {
            return Err(Code::TransferNotAllowed);
        }
        Ok(name.into())
    }
}

/// Base units in digits alone.
///
/// # Errors
/// `INVALID_AMOUNT`; `OVERFLOW` above what the token's contract counts.
fn base_units(text: &str) -> Result<Amount, Code> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Code::InvalidAmount);
    }
    match text.parse().map(Amount) {
        Ok(Amount::ZERO) => Err(Code::InvalidAmount),
        Ok(amount) => Ok(amount),
        Err(_) => Err(Code::Overflow),
    }
}

impl RequestedTransfer for RelayTransferRequest<'_> {
    fn flow(&self, _: &App) -> FlowId {
        self.relay.flow
    }

    fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    fn owner(&self) -> TransferOwner {
        self.owner.clone()
    }

    fn scope(&self) -> &Arc<str> {
        &self.scope
    }

    fn former_scope(&self) -> Option<&Arc<str>> {
        Some(&self.former_scope)
    }

    fn key_name(&self) -> &'static str {
        "X-Idempotency-Key"
    }

    fn key(&self) -> Option<&Arc<str>> {
        Some(&self.key)
    }

    fn may_see(&self, bound: &Record) -> bool {
        bound.terms.owner == self.owner
    }

    fn binds_fields_alone(&self) -> bool {
        true
    }

    fn terms(&self, app: &App) -> Result<Terms, Code> {
        taken_in(app, self.relay.flow)?;
        let unfit = Code::TokenContractInvalid;
        if app.engine.chains.chain_concern(ChainId::NEAR, unfit.name()).is_some() {
            return Err(unfit);
        }
        let receiver = self.receiver()?;
        let asset = app.engine.asset(&self.relay.intake.asset).ok_or(Code::InvalidAsset)?;
        asset.usable()?;
        let amount = base_units(&self.body.amount)?;
        asset.limits(amount)?;
        let at = |account: Arc<str>| Party {
            system: System::Chain(ChainId::NEAR),
            account: Account::Named(account),
            asset: asset.id,
            amount,
        };
        let (source, target) = (at(Arc::clone(&self.relay.intake.account)), at(receiver));
        let principal = Arc::clone(&self.principal);
        let mut terms = Terms::between(principal, self.owner.clone(), source, target);
        terms.binding = Some(Binding {
            scope: Arc::clone(&self.scope),
            key: Arc::clone(&self.key),
            fingerprint: terms.fingerprint(),
        });
        Ok(terms)
    }

    fn mismatched(&self, _: &App, bound: &Record) -> Vec<String> {
        let target = &bound.terms.target;
        let receiver = target.account == Account::Named(self.body.receiver_id.as_str().into());
        let amount = base_units(&self.body.amount) == Ok(target.amount);
        let same = [("receiver_id", receiver), ("amount", amount)];
        let differs = same.into_iter().filter(|(_, same)| !same);
        differs.map(|(name, _)| name.to_owned()).collect()
    }

    fn refusal(&self, app: &App, code: Code) -> Refusal {
        if code == Code::InvalidAmount {
            return Refusal::because(
                code,
                "An amount is a positive whole number of base units, in digits",
            );
        }
        if code == Code::TokenContractInvalid {
            let facts = app.engine.chains.chain_concern(ChainId::NEAR, code.name());
            let facts = facts.as_deref().unwrap_or("it was a moment ago");
            return Refusal::because(code, format!("{}: {facts}", sentence(code)));
        }
        if code == Code::SameAccount {
            return Refusal::because(
                code,
                "`receiver_id` is the relay's own account, which pays: a token's contract pays no account from itself",
            );
        }
        if code == Code::TransferNotAllowed && !self.relay.intake.allows(&self.body.receiver_id) {
            let sentence =
                "`receiver_id` is not among the accounts that may be paid (relay.receivers)";
            return Refusal::because(code, sentence);
        }
        if code == Code::AmountTooLarge {
            return Refusal::because(code, "The amount is above the most of one transfer");
        }
        name_errors::refusal(app, AccountNames::Plain, code)
    }
}
