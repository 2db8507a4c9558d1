//! Executes every action of an operator, through one entry: [`Operators::execute`].
//!
//! Each action is a row of the audit in the same unit as its effect, once for each (caller, key), and an
//! `OPERATOR` event in the history of the transfer that it is about. The table of actions is
//! [`kernel::operators::AdminAction`].

pub(crate) mod accepted_loss;
mod account_status;
mod action_context;
mod approval;
pub mod asset;
mod cancel;
mod chain_money;
mod execute;
mod lane;
pub mod local_halt;
mod messages;
mod movement;
mod numbered_account;
mod pause;
mod status_intents;
mod superseded;
mod transfer;
pub(crate) mod verdict;
mod webhook;

pub(crate) use action_context::{ActionContext, Stop, Turns};

pub use status_intents::WaitingStatus;

pub use kernel::operators::{
    ActionResult, AdminAction, AssetChange, NewAsset, NewNumberedAccount, NewWebhook,
    OutstandingCall, Redrive, Reemission, StoredAnswer, Verdict, WebhookAction, WebhookChange,
};

/// The name of the event that an operator's action adds to a transfer's history. Its detail is JSON with
/// the fields `action`, `reason` and `value`.
pub const HISTORY_EVENT: &str = "OPERATOR";

use crate::chains::Chains;
use crate::drive::Pipeline;
use crate::drive::status_sync::StatusSync;
use crate::messaging::Messaging;
use crate::reconciliation::Reconciler;
use crate::state::cases::Cases;
use crate::state::ledgers::earlier_sends::EarlierSendsLog;
use crate::state::ledgers::halt_notice::HaltNotices;
use crate::state::ledgers::identity::Ledgers;
use crate::state::shared::SharedState;
use crate::watch::lease::LeaseKeeper;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::Millis;
use kernel::operators::ApprovalStatus;
use kernel::reconcile::Break;
use std::sync::Arc;

/// Executes the actions of operators, each with its row of the audit.
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
    pub(crate) notices: Arc<HaltNotices>,
    /// The keys of operators whose actions are being executed.
    pub(crate) turns: Turns,
}

/// The person who asks for an action, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub caller: Arc<str>,
    /// The person's idempotency key. The same action under it is done once; another one is refused.
    pub key: Arc<str>,
    /// The reason, for the audit.
    pub reason: Arc<str>,
}

/// An action that was done, now or before under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformedAction {
    /// The result of the action.
    pub outcome: ActionResult,
    /// When it was done, by the journal's time.
    pub at: Millis,
    /// It had been done before; nothing was done now.
    pub replayed: bool,
}

/// Why an action was not done. Except for [`Objection::Unknown`] nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// The key was used for another action: these of `kind`, `subject`, `value` differ.
    Mismatch(Vec<&'static str>),
    /// There is no such `transfer`, `approval`, `case`, `pause`, `ledger`, `chain`, `account`,
    /// `asset`, `webhook`.
    NotFound(&'static str),
    /// The action can never be done like that, for this reason.
    Invalid(String),
    /// The action cannot be done now, for this reason.
    NotPossible(String),
    /// The person who proposed cannot approve, under no issuer and in no other spelling.
    SamePerson,
    /// The proposal was decided before.
    Decided(ApprovalStatus),
    /// These breaks of conservation were not accepted with the same key and amount.
    Breaks(Vec<Break>),
    /// The action was refused with a code of the API: `HALTED`, `OVERLOADED`.
    Code(Code),
    /// The outcome is not known; repeat it with the same key.
    Unknown(Cause),
}
