//! Actions and what they came to, as the audit keeps them: JSON with amounts as strings.

use crate::Engine;
use crate::operators::{ActionResult, AdminAction, StoredAnswer, Verdict};
use kernel::answer::Evidence;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::operation::Key;
use kernel::operators::{Accepted, Approval, DEPOSIT, Scope};
use kernel::ports::ledger::{Direction, External};
use serde_json::{Value, json};

/// Kind, subject and value of an action.
pub(super) fn asked(engine: &Engine, action: &AdminAction) -> (&'static str, String, Value) {
    let nothing = || json!({});
    match action {
        AdminAction::Retry(id) => ("RETRY", id.to_string(), nothing()),
        AdminAction::Ask(id) => ("ASK", id.to_string(), nothing()),
        AdminAction::PauseTransfer(id) => ("PAUSE", id.to_string(), nothing()),
        AdminAction::ResumeTransfer(id) => ("RESUME_TRANSFER", id.to_string(), nothing()),
        AdminAction::Resolve { id, verdict, evidence } => {
            let value = json!({ "answer": verdict.name(), "evidence": evidence });
            ("RESOLVE", id.to_string(), value)
        }
        AdminAction::Halt => ("HALT", "service".to_owned(), nothing()),
        AdminAction::Resume { accept } => {
            ("RESUME", "service".to_owned(), json!({ "accept": breaks(accept) }))
        }
        AdminAction::Pause(scope) => ("PAUSE", subject(engine, *scope), nothing()),
        AdminAction::Unpause(number) => ("UNPAUSE", format!("pause/{number}"), nothing()),
        AdminAction::Status { ledger, user, status } => {
            let subject = format!("account/{user}/{}", ledger.name());
            ("STATUS", subject, json!({ "status": status.name() }))
        }
        AdminAction::AddAsset(new) => {
            let value = json!({
                "id": new.id.map(|id| id.0),
                "precision": new.precision,
                "transferable": new.transferable,
                "min": new.min.to_string(),
                "max": limit(new.max),
                "daily": limit(new.daily),
            });
            ("ADD_ASSET", new.symbol.clone(), value)
        }
        AdminAction::ChangeAsset(change) => {
            let mut value = serde_json::Map::new();
            let mut set = |name: &str, to: Option<Value>| {
                value.extend(to.map(|to| (name.to_owned(), to)));
            };
            set("status", change.status.map(|status| json!(status.name())));
            set("transferable", change.transferable.map(Value::from));
            set("min", change.min.map(|min| json!(min.to_string())));
            set("max", change.max.map(limit));
            set("daily", change.daily.map(limit));
            ("CHANGE_ASSET", change.symbol.clone(), Value::Object(value))
        }
        AdminAction::Deposit(movement) => {
            (DEPOSIT, format!("deposit/{}", movement.reference), deposit(engine, movement))
        }
        AdminAction::Approve(id) => ("APPROVE", format!("approval/{id}"), nothing()),
        AdminAction::Reject(id) => ("REJECT", format!("approval/{id}"), nothing()),
        AdminAction::Assign { case, to } => {
            ("ASSIGN", format!("case/{case}"), json!({ "to": **to }))
        }
        AdminAction::Comment { case, text } => {
            ("COMMENT", format!("case/{case}"), json!({ "text": **text }))
        }
    }
}

/// A deposit as it is proposed: what the one who approves reads, and what is booked then.
pub(super) fn deposit(engine: &Engine, movement: &External) -> Value {
    let assets = engine.assets();
    let asset = assets.iter().find(|asset| asset.id == movement.asset);
    json!({
        "user_id": movement.user.0,
        "asset": asset.map(|asset| asset.symbol.clone()),
        "amount": asset.map(|asset| movement.amount.decimal(asset.precision)),
        "ref": *movement.reference,
        "asset_id": movement.asset.0,
        "units": movement.amount.to_string(),
    })
}

/// The deposit of [`deposit`], in its proposer's name.
pub(super) fn movement(engine: &Engine, approval: &Approval, value: &Value) -> Option<External> {
    let id = AssetId(u32::try_from(value.get("asset_id")?.as_u64()?).ok()?);
    let amount = Amount(text(value, "units")?.parse().ok()?);
    // what was read by the one who approved is what is booked
    let assets = engine.assets();
    let asset = assets.iter().find(|asset| asset.id == id)?;
    let read = asset.symbol == text(value, "asset")?
        && amount.decimal(asset.precision) == text(value, "amount")?;
    read.then_some(External {
        direction: Direction::In,
        reference: text(value, "ref")?.into(),
        user: UserId(value.get("user_id")?.as_u64()?),
        asset: id,
        amount,
        reason: approval.reason.clone(),
        caller: approval.caller.clone(),
    })
}

