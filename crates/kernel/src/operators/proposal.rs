//! A proposal to a second person. The engine that proposes writes it, the person who approves reads it, and
//! the engine that executes it reads it again.

use super::{
    ACCEPT_WITHDRAWAL, ACCOUNT_STATUS, Accepted, Approval, DEPOSIT, RELEASE_REFUND, RESOLVE,
    RESUME, STATUS, UNPAUSE, Verdict, WITHDRAWAL, in_order,
};
use crate::accounts::NumberedStatus;
use crate::flow::life::Leg;
use crate::ids::{AssetId, LedgerId, UserId, ledger_name, user_text};
use crate::money::{Amount, Asset};
use crate::ports::ledger::{AccountStatus, Direction, External};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// An answer to a transfer's open call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedVerdict {
    /// The proposer's answer to the call.
    pub answer: Verdict,
    /// The name of the state whose call it answers.
    pub state: Arc<str>,
    /// The place in the history of the event that led there: the stay in the state that is meant.
    pub entered: u32,
    /// The ledger that was called.
    #[serde(with = "ledger_name")]
    pub ledger: LedgerId,
    /// The leg of the call.
    pub leg: Leg,
    /// The proposer's evidence, for the person who approves.
    pub evidence: Value,
}

/// The end of a transfer of which nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedCancel {
    /// Always `rejected`: it has no effect and never will.
    pub answer: Verdict,
    /// The name of the state in which it waits.
    pub state: Arc<str>,
    /// The place in the history of the event that led there: the stay in the state that is meant.
    pub entered: u32,
    /// What its proposer says, for the one who approves.
    pub evidence: Value,
}

/// The resume from a HALT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedResume {
    /// The number of the last halt that stood when it was proposed.
    pub halt: u64,
    /// The breaks of conservation that are accepted.
    #[serde(serialize_with = "in_order")]
    pub accept: Vec<Accepted>,
}

/// A movement by hand: what the one who approves reads, and what is booked then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedMovement {
    /// Whether it is a deposit, which says nothing here, or a withdrawal.
    #[serde(default, skip_serializing_if = "Direction::is_in")]
    pub direction: Direction,
    /// The user who has the account.
    #[serde(with = "user_text")]
    pub user_id: UserId,
    /// The number of the account; none: the user's account at Funding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_number: Option<Arc<str>>,
    /// The symbol of the asset, as the one who approves reads it.
    pub asset: Option<String>,
    /// How much, in the asset's unit, as the one who approves reads it.
    pub amount: Option<String>,
    /// The outside world's own id of it.
    #[serde(rename = "ref")]
    pub reference: Arc<str>,
    /// The number of the asset that is booked.
    pub asset_id: AssetId,
    /// How much is booked, in base units.
    pub units: Amount,
}

impl ProposedMovement {
    /// The proposal of this movement, in the words that these assets have.
    pub fn of(movement: &External, assets: &[Asset]) -> Self {
        let asset = assets.iter().find(|asset| asset.id == movement.asset);
        Self {
            direction: movement.direction,
            user_id: movement.user,
            account_number: movement.number.clone(),
            asset: asset.map(|asset| asset.symbol.clone()),
            amount: asset.map(|asset| movement.amount.decimal(asset.precision)),
            reference: movement.reference.clone(),
            asset_id: movement.asset,
            units: movement.amount,
        }
    }

    /// What is booked, in its proposer's name; `None` where these assets give it other words than the
    /// ones that were read by the person who approved.
    pub fn movement(&self, approval: &Approval, assets: &[Asset]) -> Option<External> {
        let movement = External {
            direction: self.direction,
            reference: self.reference.clone(),
            user: self.user_id,
            number: self.account_number.clone(),
            asset: self.asset_id,
            amount: self.units,
            reason: approval.reason.clone(),
            caller: approval.caller.clone(),
        };
        (self.asset.is_some() && Self::of(&movement, assets) == *self).then_some(movement)
    }
}

/// The end of a pause that the engine itself set on a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedLift {
    /// The number of the pause.
    pub pause: u64,
    /// The chain that stands.
    pub chain: Arc<str>,
    /// Why it stands, as the one who approves reads it.
    pub stop: Arc<str>,
    /// How often the engine had a reason to stop the chain when that was proposed: a later one is another
    /// proposal's.
    pub stops: u32,
}

