//! Deeds and what they came to, as the audit keeps them: JSON with amounts as strings.

use super::{Deed, Outcome, Said, Verdict};
use crate::Engine;
use kernel::answer::Evidence;
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::life::Leg;
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::people::{Accepted, Scope};
use kernel::unit::Key;
use serde_json::{Value, json};

/// Kind, subject and value of a deed.
pub(super) fn asked(engine: &Engine, deed: &Deed) -> (&'static str, String, Value) {
    let nothing = || json!({});
    match deed {
        Deed::Retry(id) => ("RETRY", id.to_string(), nothing()),
        Deed::Ask(id) => ("ASK", id.to_string(), nothing()),
        Deed::PauseTransfer(id) => ("PAUSE", id.to_string(), nothing()),
        Deed::ResumeTransfer(id) => ("RESUME_TRANSFER", id.to_string(), nothing()),
        Deed::Resolve { id, verdict, evidence } => {
            let value = json!({ "answer": verdict.name(), "evidence": evidence });
            ("RESOLVE", id.to_string(), value)
        }
        Deed::Halt => ("HALT", "service".to_owned(), nothing()),
        Deed::Resume { accept } => {
            ("RESUME", "service".to_owned(), json!({ "accept": breaks(accept) }))
        }
        Deed::Pause(scope) => ("PAUSE", subject(engine, *scope), nothing()),
        Deed::Unpause(number) => ("UNPAUSE", format!("pause/{number}"), nothing()),
        Deed::Status { ledger, user, status } => {
            let subject = format!("account/{user}/{}", ledger.name());
            ("STATUS", subject, json!({ "status": status.name() }))
        }
        Deed::AddAsset(new) => {
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
        Deed::ChangeAsset(change) => {
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
        Deed::Approve(id) => ("APPROVE", format!("approval/{id}"), nothing()),
        Deed::Reject(id) => ("REJECT", format!("approval/{id}"), nothing()),
        Deed::Assign { case, to } => ("ASSIGN", format!("case/{case}"), json!({ "to": **to })),
        Deed::Comment { case, text } => {
            ("COMMENT", format!("case/{case}"), json!({ "text": **text }))
        }
    }
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
pub(super) fn answered(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Hastened => json!({ "outcome": "HASTENED" }),
        Outcome::Asked { ledger, leg, said } => json!({
            "outcome": "ASKED", "ledger": ledger.name(), "leg": leg.name(), "said": words(said),
        }),
        Outcome::Paused(_) => json!({ "outcome": "PAUSED" }),
        Outcome::Lifted => json!({ "outcome": "LIFTED" }),
        Outcome::Halted { on_wire, calls, .. } => {
            let call = |(ledger, key): &(LedgerId, Key)| {
                let (id, leg) = (key.id.to_string(), key.leg.name());
                json!({ "ledger": ledger.name(), "id": id, "leg": leg })
            };
            let on_wire: Vec<Value> = on_wire.iter().map(call).collect();
            json!({ "outcome": "HALTED", "on_wire": on_wire, "calls": calls })
        }
        Outcome::Proposed { approval } => {
            json!({ "outcome": "PROPOSED", "approval": approval.to_string() })
        }
        Outcome::Resumed { accepted } => {
            json!({ "outcome": "RESUMED", "accepted": breaks(accepted) })
        }
        Outcome::Resolved { verdict, said, state } => json!({
            "outcome": "RESOLVED", "answer": verdict.name(), "said": words(said), "state": **state,
        }),
        Outcome::Overtaken { state } => json!({ "outcome": "OVERTAKEN", "state": **state }),
        Outcome::Declined => json!({ "outcome": "DECLINED" }),
        Outcome::StatusSet => json!({ "outcome": "STATUS_SET" }),
        Outcome::Asset(asset) => json!({ "outcome": "ASSET", "asset": row(asset) }),
        Outcome::Proving { at, of } => json!({ "outcome": "PROVING", "at": at, "of": of }),
        Outcome::Noted => json!({ "outcome": "NOTED" }),
    }
}

/// The outcome of [`answered`]; `None` where it is not one of this release.
pub(super) fn outcome(stored: &str) -> Option<Outcome> {
    let value = read(stored)?;
    Some(match text(&value, "outcome")? {
        "HASTENED" => Outcome::Hastened,
        "ASKED" => Outcome::Asked {
            ledger: LedgerId::parse(text(&value, "ledger")?)?,
            leg: Leg::parse(text(&value, "leg")?)?,
            said: said(value.get("said")?)?,
        },
        "PAUSED" => Outcome::Paused(None),
        "LIFTED" => Outcome::Lifted,
        "HALTED" => {
            let call = |value: &Value| {
                let ledger = LedgerId::parse(text(value, "ledger")?)?;
                let id = text(value, "id")?.parse().ok()?;
                Some((ledger, Key { id, leg: Leg::parse(text(value, "leg")?)? }))
            };
            let on_wire = value.get("on_wire")?.as_array()?.iter().map(call);
            let calls = usize::try_from(value.get("calls")?.as_u64()?).ok()?;
            let on_wire = on_wire.collect::<Option<_>>()?;
            Outcome::Halted { halt: None, on_wire, calls, quiet: false }
        }
        "PROPOSED" => Outcome::Proposed { approval: text(&value, "approval")?.parse::<Id>().ok()? },
        "RESUMED" => Outcome::Resumed { accepted: accepted(value.get("accepted")?)? },
        "RESOLVED" => Outcome::Resolved {
            verdict: Verdict::parse(text(&value, "answer")?)?,
            said: said(value.get("said")?)?,
            state: text(&value, "state")?.into(),
        },
        "OVERTAKEN" => Outcome::Overtaken { state: text(&value, "state")?.into() },
        "DECLINED" => Outcome::Declined,
        "STATUS_SET" => Outcome::StatusSet,
        "ASSET" => Outcome::Asset(asset(value.get("asset")?)?),
        "NOTED" => Outcome::Noted,
        _ => return None,
    })
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn words(said: &Said) -> Value {
    match said {
        Said::Done(seq) => json!({ "answer": "DONE", "seq": seq }),
        Said::Rejected(why) => {
            json!({ "answer": "REJECTED", "code": why.code, "doc": why.doc.as_deref() })
        }
        Said::Fenced => json!({ "answer": "FENCED" }),
        Said::Nothing => json!({ "answer": "NOTHING" }),
        Said::Unclear(why) => json!({ "answer": "UNCLEAR", "why": **why }),
    }
}

fn said(value: &Value) -> Option<Said> {
    Some(match text(value, "answer")? {
        "DONE" => Said::Done(value.get("seq")?.as_u64()?),
        "REJECTED" => Said::Rejected(Evidence {
            code: text(value, "code")?.to_owned().into(),
            doc: text(value, "doc").map(Into::into),
        }),
        "FENCED" => Said::Fenced,
        "NOTHING" => Said::Nothing,
        "UNCLEAR" => Said::Unclear(text(value, "why")?.into()),
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
