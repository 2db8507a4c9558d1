//! The bodies of operators' actions and their results.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Why something is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonBody {
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "ticket 4711: the ledger is back")]
    pub reason: String,
}

/// What an action came to, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// What it came to; its fields depend on the word `outcome`.
    #[serde(flatten)]
    pub result: ActionOutcome,
    /// When it was done, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
}

/// What an action came to, by the word `outcome`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionOutcome {
    /// The next attempt is due.
    #[schema(title = "Retried")]
    Retried,
    /// The ledger was asked what it holds.
    #[schema(title = "Asked")]
    Asked {
        /// The ledger that was asked.
        #[schema(example = "SPOT")]
        ledger: String,
        /// The leg that was asked after.
        #[schema(example = "DEPOSIT")]
        leg: String,
        /// What the ledger holds: `DONE`, `REJECTED`, `FENCED`, `NOTHING` (which is no evidence) or `UNKNOWN`;
        /// `NEVER_SENT` of a transfer that was cancelled, by the journal.
        #[schema(example = "DONE")]
        said: String,
        /// The ledger's number, its code, or why it is unclear; how many attempts are proven dead.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(example = "8121")]
        detail: Option<String>,
    },
    /// Nothing of it goes on.
    #[schema(title = "Paused")]
    Paused {
        /// What is lifted later.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(example = 2)]
        pause_id: Option<u64>,
    },
    /// What was paused goes on.
    #[schema(title = "Unpaused")]
    Unpaused,
    /// No money moves until persons resume.
    #[schema(title = "Halted")]
    Halted {
        /// The number of the last halt that stands now, which a resume is of. Missing where persons resumed since.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(example = 7)]
        halt: Option<u64>,
        /// Calls that had begun before and may still have an effect, the first hundred.
        #[schema(example = json!([]))]
        on_wire: Vec<OnWire>,
        /// The number of all these calls.
        #[schema(example = 0)]
        calls: usize,
        /// A HALT stands, and all of them, and every write begun before it, have ended since, in every process, and each
        /// ledger elsewhere that keeps the numbers of halts knows this one.
        #[schema(example = true)]
        quiet: bool,
        /// False: the store takes no writes. The HALT stands in the process that answered alone, which stores it as soon
        /// as it can; a restart before that forgets it.
        #[schema(example = true)]
        stored: bool,
    },
    /// Another person has to approve it.
    #[schema(title = "Proposed")]
    Proposed {
        /// What another person approves or rejects.
        #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
        approval_id: String,
    },
    /// Money moves once everything is proven, which goes on by itself: repeat it with the same `Idempotency-Key` to hear
    /// what it came to.
    #[schema(title = "Proving")]
    Proving {
        /// The number of the transfer that the proof has come to.
        #[schema(example = 40_000)]
        proven: u64,
        /// The number of the last transfer.
        #[schema(example = 120_000)]
        transfers: u64,
    },
    /// Money moves again, in every process.
    #[schema(title = "Resumed")]
    Resumed {
        /// The breaks of conservation that were accepted.
        #[schema(example = json!([]))]
        accepted: Vec<AcceptedBreak>,
    },
    /// The proposed deposit is booked.
    #[schema(title = "Deposited")]
    Deposited {
        /// The `ref` under which it is booked.
        #[serde(rename = "ref")]
        #[schema(example = "bank-2024-12-23-7")]
        reference: String,
    },
    /// The proposed withdrawal is booked.
    #[schema(title = "Withdrawn")]
    Withdrawn {
        /// The `ref` under which it is booked.
        #[serde(rename = "ref")]
        #[schema(example = "bank-2024-12-23-7")]
        reference: String,
    },
    /// The open call has its answer.
    #[schema(title = "Resolved")]
    Resolved {
        /// The answer as the ledger bore it out.
        #[schema(example = "done")]
        answer: String,
        /// What the ledger holds, as in `ASKED`.
        #[schema(example = "DONE")]
        said: String,
        /// The ledger's number, its code, or why it is unclear, as in `ASKED`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(example = "8121")]
        detail: Option<String>,
        /// Where the transfer stands.
        #[schema(example = "COMMITTED")]
        state: String,
    },
    /// Something else was done meanwhile, and nothing of the proposal.
    #[schema(title = "Superseded")]
    Superseded {
        /// Where the transfer stands; `BOOKED` of a deposit; `RESUMED` or `STOPPED_AGAIN` of a pause; `SET_AGAIN` of an
        /// account; `ACCEPTED` of a withdrawal.
        #[schema(example = "COMMITTED")]
        state: String,
    },
    /// The proposal was rejected: nothing was done.
    #[schema(title = "Refused")]
    Refused,
    /// What left the vault is taken from the inventory.
    #[schema(title = "WithdrawalAccepted")]
    WithdrawalAccepted,
    /// One more refund of the transfer is allowed.
    #[schema(title = "RefundReleased")]
    RefundReleased {
        /// How often the refund had been refused.
        #[schema(example = 3)]
        refusals: u64,
    },
    /// The account has that status.
    #[schema(title = "StatusSet")]
    StatusSet,
    /// The asset was added or changed.
    #[schema(title = "AssetSet")]
    AssetSet,
    /// The numbered account was opened, or has that status.
    #[schema(title = "AccountSet")]
    AccountSet,
    /// The webhook was added or changed.
    #[schema(title = "WebhookSet")]
    WebhookSet,
    /// The webhook is gone.
    #[schema(title = "WebhookDeleted")]
    WebhookDeleted,
    /// The parked key is tried again now.
    #[schema(title = "Unparked")]
    Unparked,
    /// Dead letters went back to their topics.
    #[schema(title = "Redriven")]
    Redriven {
        /// The number of messages that were sent.
        #[schema(example = 12)]
        messages: u64,
        /// The number of messages that were passed over, since they had gone back too often.
        #[schema(example = 0)]
        passed_over: u64,
        /// The number of messages that still wait.
        #[schema(example = 0)]
        left: u64,
    },
    /// Messages were sent again.
    #[schema(title = "Reemitted")]
    Reemitted {
        /// The number of messages that were sent.
        #[schema(example = 12)]
        messages: u64,
    },
    /// A group goes on at other offsets.
    #[schema(title = "Sought")]
    Sought {
        /// The number of partitions that go on at another offset.
        #[schema(example = 3)]
        partitions: u64,
    },
    /// The relay signs nothing more with the key.
    #[schema(title = "KeyRetired")]
    KeyRetired {
        /// The attempt that has the key; missing where none has. Delete the key on the chain once it is closed.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
        attempt_id: Option<String>,
    },
    /// The chain does not have the key any more.
    #[schema(title = "KeyGone")]
    KeyGone {
        /// The lowest final block that shows the account without the key.
        #[schema(example = 132_004_711)]
        block: u64,
        /// The number of providers that show the account without the key.
        #[schema(example = 2)]
        providers: usize,
    },
    /// It is written down.
    #[schema(title = "Noted")]
    Noted,
}