/// The end of a pause of an account, by the person who paused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedUnpause {
    /// The number of the pause.
    pub pause: u64,
    /// The user and the ledger, as the one who approves reads them.
    pub account: Arc<str>,
    /// The reason of the pause, as the one who approves reads it.
    pub stop: Arc<str>,
}

/// A status that frees an account which the proposer barred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedStatus {
    /// The user who has the account.
    #[serde(with = "user_text")]
    pub user_id: UserId,
    /// The ledger that has the account.
    #[serde(with = "ledger_name")]
    pub ledger: LedgerId,
    /// The status from now on.
    pub status: AccountStatus,
    /// The number of the action that set the present status: a later one is another proposal's.
    pub set: u64,
    /// The reason of that action, as the one who approves reads it.
    pub stop: Arc<str>,
}

/// The same of an account at the accounts ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedAccountStatus {
    /// The number of the account.
    pub account_number: Arc<str>,
    /// The status from now on.
    pub status: NumberedStatus,
    /// The number of the action that set the present status: a later one is another proposal's.
    pub set: u64,
    /// The reason of that action, as the one who approves reads it.
    pub stop: Arc<str>,
}

/// Money that left a vault without an attempt, and is taken from the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedAcceptance {
    /// The name of its row.
    pub withdrawal: Arc<str>,
    /// The version of the row: an acceptance raises it.
    pub version: u32,
    /// The symbol of the asset, as the one who approves reads it.
    pub asset: String,
    /// How much left, in the asset's unit, as the one who approves reads it.
    pub amount: String,
    /// What the transaction did, as the one who approves reads it.
    pub facts: Arc<str>,
}

/// One more refund of a transfer whose money is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedRelease {
    /// The name of the state in which it is held.
    pub state: Arc<str>,
    /// The place in the history of the event that led there: the stay in the state that is meant.
    pub entered: u32,
    /// How often the refund was refused until then.
    pub refusals: u64,
}

/// What a proposal asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Proposed {
    /// An answer to a transfer's open call.
    Verdict(ProposedVerdict),
    /// The end of a transfer that waits for no answer.
    Cancel(ProposedCancel),
    /// The resume from a HALT.
    Resume(ProposedResume),
    /// A movement above what one person may book.
    Movement(ProposedMovement),
    /// The end of a stop of a chain.
    Lift(ProposedLift),
    /// The end of a pause of an account.
    Unpause(ProposedUnpause),
    /// A user's account at a ledger that is freed.
    Status(ProposedStatus),
    /// An account at the accounts ledger that is freed.
    AccountStatus(ProposedAccountStatus),
    /// A withdrawal from a vault that is accepted.
    Acceptance(ProposedAcceptance),
    /// One more refund of a transfer.
    Release(ProposedRelease),
}

impl Proposed {
    /// The text that the journal keeps.
    pub fn stored(&self) -> Arc<str> {
        // texts, numbers and what was JSON before: it can be written
        serde_json::to_value(self).unwrap_or_default().to_string().into()
    }

    /// What this stored proposal asks for; `None` where it is not one of this release.
    pub fn read(approval: &Approval) -> Option<Self> {
        let text = &approval.value;
        match &*approval.kind {
            RESOLVE => {
                let verdict = serde_json::from_str(text).ok().map(Self::Verdict);
                verdict.or_else(|| serde_json::from_str(text).ok().map(Self::Cancel))
            }
            RESUME => serde_json::from_str(text).ok().map(Self::Resume),
            DEPOSIT | WITHDRAWAL => serde_json::from_str(text).ok().map(Self::Movement),
            UNPAUSE => {
                let lift = serde_json::from_str(text).ok().map(Self::Lift);
                lift.or_else(|| serde_json::from_str(text).ok().map(Self::Unpause))
            }
            STATUS => serde_json::from_str(text).ok().map(Self::Status),
            ACCOUNT_STATUS => serde_json::from_str(text).ok().map(Self::AccountStatus),
            ACCEPT_WITHDRAWAL => serde_json::from_str(text).ok().map(Self::Acceptance),
            RELEASE_REFUND => serde_json::from_str(text).ok().map(Self::Release),
            _ => None,
        }
    }
}
