//! Fuzzes the bodies of requests: a parsed body holds what was sent, no more and nothing else.

use super::middleware::body::Body;
use crate::json;
use api::transfers::CreateTransfer;
use axum::body::Bytes;
use serde_json::Value;
use sim::fuzz::{Target, kind};

const WORDS: [&str; 26] = [
    "\"from\":\"FUNDING\"",
    "\"to\":\"SPOT\"",
    "\"asset\":\"USDT\"",
    "\"amount\":\"1.5\"",
    "\"amount\":1.5",
    "\"user_id\":4001",
    "\"user_id\":-1",
    "\"user_id\":\"9007199254740993\"",
    "\"user_id\":9007199254740993",
    "\"cid\":\"k\"",
    "\"reference\":\"r\"",
    "\"metadata\":{\"a\":\"b\"}",
    "\"metadata\":{}",
    "\"state\":\"COMMITTED\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "1e2",
    "\\ud800",
    "\\u0000",
    "\u{feff}",
];

/// Turns red where a name that stands twice, one that is unknown, or a value of another kind counts.
#[test]
fn a_form_that_is_taken_is_what_was_sent() {
    let starts = [
        r#"{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"1.5","cid":"k-1"}"#,
        r#"{"from":"SPOT","to":"FUNDING","asset":"BTC","amount":"0.1","user_id":4001,"reference":"r","metadata":{"a":"b"}}"#,
        r#"{"user_id":18446744073709551616}"#,
        "[]",
    ];
    let target = Target { name: "bodies", crate_dir: env!("CARGO_MANIFEST_DIR"), words: &WORDS };
    let done = target.run(starts.map(|text| text.as_bytes().to_vec()).into(), |input| {
        let body = Body(Bytes::copy_from_slice(input));
        let user = body.user("user_id");
        match body.read::<CreateTransfer>() {
            Ok(form) => {
                let sent: Value = serde_json::from_slice(input).expect("JSON");
                assert!(json::plain(input).is_ok(), "a name stands twice, or it is too deep");
                let text = |name: &str| sent.get(name).and_then(Value::as_str);
                let fields = [&form.from, &form.to, &form.asset, &form.amount];
                let names = ["from", "to", "asset", "amount"];
                for (field, name) in fields.into_iter().zip(names) {
                    assert_eq!(Some(field.as_str()), text(name), "{name}");
                }
                assert_eq!(form.user_id, user, "the check before the form sees the same user");
                assert_eq!(form.cid.as_deref(), text("cid"));
                kind(&(user.is_some(), sent.as_object().map(serde_json::Map::len)))
            }
            Err(refusal) => {
                assert!(refusal.sentence.chars().count() <= 300, "{}", refusal.sentence);
                // the words up to what is repeated of the body
                kind(&refusal.sentence.split(['`', '"', '0']).next().map(str::to_owned))
            }
        }
    });
    assert!(done.kinds > 10, "{done:?}");
}
