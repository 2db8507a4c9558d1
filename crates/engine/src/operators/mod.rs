//! Executes every action of an operator, through one entry: [`Operators::execute`].
//!
//! Each action is a row of the audit in the same unit as its effect, once for each (caller, key), and an
//! `OPERATOR` event in the history of the transfer that it is about. The table of actions is
//! [`kernel::operators::AdminAction`].

pub(crate) mod accepted_loss;
mod action_context;
mod approval;
mod asset;
mod cancel;
mod deposit;
mod execute;
mod lane;
mod messages;
mod numbered_account;
mod pause;
mod transfer;
pub(crate) mod verdict;
mod webhook;

pub(crate) use action_context::{ActionContext, Stop, Turns};

pub use kernel::operators::{
    ActionResult, AdminAction, AssetChange, NewAsset, NewNumberedAccount, NewWebhook,
    OutstandingCall, Redrive, Reemission, StoredAnswer, Verdict, WebhookAction, WebhookChange,
};

/// The event in a transfer's history of what an operator did to it. Its detail is JSON with the fields
/// `action`, `reason` and `value`.
pub const HISTORY_EVENT: &str = "OPERATOR";

use crate::alerts::cases::Cases;
use crate::attempts::Chains;
use crate::controls::status_sync::StatusSync;
use crate::ledgers::earlier_sends::EarlierSendsLog;
use crate::ledgers::identity::Ledgers;
use crate::messaging::Messaging;
use crate::pipeline::Pipeline;
use crate::reconciliation::Reconciler;
use crate::recovery::lease::LeaseKeeper;
use crate::shared::SharedState;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::Millis;
use kernel::operators::ApprovalStatus;
use kernel::reconcile::Break;
use std::sync::Arc;

/// What operators do: each action is written with its row of the audit.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Operators {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) ledgers: Arc<Ledgers>,
    pub(crate) sends: Arc<EarlierSendsLog>,
    pub(crate) messaging: Arc<Messaging>,
    pub(crate) chains: Arc<Chains>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) status: Arc<StatusSync>,
    pub(crate) reconciler: Arc<Reconciler>,
    pub(crate) lease_keeper: Arc<LeaseKeeper>,
    /// Keys of operators whose actions are under way.
    pub(crate) turns: Turns,
}

/// Who does something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub caller: Arc<str>,
    /// The person's idempotency key. The same action under it is done once; another one is refused.
    pub key: Arc<str>,
    /// Why, for the audit.
    pub reason: Arc<str>,
}

/// An action that was done, now or before under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformedAction {
    /// What it came to.
    pub outcome: ActionResult,
    /// When, by the journal's time.
    pub at: Millis,
    /// It had been done before; nothing was done now.
    pub replayed: bool,
}

/// Why an action was not done. But for [`Objection::Unknown`] nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// The key did something else: these of `kind`, `subject`, `value` differ.
    Mismatch(Vec<&'static str>),
    /// There is no such `transfer`, `approval`, `case`, `pause`, `ledger`, `chain`, `account`,
    /// `asset`, `webhook`.
    NotFound(&'static str),
    /// What was asked can never be done like that: a sentence.
    Invalid(String),
    /// What was asked cannot be done as things stand: a sentence.
    NotPossible(String),
    /// Who proposed cannot approve, under no issuer and in no other spelling.
    SamePerson,
    /// The proposal was decided before.
    Decided(ApprovalStatus),
    /// These breaks of conservation were not accepted with the same key and amount.
    Breaks(Vec<Break>),
    /// A code of the contract says it: `HALTED`, `OVERLOADED`.
    Code(Code),
    /// The outcome is not known; repeat it with the same key.
    Unknown(Cause),
}
