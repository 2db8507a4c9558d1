//! The bodies of cases, the questions that the service asks people.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of cases, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cases {
    /// The cases of this page.
    pub cases: Vec<Case>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// A question for a person: one for each episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Case {
    /// The number that names the case.
    #[schema(example = 12)]
    pub id: u64,
    /// What kind of question; each has a page in the runbook.
    #[schema(example = "TARGET_PENDING")]
    pub kind: String,
    /// `WARNING` (look at it today) or `CRITICAL` (look at it now).
    #[schema(example = "CRITICAL")]
    pub severity: String,
    /// `service`, `transfer/<id>`, `user/4001` or `ledger/SPOT`.
    #[schema(example = "transfer/01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub subject: String,
    /// What was known when it was opened.
    #[schema(example = "TARGET_PENDING for 61 s: TIMEOUT")]
    pub facts: String,
    /// `OPEN`, or `CLOSED` by a fact.
    #[schema(example = "OPEN")]
    pub status: String,
    /// Since when, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub opened_at: String,
    /// When it was closed.
    pub closed_at: Option<String>,
    /// The fact that closed it.
    pub closed_by: Option<String>,
    /// Who looks after it.
    pub assigned: Option<String>,
}

/// A case with its notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaseStory {
    /// The case without its notes.
    #[serde(flatten)]
    pub case: Case,
    /// The notes, oldest first.
    pub notes: Vec<CaseNote>,
}

/// What was added to a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaseNote {
    /// When it was written, RFC 3339.
    #[schema(example = "2026-11-21T09:25:00.000Z")]
    pub at: String,
    /// The principal who wrote it: `issuer|sub`.
    #[schema(example = "portage|ops-7")]
    pub by: String,
    /// The one who looks after it from then on.
    pub assigned: Option<String>,
    /// The words, where it is a comment.
    #[schema(example = "The ledger's operators restart it at 14:00.")]
    pub comment: Option<String>,
}

/// What an operator adds to a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// Who looks after it: 1 to 128 characters.
    #[schema(min_length = 1, max_length = 128, example = "ops-7")]
    pub to: String,
    /// Why, for the audit; `assigned` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "on call tonight")]
    pub reason: Option<String>,
}

/// Words about a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Comment {
    /// 1 to 2000 characters.
    #[schema(
        min_length = 1,
        max_length = 2000,
        example = "The ledger's operators restart it at 14:00."
    )]
    pub text: String,
}
