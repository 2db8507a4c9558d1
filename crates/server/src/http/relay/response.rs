//! Builds the responses that show a relay transfer: its status by the source's names, the transaction that carries
//! it, and its history.

use crate::http::middleware::error::Refusal;
use crate::http::transfers::response::message;
use crate::http::{App, format, no_answer};
use api::relay::{OpenedRelayTransfer, RelayEvent, RelayTransfer};
use engine::Accepted;
use engine::operators::HISTORY_EVENT;
use flows::relay::{Act, State, StatusBasis, status};
use kernel::attempt::{Attempt, Purpose};
use kernel::flow::life::{Outcome, Word as _};
use kernel::flow::table::{S, Table};
use kernel::ports::journal::Linked;
use kernel::record::{Account, Record};
use serde_json::Value;

/// A transfer as a create answers it; of a replay, as it stands now.
///
/// # Errors
/// 500: the journal does not say what a replay's transactions are.
pub(super) async fn create_response(
    app: &App,
    accepted: &Accepted,
) -> Result<OpenedRelayTransfer, Refusal> {
    let record = &accepted.record;
    if !accepted.replayed {
        return Ok(opened(app, record, &[], None));
    }
    let table = app.engine.flows().table(record.flow);
    let attempts = app.engine.journal().attempts_of(vec![record.id]).await;
    let attempts = attempts.map_err(no_answer("attempts"))?;
    let mut history = Vec::new();
    if table.state(record.head.state).outcome == Some(Outcome::Paid) {
        // of several forms the proof says which one paid
        let found = app.engine.transfer(record.id).await.map_err(no_answer("replay"))?;
        history = found.map(|(_, history)| history).unwrap_or_default();
    }
    let proof = history.last().and_then(|linked| linked.entry.detail.as_deref());
    Ok(opened(app, record, &payments(table, &attempts), proof))
}

/// The attempts that pay, and do not register.
fn payments<'a>(table: &Table, attempts: &'a [Attempt]) -> Vec<&'a Attempt> {
    attempts.iter().filter(|attempt| is_payment_state(table, attempt.state)).collect()
}

/// The basis of a transfer's status: its last attempt that pays, while that one is sent and open, or its state.
fn shown(payments: &[&Attempt]) -> StatusBasis {
    let sent = payments.last().is_some_and(|attempt| attempt.sent && attempt.closed.is_none());
    if sent { StatusBasis::Sent } else { StatusBasis::State }
}

/// A transfer in the few fields of a create. `proof`: the document that shows that it was paid.
fn opened(
    app: &App,
    record: &Record,
    payments: &[&Attempt],
    proof: Option<&str>,
) -> OpenedRelayTransfer {
    let table = app.engine.flows().table(record.flow);
    let paid = table.state(record.head.state).outcome == Some(Outcome::Paid);
    let key = record.terms.binding.as_ref().map(|binding| binding.key.to_string());
    let receiver_id = match &record.terms.target.account {
        Account::Named(name) => name.to_string(),
        Account::User(_) | Account::Unnamed => String::new(),
    };
    OpenedRelayTransfer {
        transfer_id: key.unwrap_or_default(),
        req_id: record.id.to_string(),
        status: status_of(table, record.head.state, shown(payments)).unwrap_or_default().to_owned(),
        receiver_id,
        amount: record.terms.target.amount.to_string(),
        created_at: format::time(record.created_at),
        tx_hash: payments.last().and_then(|attempt| hash(attempt, proof)),
        completed_at: paid.then(|| format::time(record.updated_at)),
    }
}

/// A transfer with its attempts, oldest first, and its history.
pub(super) fn story(
    app: &App,
    record: &Record,
    attempts: &[Attempt],
    history: Vec<Linked>,
) -> RelayTransfer {
    let table = app.engine.flows().table(record.flow);
    let payments = payments(table, attempts);
    let ended = table.state(record.head.state).outcome;
    let paid = ended == Some(Outcome::Paid);
    let last = history.last().and_then(|linked| linked.entry.detail.clone());
    let proof = last.as_deref().filter(|_| paid);
    let error = record.error.as_ref().filter(|_| !paid);
    let error_message = error.map(|error| match ended {
        Some(_) => message(app, record),
        None => error.code.to_string(),
    });
    RelayTransfer {
        opened: opened(app, record, &payments, proof),
        retry_count: attempts.len().try_into().unwrap_or(u32::MAX),
        updated_at: format::time(record.updated_at),
        error_message,
        events: events(table, &payments, history),
    }
}

/// The source's status of a stored state.
fn status_of(table: &Table, state: S, shown: StatusBasis) -> Option<&'static str> {
    let code = table.state(state).code;
    State::ALL.iter().find(|state| state.code() == code).map(|state| status(*state, shown))
}

/// True for an attempt in this state that pays, and does not register.
fn is_payment_state(table: &Table, state: S) -> bool {
    table.makes(state).is_some_and(|act| table.act(act).name == Act::Pay.name())
}

/// The transaction of an attempt: of several forms the one that the proof names, else the newest.
fn hash(attempt: &Attempt, proof: Option<&str>) -> Option<String> {
    let paying = attempt.forms.iter().filter(|form| form.purpose == Purpose::Pay);
    let names: Vec<String> = paying.map(|form| base58(&form.name)).collect();
    let proven = names.iter().find(|name| proof.is_some_and(|proof| proof.contains(name.as_str())));
    proven.or_else(|| names.last()).cloned()
}

