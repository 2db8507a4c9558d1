//! Reads an action of an operator from its entry in the chain.

use crate::audit::Entry;
use crate::ids::Millis;
use crate::operators::ActionResult;
use serde_json::Value;

/// An action as its entry says it.
#[derive(Debug, Clone)]
pub(super) struct Performed {
    pub(super) at: Millis,
    pub(super) kind: String,
    pub(super) caller: String,
    pub(super) subject: String,
    /// What was asked; null where it is no JSON.
    pub(super) value: Value,
    pub(super) reason: String,
    /// The idempotency key of the action.
    pub(super) key: String,
    /// `None` for a result that this release does not know.
    pub(super) result: Option<ActionResult>,
}

impl Performed {
    /// The action of that entry; `None` where the entry is not one that [`crate::operators::Action::entry`] made.
    pub(super) fn read(entry: &Entry) -> Option<Self> {
        let fields: [String; 5] = serde_json::from_str(entry.detail.as_deref()?).ok()?;
        let [subject, value, reason, key, result] = fields;
        Some(Self {
            at: entry.at,
            kind: entry.event.clone(),
            caller: entry.caller.clone()?,
            subject,
            value: serde_json::from_str(&value).unwrap_or_default(),
            reason,
            key,
            result: ActionResult::read(&result),
        })
    }

    /// Whether it ended a HALT.
    pub(super) const fn resumes(&self) -> bool {
        matches!(self.result, Some(ActionResult::Resumed { .. }))
    }
}
