//! Tests the classification with random bytes: an answer that is not exactly a known one is unknown,
//! and nothing panics.
//!
//! What should count is decided here from the fields that were drawn, not from the text.

use super::{KNOWN, asset_codes, change, op, reply, who};
use crate::remote::classify::{HttpReply, Simple, fenced, operations, results, simple, stored};
use crate::remote::{queries, wire};
use kernel::answer::Answer;
use kernel::flow::life::Leg::Withdraw;
use kernel::ports::ledger::{AccountStatus, Reply, Whose};
use proptest::prelude::*;

/// A field as it stands in the text.
fn field() -> impl Strategy<Value = (&'static str, &'static str)> {
    let names = ["success", "error", "unknown", "seq", "at", "Success", "status"];
    let values = [
        "true",
        "false",
        "null",
        "1",
        "6",
        "9",
        "10",
        "0",
        "-1",
        "6.0",
        "\"X\"",
        "\"\"",
        "\"FENCED\"",
        "\"a b\"",
        "\"true\"",
        "[]",
        "{}",
        "18446744073709551616",
    ];
    (prop::sample::select(names.to_vec()), prop::sample::select(values.to_vec()))
}

fn text(fields: &[(&str, &str)]) -> String {
    fields.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect()
}

/// All values of a name.
fn of<'a>(fields: &'a [(&str, &str)], name: &str) -> Vec<&'a str> {
    fields.iter().filter(|(n, _)| *n == name).map(|(_, value)| *value).collect()
}

fn distinct(fields: &[(&str, &str)]) -> bool {
    fields.iter().all(|(name, _)| of(fields, name).len() == 1)
}

/// `Some(true)`: done; `Some(false)`: refused; by the contract's words alone.
fn should(status: u16, fields: &[(&str, &str)], codes: &[&str]) -> Option<bool> {
    let (success, error) = (of(fields, "success"), of(fields, "error"));
    if !distinct(fields) {
        return None;
    }
    match (success.as_slice(), error.as_slice()) {
        (["true"], []) if status == 200 => Some(true),
        ([], [code]) if codes.contains(code) && (status == 200 || status == 400) => Some(false),
        _ => None,
    }
}

fn status() -> impl Strategy<Value = u16> {
    prop::sample::select(vec![200_u16, 200, 200, 400, 400, 201, 302, 404, 409, 500, 503])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_unknown(status in any::<u16>(), body in prop::collection::vec(any::<u8>(), 0..300)) {
        let (reply, asset_codes) = (HttpReply { status, body: &body }, asset_codes());
        let key = op(1, Withdraw).key;
        let said = [
            matches!(results(KNOWN, &[op(1, Withdraw)], &asset_codes, reply), Reply::NoAnswer(_)),
            matches!(stored(KNOWN, key, &asset_codes, reply), Reply::NoAnswer(_)),
            matches!(fenced(KNOWN, key, &asset_codes, reply), Reply::NoAnswer(_)),
            matches!(operations(0, 10, &asset_codes, reply), Reply::NoAnswer(_)),
            matches!(queries::totals(&asset_codes, reply), Reply::NoAnswer(_)),
            matches!(queries::hello(reply), Reply::NoAnswer(_)),
            matches!(queries::horizon(KNOWN, reply), Reply::NoAnswer(_)),
            matches!(queries::status(KNOWN, &change(AccountStatus::Active), reply), Reply::NoAnswer(_)),
            simple("x", Withdraw, reply).is_err(),
        ];
        prop_assert_eq!(said, [true; 9]);
        // balances are a bare list, and a list of none is one of them
        let none = body.trim_ascii() == b"[]";
        prop_assert!(none || queries::holdings(Whose::After(0, 9), &asset_codes, reply).is_err());
    }

    #[test]
    fn a_result_counts_by_its_fields_alone(status in status(), mut fields in prop::collection::vec(field(), 0..4), numbered in 0..4) {
        if numbered > 0 && of(&fields, "seq").is_empty() {
            fields.push(("seq", "6"));
        }
        let key = op(1, Withdraw).key;
        let item = format!("{{\"req_id\":\"{}\",\"leg\":\"WITHDRAW\"{}}}", key.id, text(&fields));
        let body = format!("{{{},\"results\":[{item}]}}", who(9));
        let reply = results(KNOWN, &[op(1, Withdraw)], &asset_codes(), reply(status, &body));
        let numbered = matches!(of(&fields, "seq").as_slice(), ["1" | "6" | "9"]);
        let free = of(&fields, "unknown").iter().all(|word| !word.starts_with('"'));
        let should = should(status, &fields, &["\"X\"", "\"FENCED\"", "\"true\""]).filter(|_| numbered && free);
        let is = match reply {
            Reply::Answered(known, answers) => {
                prop_assert_eq!(known.highest, 9);
                match &answers[..] {
                    [Answer::Done(_)] => Some(true),
                    [Answer::Rejected(..)] => Some(false),
                    [Answer::Unknown(_)] => None,
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                }
            }
            Reply::NoAnswer(_) => None,
            Reply::OtherLedger(_) => return Err(TestCaseError::fail("the right ledger")),
        };
        prop_assert_eq!(is, should, "{} {}", status, body);
    }

    #[test]
    fn a_simple_answer_counts_by_its_fields_alone(status in status(), fields in prop::collection::vec(field(), 0..4)) {
        let body = format!("{{{}}}", text(&fields).trim_start_matches(','));
        let is = match simple("01ABC", Withdraw, reply(status, &body)).map(|said| said.simple) {
            Ok(Simple::Done) => Some(true),
            Ok(Simple::Refused(_)) => Some(false),
            Err(_) => None,
        };
        let codes = ["\"X\"", "\"FENCED\"", "\"a b\"", "\"true\""];
        prop_assert_eq!(is, should(status, &fields, &codes), "{} {}", status, body);
    }

    #[test]
    fn a_cut_or_garbled_answer_is_unknown(cut in 0_usize..200, byte in any::<u8>(), at in 0_usize..200) {
        let key = op(1, Withdraw).key;
        let item = format!("{{\"req_id\":\"{}\",\"leg\":\"WITHDRAW\",\"seq\":6,\"success\":true}}", key.id);
        let body = format!("{{{},\"results\":[{item}]}}", who(9)).into_bytes();
        let asked = |body: &[u8]| {
            let reply = HttpReply { status: 200, body };
            results(KNOWN, &[op(1, Withdraw)], &asset_codes(), reply)
        };
        let short = &body[..cut % body.len()];
        prop_assert!(matches!(asked(short), Reply::NoAnswer(_)));
        let mut other = body.clone();
        let at = at % other.len();
        other[at] = byte;
        // a changed byte can make another number, another ledger or nothing; never a refusal, never
        // a result of another key
        match asked(&other) {
            Reply::Answered(known, answers) => {
                prop_assert!(!matches!(answers[..], [Answer::Rejected(..)]));
                prop_assert_eq!((known.identity, known.incarnation), (KNOWN.identity, KNOWN.incarnation));
            }
            Reply::NoAnswer(_) | Reply::OtherLedger(_) => {}
        }
    }

    #[test]
    fn amounts_are_read_as_they_are_written(number in any::<u128>(), sum in any::<i128>(), text in "\\PC{0,45}") {
        prop_assert_eq!(wire::amount(&number.to_string()).map(|a| a.0), Some(number));
        prop_assert_eq!(wire::sum(&sum.to_string()), Some(sum));
        if let Some(amount) = wire::amount(&text) {
            prop_assert_eq!(amount.to_string(), text);
        }
    }
}
