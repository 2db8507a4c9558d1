//! Compares drawn answers and requests with the reading of another parser: what counts must be in the
//! bytes, word for word. An input is a status, a blank, and a body.

use super::{KNOWN, asset_codes, change, op, who};
use crate::remote::classify::{self, Fenced, HttpReply, Simple};
use crate::remote::{queries, wire};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Leg;
use kernel::flow::life::Leg::{Deposit, Refund, Withdraw};
use kernel::operation::{Key, Known, Op, Operation, StoredOutcome};
use kernel::ports::ledger::{AccountStatus, Reply, Stored, Whose};
use serde_json::Value;
use sim::fuzz::{Target, kind};

const WORDS: [&str; 40] = [
    "200 ",
    "400 ",
    "404 ",
    "409 ",
    "503 ",
    "\"success\":true",
    "\"success\":false",
    "\"error\":\"X\"",
    "\"error\":\"FENCED\"",
    "\"error\":\"NOT_FOUND\"",
    "\"error\":\"WRONG_LEDGER\"",
    "\"error\":null",
    "\"unknown\":\"CONTRADICTION\"",
    "\"unknown\":\"X\"",
    "\"fenced\":true",
    "\"fenced\":false",
    "\"leg\":\"WITHDRAW\"",
    "\"leg\":\"DEPOSIT\"",
    "\"leg\":\"REFUND\"",
    "\"leg\":\"SETTLE\"",
    "\"seq\":6",
    "\"seq\":0",
    "\"seq\":18446744073709551615",
    "\"highest\":4",
    "\"highest\":9",
    "\"results\":[",
    "\"operations\":[",
    "\"user_id\":\"4001\"",
    "\"asset\":\"USDT\"",
    "\"asset\":\"BTC\"",
    "\"amount\":\"250\"",
    "\"amount\":\"0250\"",
    "{",
    "}",
    "]",
    ",",
    "null",
    "6.0",
    "\\u0000",
    "\u{feff}",
];

fn target(name: &str) -> Target<'_> {
    Target { name, crate_dir: env!("CARGO_MANIFEST_DIR"), words: &WORDS }
}

/// What the product reads, and how another parser reads it.
fn parted(input: &[u8]) -> (HttpReply<'_>, Option<Value>) {
    let at = input.iter().position(|byte| *byte == b' ').unwrap_or(0);
    let (status, body) = input.split_at(at);
    let status = std::str::from_utf8(status).ok().and_then(|text| text.parse().ok());
    let body = body.strip_prefix(b" ").unwrap_or(body);
    let value = serde_json::from_slice(body).ok();
    (HttpReply { status: status.unwrap_or(200), body }, value)
}

fn keyed(key: Key, rest: &str) -> String {
    format!("{{\"req_id\":\"{}\",\"leg\":\"{}\",{rest}}}", key.id, key.leg.name())
}

fn ops() -> [Op; 3] {
    [op(1, Withdraw), op(2, Deposit), op(3, Refund)]
}

