//! The result of an operator's action: one type for the engine that gives it, the audit that keeps it and
//! the server that returns it. Its JSON is the stored result, which a repeat gets again.

use super::{Accepted, Verdict, in_order};
use crate::accounts::NumberedAccount;
use crate::answer::Evidence;
use crate::flow::life::Leg;
use crate::ids::{Id, LedgerId, ledger_name};
use crate::money::Asset;
use crate::operation::Key;
use crate::record::System;
use crate::webhooks::WebhookEndpoint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a ledger holds under a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "UPPERCASE")]
pub enum StoredAnswer {
    /// The effect exists, under the number that is named.
    Done {
        /// The ledger's number of it.
        seq: u64,
    },
    /// It was refused, for ever.
    Rejected(Evidence),
    /// It was fenced: it never happened and never will.
    Fenced,
    /// Nothing. That is no evidence: the call may still be on its way.
    Nothing,
    /// It did not answer, or not clearly.
    Unknown {
        /// The cause, in words.
        why: Arc<str>,
    },
    /// No ledger was asked: by the journal nothing was sent that may have moved the money.
    NeverSent {
        /// How many attempts were made, each of which is proven dead.
        dead: usize,
    },
}

/// A call that had begun and has no answer yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutstandingCall {
    /// The ledger that was called, or the chain for which a form was being signed or sent.
    #[serde(rename = "ledger", with = "system_name")]
    pub system: System,
    /// The transfer and the leg.
    #[serde(flatten)]
    pub key: Key,
}

/// A system in JSON by its name.
mod system_name {
    use crate::record::System;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(system: &System, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(system.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<System, D::Error> {
        let name = Cow::<str>::deserialize(from)?;
        System::parse(&name).ok_or_else(|| D::Error::custom("no such system"))
    }
}

/// The result of an action. Skipped fields are true of the moment and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionResult {
    /// The next attempt is due.
    Retried,
    /// What the ledger holds for the open call. Where it is an answer its next attempt is due.
    Asked {
        /// The ledger that was asked.
        #[serde(with = "ledger_name")]
        ledger: LedgerId,
        /// The leg that was asked after.
        leg: Leg,
        /// What the ledger said.
        said: StoredAnswer,
    },
    /// The scope takes no further step.
    Paused {
        /// The pause's number, as long as it is in force.
        #[serde(skip)]
        number: Option<u64>,
    },
    /// The pause is lifted.
    Unpaused,
    /// No money moves as long as a HALT is in force.
    Halted {
        /// The number of the last halt that is in force now, which a resume names; `None`: persons resumed
        /// since, or the journal does not say.
        #[serde(skip)]
        halt: Option<u64>,
        /// Calls that had begun before, and may still have an effect: the first hundred.
        on_wire: Vec<OutstandingCall>,
        /// How many such calls there were.
        calls: usize,
        /// A HALT stands, and every one of them, and every unit begun before it, has ended since, at
        /// every live worker.
        #[serde(skip)]
        quiet: bool,
        /// The journal has the HALT, as it has every one that is read from it: it outlives the process that was asked
        /// for it.
        #[serde(skip, default = "is_stored")]
        stored: bool,
    },
    /// Another person has to approve.
    Proposed {
        /// What is approved or rejected.
        approval: Id,
    },
    /// The proof for a resume is being made; nothing took effect yet. The same action under the same key
    /// asks again.
    Proving {
        /// The number of the transfer that it has come to.
        at: u64,
        /// The number of the last one.
        of: u64,
    },
    /// Money moves again, in every process.
    Resumed {
        /// The breaks that were accepted.
        #[serde(serialize_with = "in_order")]
        accepted: Vec<Accepted>,
    },
    /// The deposit that was proposed is booked.
    Deposited {
        /// The outside world's own id of it.
        #[serde(rename = "ref")]
        reference: Arc<str>,
    },
    /// The withdrawal that was proposed is booked.
    Withdrawn {
        /// The outside world's own id of it.
        #[serde(rename = "ref")]
        reference: Arc<str>,
    },
    /// The open call has its answer.
    Resolved {
        /// As the ledger bore it out, which may be `done` where `rejected` was proposed.
        #[serde(rename = "answer")]
        verdict: Verdict,
        /// What the ledger said.
        said: StoredAnswer,
        /// The name of the state that it led to.
        state: Arc<str>,
    },
    /// The transfer had moved on before the approval, maybe back to the same state, the deposit's reference was
    /// booked (`BOOKED`), the pause was lifted (`RESUMED`), its chain was stopped for one more reason
    /// (`STOPPED_AGAIN`), or the account's status was set anew (`SET_AGAIN`): nothing was done.
    Superseded {
        /// The name of the state that it is in.
        state: Arc<str>,
    },
    /// The proposal was refused: nothing was done.
    Refused,
    /// The lane is retired.
    LaneRetired {
        /// The attempt that has it: the key is deleted on the chain once that is closed.
        attempt: Option<Id>,
    },
    /// The chain does not have the lane any more, and that is stored.
    LaneGone {
        /// The lowest of the final blocks that show it.
        height: u64,
        /// How many providers show it.
        providers: usize,
    },
    /// What left the vault is taken from the inventory.
    WithdrawalAccepted,
    /// One more refund of the transfer is allowed.
    RefundReleased {
        /// How often the refund had been refused.
        refusals: u64,
    },
    /// The account has that status.
    StatusSet,
    /// The asset was added or changed.
    Asset {
        /// The asset as it is now.
        asset: Asset,
    },
    /// The account at the accounts ledger was opened, or has that status.
    NumberedAccount {
        /// The account as it is now.
        account: NumberedAccount,
    },
    /// The key is tried again now.
    Unparked,
    /// Dead letters went back to their topics.
    Redriven {
        /// How many were sent.
        messages: u64,
        /// How many had gone back too often, and were passed over.
        passed_over: u64,
        /// How many were not looked at.
        left: u64,
    },
    /// Published messages are sent again.
    Reemitted {
        /// How many messages were sent.
        messages: u64,
    },
    /// The group goes on at other offsets.
    Sought {
        /// How many of its partitions go on at another message.
        partitions: u64,
    },
    /// The words are written.
    Noted,
    /// The endpoint was added or changed, or what it was asked to be sent is on its way.
    Webhook {
        /// The endpoint as it is now.
        endpoint: WebhookEndpoint,
    },
    /// The endpoint is gone.
    WebhookDeleted,
}

/// What is read from the journal is stored there.
const fn is_stored() -> bool {
    true
}

impl ActionResult {
    /// The text that the audit keeps.
    pub fn stored(&self) -> Arc<str> {
        // texts and numbers: it can be written
        serde_json::to_value(self).unwrap_or_default().to_string().into()
    }

    /// The result of that text; `None` where it is not one of this release.
    pub fn read(stored: &str) -> Option<Self> {
        serde_json::from_str(stored).ok()
    }
}
