//! The events of the pipeline: topics and fields have the source's names.

use super::State;
use kernel::message::{Emission, Message};
use kernel::record::Record;

/// The topic of transfers whose accounts are to be checked.
pub(super) const VALIDATION: &str = "transfer-validation";
/// The topic of transfers whose money is to be moved.
pub(super) const EXECUTION: &str = "transfer-execution";

/// The topic of transfers that moved their money.
const COMPLETED: &str = "transfer-completed";
/// The topic of transfers that were refused.
const FAILED: &str = "transfer-failed";
/// Every topic of the flow.
pub(super) const TOPICS: &[&str] = &[VALIDATION, EXECUTION, COMPLETED, FAILED];

/// What the consumers of a topic are sent about a transfer in a state. A claim sends nothing when it
/// is made, since its consumer is at work; when its time has come it is sent what it was sent before.
pub(super) fn message(state: State, record: &Record, emission: Emission) -> Option<Message> {
    let due = emission == Emission::Due;
    let topic = match state {
        State::Pending => VALIDATION,
        State::Validating => return due.then(|| fields(VALIDATION, record)),
        State::Validated => EXECUTION,
        State::Executing => return due.then(|| fields(EXECUTION, record)),
        State::Completed => COMPLETED,
        State::Failed => FAILED,
    };
    Some(fields(topic, record))
}

/// Amounts are in base units of the asset: a flow knows no scales.
fn fields(topic: &'static str, record: &Record) -> Message {
    let terms = &record.terms;
    let from = terms.source.account.to_string();
    Message::new(topic, topic, from.as_str())
        .field("transferId", record.id.uuid_text())
        .field("fromAccountNumber", from)
        .field("toAccountNumber", terms.target.account.to_string())
        .field("amount", terms.source.amount.0.to_string())
        .field("assetId", terms.source.asset.to_string())
}