/// The history in the source's words: each status once when it is reached, and what failed.
fn events(table: &Table, payments: &[&Attempt], history: Vec<Linked>) -> Vec<RelayEvent> {
    let mut attempts = payments.iter();
    let (mut events, mut failed) = (Vec::new(), 0_u32);
    let mut last = "";
    for Linked { entry, .. } in history {
        if entry.event == HISTORY_EVENT {
            continue;
        }
        let time = format::time(entry.at);
        if entry.event == "ERROR" {
            failed = failed.saturating_add(1);
            if entry.from == Some(entry.to) {
                // it stands where it stood: the providers of the chain hold it up from here on
                let kind = entry.detail.as_deref().unwrap_or_default().to_owned();
                events.push(RelayEvent { time, ..trouble(kind, failed) });
                continue;
            }
            last = "";
            let (kind, landed) = failure(entry.detail.as_deref().unwrap_or_default());
            if landed {
                queue_verification(&mut events);
            }
            events.push(RelayEvent { time, ..error(kind, landed, failed) });
            continue;
        }
        let to = table.coded(entry.to);
        // a claim to pay makes one attempt, in the same unit
        let attempt = to
            .filter(|to| entry.from != Some(entry.to) && is_payment_state(table, *to))
            .filter(|to| status_of(table, *to, StatusBasis::State) == Some(State::Submitted.name()))
            .and_then(|_| attempts.next());
        let Some(event) = to.and_then(|to| status_of(table, to, StatusBasis::State)) else {
            continue;
        };
        if event != last {
            queue_verification(&mut events);
            let tx_hash = attempt.and_then(|attempt| hash(attempt, None));
            events.push(RelayEvent { time, tx_hash, ..plain(event) });
        }
        if attempt.is_some_and(|attempt| attempt.sent) {
            queue_verification(&mut events);
        }
        last = event;
    }
    events
}

/// Adds that the transaction waits for its proof, where it was the last event. The moment of the send is not
/// stored, so that both events have one time.
fn queue_verification(events: &mut Vec<RelayEvent>) {
    let submitted = events.last().filter(|last| last.event == State::Submitted.name());
    if let Some(time) = submitted.map(|event| event.time.clone()) {
        events.push(RelayEvent { time, ..plain(State::QueuedVerification.name()) });
    }
}

fn plain(event: &str) -> RelayEvent {
    RelayEvent {
        time: String::new(),
        event: event.to_owned(),
        tx_hash: None,
        error_type: None,
        message: None,
        retry_count: None,
        will_retry: None,
    }
}

/// An attempt that failed, whose members are claimed anew. Its proof is for operators.
fn error(kind: String, landed: bool, failed: u32) -> RelayEvent {
    let message = match landed {
        true => "The transaction is in a block and failed as a whole; the transfer is sent again",
        false => "The transaction can never land; the transfer is sent again",
    };
    retried(kind, message, failed)
}

/// Providers of the chain that hold the transfer up, at the first try that met them. Which of them it is, is for
/// operators.
fn trouble(kind: String, failed: u32) -> RelayEvent {
    let message = "The chain's providers did not answer, or did not agree; the same step is tried until they do";
    retried(kind, message, failed)
}

/// The event of an error, the failed-th one of its transfer. Each is tried again.
fn retried(kind: String, message: &str, failed: u32) -> RelayEvent {
    RelayEvent {
        error_type: Some(kind),
        message: Some(message.to_owned()),
        retry_count: Some(failed),
        will_retry: Some(true),
        ..plain("ERROR")
    }
}

/// The code of a failed attempt by what its event keeps, a code or a proof, and whether its transaction is in a
/// block. A proof of an older release has no code.
fn failure(detail: &str) -> (String, bool) {
    let code = |text: &str| {
        let fit = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        (fit && !text.is_empty()).then(|| text.to_owned())
    };
    let proof: Value = serde_json::from_str(detail).unwrap_or_default();
    let landed = proof.pointer("/result/error").is_some();
    let stored = proof.get("code").and_then(Value::as_str).and_then(code);
    let unnamed = if landed { "BATCH_FAILED" } else { "ATTEMPT_DEAD" };
    (stored.or_else(|| code(detail)).unwrap_or_else(|| unnamed.to_owned()), landed)
}

/// Bytes in base58, in Bitcoin's alphabet, as NEAR writes hashes.
fn base58(bytes: &[u8]) -> String {
    bs58::encode(bytes).into_string()
}

#[cfg(test)]
mod tests {
    use super::{base58, failure};

    /// Turns red where a batch that is in a block is called one that can never land.
    #[test]
    fn a_failed_attempt_has_the_code_of_its_proof() {
        let landed = |code: &str| {
            format!(r#"{{{code}"height":7,"result":{{"index":0,"error":"short","paused":false}}}}"#)
        };
        for (detail, code, is_landed) in [
            (landed(r#""code":"SPOILED","#), "SPOILED", true),
            (landed(r#""code":"TREASURY_SHORT","#), "TREASURY_SHORT", true),
            (landed(""), "BATCH_FAILED", true),
            (r#"{"code":"LOCK_PASSED"}"#.to_owned(), "LOCK_PASSED", false),
            (r#"{"nonce":7}"#.to_owned(), "ATTEMPT_DEAD", false),
            ("VOIDED".to_owned(), "VOIDED", false),
            (String::new(), "ATTEMPT_DEAD", false),
        ] {
            assert_eq!(failure(&detail), (code.to_owned(), is_landed), "{detail}");
        }
    }

    /// Vectors of the encoding's draft, and 32 bytes.
    #[test]
    fn hashes_are_written_as_near_writes_them() {
        assert_eq!(base58(b"Hello World!"), "2NEpo7TZRRrLZSi2U");
        assert_eq!(base58(&[0, 0, 0x28, 0x7f, 0xb4, 0xcd]), "11233QC4");
        assert_eq!(base58(&[]), "");
        assert_eq!(base58(&[0; 32]), "1".repeat(32));
        assert_eq!(base58(&[255; 32]).len(), 44);
    }
}