/// A scope as people read it; a transfer by its id alone, an asset by its symbol.
fn subject(engine: &Engine, scope: Scope) -> String {
    match scope {
        Scope::Flow(flow) => {
            let table = engine.flows().0.get(usize::from(flow.0));
            format!("flow/{}", table.map_or("unknown", |table| table.flow))
        }
        Scope::Ledger(ledger) => format!("ledger/{}", ledger.name()),
        Scope::Chain(chain) => format!("chain/{chain}"),
        Scope::Asset(asset) => {
            let known = engine.assets();
            let known = known.iter().find(|known| known.id == asset);
            known.map_or_else(|| format!("asset/{asset}"), |known| known.symbol.clone())
        }
        Scope::Account(user, ledger) => format!("account/{user}/{}", ledger.name()),
        Scope::Transfer(id) => id.to_string(),
    }
}

/// Accepted breaks, each once and in one order: the same ones have the same bytes.
pub(crate) fn breaks(accept: &[Accepted]) -> Value {
    let mut listed: Vec<(&str, i128)> = accept.iter().map(|a| (&*a.key, a.amount)).collect();
    listed.sort_unstable();
    listed.dedup();
    let one = |(key, amount): (&str, i128)| json!({ "key": key, "amount": amount.to_string() });
    listed.into_iter().map(one).collect()
}

/// The breaks of [`breaks`].
pub(crate) fn accepted(value: &Value) -> Option<Vec<Accepted>> {
    let one = |value: &Value| {
        let key = text(value, "key")?.into();
        Some(Accepted { key, amount: text(value, "amount")?.parse().ok()? })
    };
    value.as_array()?.iter().map(one).collect()
}

/// A stored JSON text; `None` where it is none.
pub(crate) fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn limit(limit: Option<Amount>) -> Value {
    limit.map_or(Value::Null, |limit| json!(limit.to_string()))
}

/// An outcome as it is stored.
pub(super) fn answered(outcome: &ActionResult) -> Value {
    match outcome {
        ActionResult::Retried => json!({ "outcome": "RETRIED" }),
        ActionResult::Asked { ledger, leg, said } => json!({
            "outcome": "ASKED", "ledger": ledger.name(), "leg": leg.name(), "said": words(said),
        }),
        ActionResult::Paused(_) => json!({ "outcome": "PAUSED" }),
        ActionResult::Unpaused => json!({ "outcome": "UNPAUSED" }),
        ActionResult::Halted { on_wire, calls, .. } => {
            let call = |(ledger, key): &(LedgerId, Key)| {
                let (id, leg) = (key.id.to_string(), key.leg.name());
                json!({ "ledger": ledger.name(), "id": id, "leg": leg })
            };
            let on_wire: Vec<Value> = on_wire.iter().map(call).collect();
            json!({ "outcome": "HALTED", "on_wire": on_wire, "calls": calls })
        }
        ActionResult::Proposed { approval } => {
            json!({ "outcome": "PROPOSED", "approval": approval.to_string() })
        }
        ActionResult::Resumed { accepted } => {
            json!({ "outcome": "RESUMED", "accepted": breaks(accepted) })
        }
        ActionResult::Deposited { reference } => {
            json!({ "outcome": "DEPOSITED", "ref": **reference })
        }
        ActionResult::Resolved { verdict, said, state } => json!({
            "outcome": "RESOLVED", "answer": verdict.name(), "said": words(said), "state": **state,
        }),
        ActionResult::Superseded { state } => {
            json!({ "outcome": "SUPERSEDED", "state": **state })
        }
        ActionResult::Refused => json!({ "outcome": "REFUSED" }),
        ActionResult::StatusSet => json!({ "outcome": "STATUS_SET" }),
        ActionResult::Asset(asset) => json!({ "outcome": "ASSET", "asset": row(asset) }),
        ActionResult::Proving { at, of } => json!({ "outcome": "PROVING", "at": at, "of": of }),
        ActionResult::Noted => json!({ "outcome": "NOTED" }),
    }
}