/// A call that was on its way when money was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OnWire {
    /// The ledger that was called, or the chain for which a transaction was signed or sent.
    #[schema(example = "SPOT")]
    pub ledger: String,
    /// The id of the transfer.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub req_id: String,
    /// What it asks for.
    #[schema(example = "DEPOSIT")]
    pub leg: String,
}

/// A break of conservation that persons accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedBreak {
    /// Its key, as `/ops/conservation` names it.
    #[schema(example = "FUNDING/3/clearing")]
    pub key: String,
    /// By how much, in base units, as `/ops/conservation` says it.
    #[schema(example = "-1500000")]
    pub amount: String,
}

/// A page of actions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Actions {
    /// The actions of this page.
    pub actions: Vec<ActionRow>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// Something that a person did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActionRow {
    /// The number of the action, rising with time.
    #[schema(example = 41)]
    pub id: u64,
    /// When it was written, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// The principal who did it: `issuer|sub`.
    #[schema(example = "portage|ops-7")]
    pub by: String,
    /// What: `RETRY`, `HALT`, `RESOLVE`, …
    #[schema(example = "STATUS")]
    pub kind: String,
    /// What it was done to: a transfer's id, `service`, `ledger/SPOT`, an asset's symbol, …
    #[schema(example = "account/4001/SPOT")]
    pub subject: String,
    /// What exactly was asked for.
    pub value: Value,
    /// The reason that was given.
    #[schema(example = "court order 12 has ended")]
    pub reason: String,
    /// What it came to, in a word; `PROPOSED`: nothing was done until another person approves it.
    #[schema(example = "STATUS_SET")]
    pub outcome: Option<String>,
    /// What it came to, whole.
    pub result: Value,
    /// The key under which it is done once.
    #[schema(example = "freed-1")]
    pub key: String,
}
