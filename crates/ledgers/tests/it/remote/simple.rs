//! The simple form: an error is a refusal only when the service says it again.
//!
//! Seen red with builds that: take the first error for a refusal; do not compare the two errors; ask
//! twice for one key at once; keep connections open; take a refused refund for a refusal.

use super::{Does, End, KNOWN, class};
use crate::hand::{deposit, refund, withdraw};
use kernel::answer::{Answer, Evidence, Receipt};
use kernel::ids::Id;
use kernel::life::Leg;
use kernel::ports::ledger::{Form, Heard, Ledger, Stored};
use kernel::unit::{Key, Op, Outcome};
use std::sync::Arc;

async fn one(end: &End, op: Op) -> Answer {
    match end.simple().execute(KNOWN, Arc::new([op])).await {
        Heard::Said(_, mut answers) => answers.pop().unwrap(),
        silent @ (Heard::Wrong(_) | Heard::Nothing(_)) => panic!("{silent:?}"),
    }
}

fn unknown(answer: &Answer) -> &'static str {
    if let Answer::Unknown(cause) = answer { cause.class } else { answer.word() }
}

const OK: (u16, &str) = (200, "{\"success\":true}");
const BROKE: (u16, &str) = (200, "{\"error\":\"Insufficient funds\"}");

#[tokio::test]
async fn done_is_done_and_has_no_number() {
    let end = End::saying(&[OK, OK, OK]);
    for (op, path) in [
        (withdraw(1, 4001, 5), "POST /ledger/withdraw "),
        (deposit(2, 4001, 5), "POST /ledger/deposit "),
        (refund(1, 4001, 5), "POST /ledger/rollback "),
    ] {
        assert_eq!(one(&end, op).await, Answer::Done(Receipt::seq(0)));
        let asked = end.heard().pop().unwrap();
        assert!(asked.starts_with(path), "{asked}");
    }
    let (_, body) =
        end.heard()[0].split_once("\r\n\r\n").map(|(h, b)| (h.to_owned(), b.to_owned())).unwrap();
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    let should = serde_json::json!({
        "req_id": Id(1).to_string(), "leg": "WITHDRAW", "user_id": 4001, "asset": "USDT", "amount": "5",
    });
    assert_eq!(body, should);
}

#[tokio::test]
async fn an_error_said_twice_is_a_refusal() {
    let end = End::saying(&[BROKE, BROKE]);
    let Answer::Rejected(why, receipt) = one(&end, withdraw(1, 4001, 5)).await else {
        panic!("it is refused")
    };
    assert_eq!((why.code.as_ref(), why.doc.as_deref()), ("REFUSED", Some("Insufficient funds")));
    assert_eq!(receipt.seq, 0);
    assert!(end.heard()[1].starts_with("POST /ledger/query "), "{:?}", end.heard());
    let end = End::saying(&[(400, "{\"error\":\"NO_MONEY\"}"), (200, "{\"error\":\"NO_MONEY\"}")]);
    let refused = Answer::Rejected(Evidence::code("NO_MONEY"), Receipt::seq(0));
    assert_eq!(one(&end, deposit(1, 4001, 5)).await, refused);
}

#[tokio::test]
async fn an_error_said_once_is_unknown() {
    for (then, says) in [
        ((200, "{\"error\":\"not found\"}"), "NOT_STORED"),
        ((200, "{\"status\":\"processing\"}"), "BAD_REPLY"),
        ((404, "{\"error\":\"Insufficient funds\"}"), "HTTP_STATUS"),
        ((500, ""), "HTTP_STATUS"),
        // an earlier request of that key arrived after all
        (OK, "done"),
    ] {
        let end = End::saying(&[BROKE, then]);
        assert_eq!(unknown(&one(&end, withdraw(1, 4001, 5)).await), says, "{then:?}");
    }
    let end = End::saying(&[BROKE]);
    assert_eq!(unknown(&one(&end, withdraw(1, 4001, 5)).await), "CONNECTION_LOST");
}

#[tokio::test]
async fn what_is_not_answered_is_unknown_and_asks_nothing_more() {
    for first in
        [(500, ""), (503, "{\"error\":\"x\"}"), (200, "{\"status\":\"processing\"}"), (302, "")]
    {
        let end = End::saying(&[first, OK]);
        assert!(matches!(one(&end, withdraw(1, 4001, 5)).await, Answer::Unknown(_)), "{first:?}");
        assert_eq!(end.heard().len(), 1, "{first:?}");
    }
    let end = End::that(|_| Does::Hangs);
    assert_eq!(unknown(&one(&end, withdraw(1, 4001, 5)).await), "TIMEOUT");
}

#[tokio::test]
async fn a_refund_is_never_refused() {
    let end = End::saying(&[BROKE, BROKE]);
    assert_eq!(unknown(&one(&end, refund(1, 4001, 5)).await), "REFUND_REFUSED");
    assert_eq!(end.heard().len(), 1);
}

#[tokio::test]
async fn each_request_has_a_connection_of_its_own() {
    let end = End::saying(&[BROKE, BROKE, OK, OK]);
    let service = end.simple();
    for n in 1..4 {
        service.execute(KNOWN, Arc::new([withdraw(n, 4001, 5)])).await;
    }
    assert_eq!((end.heard().len(), end.connections()), (4, 4));
}

#[tokio::test]
async fn one_key_is_asked_for_once_at_a_time() {
    let end = End::that(|_| Does::Hangs);
    let service = end.simple();
    let ask = || service.execute(KNOWN, Arc::new([withdraw(1, 4001, 5)]));
    let (a, b) = tokio::join!(ask(), ask());
    let word = |heard: Heard<Vec<Answer>>| match heard {
        Heard::Said(_, answers) => unknown(&answers[0]),
        silent @ (Heard::Wrong(_) | Heard::Nothing(_)) => panic!("{silent:?}"),
    };
    assert_eq!((word(a), word(b)), ("TIMEOUT", "ON_ITS_WAY"));
    assert_eq!(end.heard().len(), 1);
    // nothing is on its way any more
    assert_eq!(word(ask().await), "TIMEOUT");
}

#[tokio::test]
async fn it_proves_nothing() {
    let end = End::saying(&[OK, BROKE]);
    let service = end.simple();
    let key = Key { id: Id(1), leg: Leg::Deposit };
    assert_eq!(service.form(), Form::Simple);
    let Heard::Said(_, Stored::Found(done)) = service.query(KNOWN, key).await else {
        panic!("it says that it is done")
    };
    assert_eq!((done.op.key, done.outcome), (key, Outcome::Done));
    assert_eq!(class(&service.query(KNOWN, key).await), "NOT_PROVEN");
    assert_eq!(class(&service.fence(KNOWN, key).await), "NOT_OFFERED");
    assert_eq!(class(&service.totals().await), "NOT_OFFERED");
    assert_eq!(class(&service.operations(0, 10).await), "NOT_OFFERED");
    assert_eq!(end.heard().len(), 2);
}

#[tokio::test]
async fn it_is_there_while_it_answers() {
    let end = End::saying(&[OK]);
    let service = end.simple();
    assert!(matches!(service.hello().await, Heard::Said(..)));
    service.execute(KNOWN, Arc::new([deposit(1, 4001, 5)])).await;
    assert!(matches!(service.hello().await, Heard::Said(..)));
    service.execute(KNOWN, Arc::new([deposit(2, 4001, 5)])).await;
    assert_eq!(class(&service.hello().await), "CONNECTION_LOST");
}