/// The outcome of [`answered`]; `None` where it is not one of this release.
pub(super) fn outcome(stored: &str) -> Option<ActionResult> {
    let value = read(stored)?;
    Some(match text(&value, "outcome")? {
        "RETRIED" => ActionResult::Retried,
        "ASKED" => ActionResult::Asked {
            ledger: LedgerId::parse(text(&value, "ledger")?)?,
            leg: Leg::parse(text(&value, "leg")?)?,
            said: said(value.get("said")?)?,
        },
        "PAUSED" => ActionResult::Paused(None),
        "UNPAUSED" => ActionResult::Unpaused,
        "HALTED" => {
            let call = |value: &Value| {
                let ledger = LedgerId::parse(text(value, "ledger")?)?;
                let id = text(value, "id")?.parse().ok()?;
                Some((ledger, Key { id, leg: Leg::parse(text(value, "leg")?)? }))
            };
            let on_wire = value.get("on_wire")?.as_array()?.iter().map(call);
            let calls = usize::try_from(value.get("calls")?.as_u64()?).ok()?;
            let on_wire = on_wire.collect::<Option<_>>()?;
            ActionResult::Halted { halt: None, on_wire, calls, quiet: false }
        }
        "PROPOSED" => {
            ActionResult::Proposed { approval: text(&value, "approval")?.parse::<Id>().ok()? }
        }
        "RESUMED" => ActionResult::Resumed { accepted: accepted(value.get("accepted")?)? },
        "DEPOSITED" => ActionResult::Deposited { reference: text(&value, "ref")?.into() },
        "RESOLVED" => ActionResult::Resolved {
            verdict: Verdict::parse(text(&value, "answer")?)?,
            said: said(value.get("said")?)?,
            state: text(&value, "state")?.into(),
        },
        "SUPERSEDED" => ActionResult::Superseded { state: text(&value, "state")?.into() },
        "REFUSED" => ActionResult::Refused,
        "STATUS_SET" => ActionResult::StatusSet,
        "ASSET" => ActionResult::Asset(asset(value.get("asset")?)?),
        "NOTED" => ActionResult::Noted,
        _ => return None,
    })
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn words(said: &StoredAnswer) -> Value {
    match said {
        StoredAnswer::Done(seq) => json!({ "answer": "DONE", "seq": seq }),
        StoredAnswer::Rejected(why) => {
            json!({ "answer": "REJECTED", "code": why.code, "doc": why.doc.as_deref() })
        }
        StoredAnswer::Fenced => json!({ "answer": "FENCED" }),
        StoredAnswer::Nothing => json!({ "answer": "NOTHING" }),
        StoredAnswer::Unknown(why) => json!({ "answer": "UNKNOWN", "why": **why }),
    }
}

fn said(value: &Value) -> Option<StoredAnswer> {
    Some(match text(value, "answer")? {
        "DONE" => StoredAnswer::Done(value.get("seq")?.as_u64()?),
        "REJECTED" => StoredAnswer::Rejected(Evidence {
            code: text(value, "code")?.to_owned().into(),
            doc: text(value, "doc").map(Into::into),
        }),
        "FENCED" => StoredAnswer::Fenced,
        "NOTHING" => StoredAnswer::Nothing,
        "UNKNOWN" => StoredAnswer::Unknown(text(value, "why")?.into()),
        _ => return None,
    })
}

fn row(asset: &Asset) -> Value {
    json!({
        "id": asset.id.0,
        "symbol": asset.symbol,
        "precision": asset.precision,
        "status": asset.status.name(),
        "transferable": asset.transferable,
        "min": asset.min.to_string(),
        "max": limit(asset.max),
        "daily": limit(asset.daily),
    })
}

fn asset(value: &Value) -> Option<Asset> {
    let amount = |name| Some(Amount(text(value, name)?.parse().ok()?));
    Some(Asset {
        id: AssetId(u32::try_from(value.get("id")?.as_u64()?).ok()?),
        symbol: text(value, "symbol")?.to_owned(),
        precision: u8::try_from(value.get("precision")?.as_u64()?).ok()?,
        status: AssetStatus::parse(text(value, "status")?)?,
        transferable: value.get("transferable")?.as_bool()?,
        min: amount("min")?,
        max: amount("max"),
        daily: amount("daily"),
    })
}
