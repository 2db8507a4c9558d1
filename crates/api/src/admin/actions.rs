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

/// What an action came to. Which fields are there depends on `outcome`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// `RETRIED`, `ASKED`, `PAUSED`, `UNPAUSED`, `HALTED`, `PROPOSED` (another person has to
    /// approve), `PROVING` (money moves once everything is proven, which goes on by itself: repeat it
    /// with the same `Idempotency-Key` to hear what it came to), `RESUMED`, `DEPOSITED`, `WITHDRAWN`, `RESOLVED`, `SUPERSEDED` (the transfer had moved on, the deposit's `ref` was
    /// booked meanwhile, the pause was lifted, its chain was stopped for one more reason, or the account's status was
    /// set anew; nothing was done),
    /// `REFUSED`, `STATUS_SET`, `ASSET_SET`, `ACCOUNT_SET`, `WEBHOOK_SET`, `WEBHOOK_DELETED`, `UNPARKED`, `REDRIVEN`,
    /// `REEMITTED`, `SOUGHT`, `KEY_RETIRED`, `KEY_GONE` or `NOTED`.
    #[schema(example = "PROPOSED")]
    pub outcome: String,
    /// When it was done, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// `PROPOSED`: what another person approves or rejects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// `PAUSED`: what is lifted later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_id: Option<u64>,
    /// `ASKED`: the ledger that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// `ASKED`: the leg that was asked after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leg: Option<String>,
    /// `ASKED`, `RESOLVED`: what the ledger holds: `DONE`, `REJECTED`, `FENCED`, `NOTHING` (which is
    /// no evidence) or `UNKNOWN`; `NEVER_SENT` of a transfer that was cancelled, by the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// With `said`: the ledger's number, its code, or why it is unclear; how many attempts are proven dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// `RESOLVED`: the answer as the ledger bore it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// `RESOLVED`, `SUPERSEDED`: where the transfer stands; `BOOKED` of a deposit; `RESUMED` or `STOPPED_AGAIN` of a
    /// pause; `SET_AGAIN` of an account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// `HALTED`: calls that had begun before and may still have an effect, the first hundred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_wire: Option<Vec<OnWire>>,
    /// `HALTED`: the number of all these calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<usize>,
    /// `HALTED`: a HALT stands, and all of them, and every write begun before it, have ended since, in
    /// every process, and each ledger elsewhere that keeps the numbers of halts knows this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<bool>,
    /// `HALTED`: the number of the last halt that stands now, which a resume is of. Missing where
    /// persons resumed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 7)]
    pub halt: Option<u64>,
    /// `DEPOSITED`, `WITHDRAWN`: the `ref` under which the movement is booked.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    #[schema(example = "bank-2024-12-23-7")]
    pub reference: Option<String>,
    /// `PROVING`: the number of the transfer that the proof has come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<u64>,
    /// `PROVING`: the number of the last transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u64>,
    /// `REDRIVEN`, `REEMITTED`: the number of messages that were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 12)]
    pub messages: Option<u64>,
    /// `REDRIVEN`: the number of messages that were passed over, since they had gone back too often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<u64>,
    /// `REDRIVEN`: the number of messages that still wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// `SOUGHT`: the number of partitions that go on at another offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u64>,
    /// `KEY_RETIRED`: the attempt that has the key; missing where none has. Delete the key on the chain once it is
    /// closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub attempt_id: Option<String>,
    /// `KEY_GONE`: the lowest final block that shows the account without the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 132_004_711)]
    pub block: Option<u64>,
    /// `KEY_GONE`: the number of providers that show the account without the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 2)]
    pub providers: Option<u64>,
    /// `RESUMED`: the breaks of conservation that were accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Vec<AcceptedBreak>>,
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
    #[schema(example = "HALT")]
    pub kind: String,
    /// What it was done to: a transfer's id, `service`, `ledger/SPOT`, an asset's symbol, …
    #[schema(example = "service")]
    pub subject: String,
    /// What exactly was asked for.
    #[schema(example = json!({}))]
    pub value: Value,
    /// The reason that was given.
    #[schema(example = "the ledger's numbers do not add up")]
    pub reason: String,
    /// What it came to.
    #[schema(example = json!({"outcome": "halted"}))]
    pub result: Value,
    /// The key under which it is done once.
    #[schema(example = "halt-1")]
    pub key: String,
}