/// Good answers of every kind.
fn answers() -> Vec<Vec<u8>> {
    let [first, second, third] = ops().map(|op| op.key);
    let terms = "\"user_id\":\"4001\",\"asset\":\"USDT\",\"amount\":\"250\"";
    let results = format!(
        "\"results\":[{},{},{}]",
        keyed(first, &format!("\"seq\":6,\"success\":true,{terms}")),
        keyed(second, "\"seq\":7,\"error\":\"ACCOUNT_DISABLED\""),
        keyed(third, "\"unknown\":\"DISK_FULL\""),
    );
    // a refund is never refused: it is unknown
    let refund = format!("\"results\":[{}]", keyed(third, "\"seq\":8,\"error\":\"X\""));
    let refund = refund.replace('[', &format!("[{},", keyed(first, "\"seq\":6,\"error\":\"X\"")));
    let listed = format!(
        "\"operations\":[{},{}]",
        keyed(first, &format!("\"seq\":6,\"success\":true,{terms}")),
        keyed(second, "\"seq\":7,\"error\":\"FENCED\""),
    );
    let one = format!("\"req_id\":\"{}\",\"leg\":\"WITHDRAW\"", first.id);
    let bodies = [
        (200, results.clone()),
        (400, results),
        (200, refund),
        (200, listed),
        (200, format!("{one},\"seq\":6,\"success\":true,{terms}")),
        (200, format!("{one},\"seq\":6,\"error\":\"X\"")),
        (404, "\"error\":\"NOT_FOUND\"".to_owned()),
        (409, "\"error\":\"WRONG_LEDGER\"".to_owned()),
        (200, "\"fenced\":true".to_owned()),
        (200, format!("\"fenced\":true,{one},\"seq\":6")),
        (
            200,
            "\"totals\":[{\"asset\":\"USDT\",\"users\":\"5\",\"frozen\":\"0\",\"clearing\":\"-5\",\
                 \"world\":\"0\",\"seq\":9}]"
                .to_owned(),
        ),
        (200, "\"status\":\"ACTIVE\"".to_owned()),
        (503, "\"unknown\":\"DISK_FULL\"".to_owned()),
    ];
    bodies.map(|(status, rest)| format!("{status} {{{},{rest}}}", who(9)).into_bytes()).into()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

fn is_of(value: &Value, key: Key) -> bool {
    text(value, "req_id") == Some(&*key.id.to_string())
        && text(value, "leg") == Some(key.leg.name())
}

/// It says who it is, and is who was asked.
fn ours(value: &Value, known: Known) -> bool {
    text(value, "ledger") == Some(&*wire::hex(KNOWN.identity.0))
        && text(value, "incarnation") == Some(&*wire::hex(KNOWN.incarnation.0))
        && value.get("highest").and_then(Value::as_u64) == Some(known.highest)
        && known.highest >= KNOWN.highest
}

/// The object says that it is done, under a number, and nothing else.
fn done(value: &Value, status: u16, highest: u64) -> bool {
    let free = value.get("error").is_none() && text(value, "unknown").is_none();
    status == 200
        && value.get("success") == Some(&Value::Bool(true))
        && free
        && numbered(value, highest)
}

/// The object says that this is refused for ever, under a number, and nothing else.
fn refused(value: &Value, status: u16, leg: Leg, code: &str, highest: u64) -> bool {
    let free = value.get("success").is_none() && text(value, "unknown").is_none();
    matches!(status, 200 | 400)
        && text(value, "error") == Some(code)
        && free
        && leg != Refund
        && numbered(value, highest)
}

fn numbered(value: &Value, highest: u64) -> bool {
    let seq = value.get("seq").and_then(Value::as_u64);
    seq.is_some_and(|seq| seq > 0 && seq <= highest)
}

/// Terms that are said are those that were asked for.
fn fits(value: &Value, op: &Op) -> bool {
    let said = ["user_id", "asset", "amount"].map(|name| value.get(name));
    said == [None; 3]
        || (said == [Some(&"4001".into()), Some(&"USDT".into()), Some(&"250".into())]
            && op.amount.0 == 250)
}

/// What was heard, as a kind of answer.
#[derive(Hash)]
enum ReplyKind<K> {
    Unknown(&'static str),
    Other,
    Said(K),
}

fn check_reply<T, K>(
    reply: Reply<T>,
    value: Option<&Value>,
    look: impl FnOnce(Known, &Value, T) -> K,
) -> ReplyKind<K> {
    match (reply, value) {
        (Reply::NoAnswer(Cause { class, .. }), _) => ReplyKind::Unknown(class),
        (Reply::Answered(known, said), Some(value)) => ReplyKind::Said(look(known, value, said)),
        (Reply::OtherLedger(known), Some(value)) => {
            let named = text(value, "ledger") == Some(&*wire::hex(known.identity.0));
            assert!(named, "it did not say who it is: {value}");
            let other = !ours(value, known) || text(value, "error") == Some("WRONG_LEDGER");
            assert!(other, "it is who was asked: {value}");
            ReplyKind::Other
        }
        (Reply::Answered(..) | Reply::OtherLedger(_), None) => panic!("no other parser reads it"),
    }
}

fn results(reply: HttpReply<'_>, value: Option<&Value>) -> u64 {
    let ops = ops();
    let said = classify::results(KNOWN, &ops, &asset_codes(), reply);
    kind(&check_reply(said, value, |known, value, answers| {
        assert!(ours(value, known), "not the ledger: {value}");
        assert_eq!(answers.len(), ops.len());
        let none = Vec::new();
        let items = value.get("results").and_then(Value::as_array).unwrap_or(&none);
        let word = |(op, answer): (&Op, Answer)| {
            let mut of = items.iter().filter(|item| is_of(item, op.key));
            match answer {
                Answer::Done(receipt) => {
                    let well =
                        of.any(|item| done(item, reply.status, known.highest) && fits(item, op));
                    assert!(well && receipt.seq > 0, "not done: {value}");
                    "done"
                }
                Answer::Rejected(why, _) => {
                    let (leg, code, highest) = (op.key.leg, &*why.code, known.highest);
                    let well = of.any(|item| refused(item, reply.status, leg, code, highest));
                    assert!(well, "not refused: {value}");
                    "rejected"
                }
                Answer::Unknown(cause) => cause.class,
                Answer::Dead(_) => panic!("a ledger calls nothing dead: {value}"),
            }
        };
        ops.iter().zip(answers).map(word).collect::<Vec<_>>()
    }))
}

/// What is found under a key is there.
fn found(value: &Value, status: u16, highest: u64, operation: &Operation) -> &'static str {
    let key = operation.op.key;
    assert!(is_of(value, key), "another key: {value}");
    let fenced = value.get("fenced") == Some(&Value::Bool(true)) && status == 200;
    match &operation.outcome {
        StoredOutcome::Done => {
            assert!(done(value, status, highest), "not done: {value}");
            "done"
        }
        StoredOutcome::Rejected(why) => {
            assert!(refused(value, status, key.leg, &why.code, highest), "not refused: {value}");
            "rejected"
        }
        StoredOutcome::Fenced => {
            let said = refused(value, status, key.leg, "FENCED", highest);
            assert!(said || (fenced && numbered(value, highest)), "not fenced: {value}");
            "fenced"
        }
    }
}

fn stored(value: &Value, reply: HttpReply<'_>, known: Known, stored: &Stored) -> &'static str {
    assert!(ours(value, known), "not the ledger: {value}");
    match stored {
        Stored::Found(operation) => found(value, reply.status, known.highest, operation),
        Stored::Nothing => {
            assert_eq!((reply.status, text(value, "error")), (404, Some("NOT_FOUND")));
            "nothing"
        }
    }
}

fn of_one_key(reply: HttpReply<'_>, value: Option<&Value>) -> u64 {
    let key = op(1, Withdraw).key;
    let asked = classify::stored(KNOWN, key, &asset_codes(), reply);
    let asked = check_reply(asked, value, |known, value, said| stored(value, reply, known, &said));
    let fence = classify::fenced(KNOWN, key, &asset_codes(), reply);
    let fence = check_reply(fence, value, |known, value, said| match said {
        Fenced::Stored(said) => stored(value, reply, known, &said),
        Fenced::Unnumbered => {
            let fenced = value.get("fenced") == Some(&Value::Bool(true));
            assert!(fenced && reply.status == 200 && ours(value, known), "{value}");
            "unnumbered"
        }
    });
    kind(&(asked, fence))
}

fn listed(reply: HttpReply<'_>, value: Option<&Value>) -> u64 {
    let said = classify::operations(5, 10, &asset_codes(), reply);
    kind(&check_reply(said, value, |known, value, operations| {
        let list = value.get("operations").and_then(Value::as_array).unwrap();
        assert_eq!((list.len(), reply.status), (operations.len(), 200), "{value}");
        assert!(operations.is_sorted_by(|a, b| a.seq < b.seq), "{value}");
        assert!(operations.iter().all(|operation| operation.seq > 5), "{value}");
        let each = list.iter().zip(&operations);
        each.map(|(item, operation)| found(item, 200, known.highest, operation)).collect::<Vec<_>>()
    }))
}

/// Whatever counts as an answer is one, word for word; everything else is unknown.
#[test]
fn what_counts_as_an_answer_is_one() {
    let done = target("answers").run(answers(), |input| {
        let (reply, value) = parted(input);
        let value = value.as_ref();
        let status = AccountStatus::Active;
        let queries = (
            check_reply(queries::totals(&asset_codes(), reply), value, |_, _, said| said.len()),
            check_reply(queries::hello(reply), value, |_, _, _| 0),
            check_reply(queries::horizon(KNOWN, reply), value, |known, v, ()| {
                assert!(ours(v, known))
            }),
            check_reply(queries::status(KNOWN, &change(status), reply), value, |known, v, _| {
                assert!(ours(v, known))
            }),
            queries::holdings(Whose::After(0, 9), &asset_codes(), reply).is_ok(),
        );
        kind(&(
            results(reply, value),
            of_one_key(reply, value),
            listed(reply, value),
            kind(&queries),
        ))
    });
    assert!(done.kinds > 20, "{done:?}");
}

#[test]
fn what_counts_as_a_simple_answer_is_one() {
    let id = op(1, Withdraw).key.id.to_string();
    let starts = [
        format!("200 {{\"req_id\":\"{id}\",\"leg\":\"WITHDRAW\",\"success\":true}}"),
        format!("400 {{\"req_id\":\"{id}\",\"leg\":\"WITHDRAW\",\"error\":\"no\"}}"),
        "200 {\"success\":true}".to_owned(),
        "400 {\"error\":\"the account is frozen\"}".to_owned(),
        "500 {\"success\":true}".to_owned(),
    ];
    let done = target("simple").run(starts.map(String::into_bytes).into(), |input| {
        let (reply, value) = parted(input);
        let value = value.unwrap_or_default();
        let own = |name, own: &str| value.get(name).is_none_or(|said| said == own);
        let said = match classify::simple(&id, Withdraw, reply) {
            Err(cause) => return kind(&cause.class),
            Ok(said) => said,
        };
        let both = value.get("req_id").is_some() && value.get("leg").is_some();
        assert_eq!(said.named, both, "{value}");
        match said.simple {
            Simple::Done => {
                assert!(
                    reply.status == 200 && own("req_id", &id) && own("leg", "WITHDRAW"),
                    "{value}"
                );
                assert_eq!(value.get("success"), Some(&Value::Bool(true)), "{value}");
                assert_eq!(value.get("error"), None, "{value}");
                kind(&("done", both))
            }
            Simple::Refused(words) => {
                let named = own("req_id", &id) && own("leg", "WITHDRAW");
                assert!(matches!(reply.status, 200 | 400) && named, "{value}");
                assert_eq!(text(&value, "error"), Some(&*words), "{value}");
                assert_eq!(value.get("success"), None, "{value}");
                assert!(!words.is_empty() && !words.contains(char::is_control), "{value}");
                kind(&("refused", both))
            }
        }
    });
    assert!(done.kinds >= 4, "{done:?}");
}

/// What our own end of the wire takes for an operation is what was written, and has no second
/// spelling.
#[test]
fn what_is_asked_for_has_one_spelling() {
    let asked = |op: &Op| {
        let op = wire::OperationRequest::of(op, &asset_codes()).unwrap();
        let wire::Head { ledger, incarnation, min_seq } = wire::Head::of(KNOWN);
        wire::Operations { ledger, incarnation, min_seq, operations: vec![op] }
    };
    let starts = ops().map(|op| serde_json::to_vec(&asked(&op)).unwrap());
    let done = target("requests").run(starts.into(), |input| {
        let Ok(body) = serde_json::from_slice::<wire::Operations>(input) else { return 0 };
        let wire::Operations { ledger, incarnation, min_seq, operations } = body;
        let head = wire::Head { ledger, incarnation, min_seq };
        let known = head.known();
        assert!(known.is_none_or(|known| wire::Head::of(known) == head), "{head:?}");
        let word = |asked: &wire::OperationRequest| match asked.op(&asset_codes()) {
            Ok(op) => {
                let again = wire::OperationRequest::of(&op, &asset_codes());
                // what no caller can ask for is refused further in
                let none = op.amount.0 == 0 || asked.user_id == "0";
                assert!(again.as_ref() == Some(asked) || (again.is_none() && none), "{asked:?}");
                1
            }
            Err(None) => 2,
            Err(Some(_)) => 3,
        };
        kind(&(known.is_some(), operations.iter().map(word).collect::<Vec<_>>()))
    });
    assert!(done.kinds > 4, "{done:?}");
}

#[test]
fn what_is_read_as_a_sum_is_written_so() {
    let starts = ["0", "1", "-5", "250", "340282366920938463463374607431768211455"];
    let done = target("sums").run(starts.map(|text| text.as_bytes().to_vec()).into(), |input| {
        let text = String::from_utf8_lossy(input);
        let (amount, sum) = (wire::amount(&text), wire::sum(&text));
        assert!(amount.is_none_or(|amount| amount.to_string() == text), "{text}");
        assert!(sum.is_none_or(|sum| sum.to_string() == text), "{text}");
        kind(&(amount.is_some(), sum.is_some(), text.len().clamp(0, 40)))
    });
    assert!(done.kinds > 20, "{done:?}");
}
