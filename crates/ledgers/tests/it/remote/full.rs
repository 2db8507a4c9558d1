//! The full form: how it asks, and what it does when no answer comes.
//!
//! Seen red with builds that: read a body to its end before they look at its length; bound the head
//! of an answer but not its body; send what was not answered again; give every caller a permit; leave
//! the number of a fence at 0.

use super::{Does, End, KNOWN, LedgerId, Remote, class, symbols};
use crate::fixture::{deposit, op, withdraw};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Leg;
use kernel::ids::{Id, UserId};
use kernel::operation::{Key, StoredOutcome};
use kernel::ports::ledger::{AccountStatus, Ledger, Reply, StatusChange, Stored};
use kernel::ports::sending::{NOT_SENT, SendPermission};
use kernel::record::System;
use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const WHO: &str = "\"ledger\":\"0000000000000000000000000000000a\",\
                   \"incarnation\":\"0000000000000000000000000000000b\",\"highest\":9";

fn done(n: u128, leg: Leg, seq: u64) -> String {
    let id = Id(n);
    format!("{{\"req_id\":\"{id}\",\"leg\":\"{}\",\"seq\":{seq},\"success\":true}}", leg.name())
}

fn results(items: &[String]) -> String {
    format!("{{{WHO},\"results\":[{}]}}", items.join(","))
}

#[tokio::test]
async fn a_request_says_whom_it_means_and_what_it_knows() {
    let end = End::saying(&[(200, &results(&[done(1, Leg::Withdraw, 6)]))]);
    let reply = end.full().execute(KNOWN, Arc::new([withdraw(1, 4001, 250)])).await;
    assert!(
        matches!(&reply, Reply::Answered(known, answers) if known.highest == 9
        && matches!(answers[..], [Answer::Done(_)])),
        "{reply:?}"
    );
    let asked = &end.requests()[0];
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /ledger/operations HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer s3cret"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let should = serde_json::json!({
        "ledger": "0000000000000000000000000000000a",
        "incarnation": "0000000000000000000000000000000b",
        "min_seq": 5,
        "operations": [{
            "req_id": Id(1).to_string(), "leg": "WITHDRAW", "user_id": "4001",
            "asset": "USDT", "amount": "250",
        }],
    });
    assert_eq!(body, should);
}

#[tokio::test]
async fn silence_in_every_form_is_unknown_and_asked_once() {
    for (does, says) in [
        (Does::Closes, "CONNECTION_LOST"),
        (Does::Hangs, "TIMEOUT"),
        // whoever waits for its end finds that it was done
        (Does::Drips(results(&[done(1, Leg::Withdraw, 6)])), "TIMEOUT"),
        (Does::Floods, "BODY_TOO_LARGE"),
        (Does::Answers(503, String::new()), "HTTP_STATUS"),
        (Does::Answers(200, "OK".to_owned()), "BAD_REPLY"),
    ] {
        let doing = does.clone();
        let end = End::that(move |_| doing.clone());
        let reply = end.full().execute(KNOWN, Arc::new([withdraw(1, 4001, 250)])).await;
        assert_eq!(class(&reply), says, "{does:?}: {reply:?}");
        assert_eq!(end.requests().len(), 1, "{does:?}");
    }
    let gone = End::saying(&[]);
    let mut settings = End::settings(gone.at);
    settings.url = "http://127.0.0.1:1".to_owned();
    let unreachable = Remote::new(LedgerId::FUTURE, &settings, symbols()).unwrap();
    assert_eq!(class(&unreachable.hello().await), "UNREACHABLE");
}

#[tokio::test]
async fn a_batch_goes_in_pieces_and_stops_where_one_is_lost() {
    let ops: Arc<[_]> = (1..6).map(|n| deposit(n, 4001, 10)).collect();
    let piece = |a, b| results(&[done(a, Leg::Deposit, 6), done(b, Leg::Deposit, 7)]);
    let end = End::saying(&[(200, &piece(1, 2)), (502, "bad gateway"), (200, &piece(3, 4))]);
    let Reply::Answered(_, answers) = end.full().execute(KNOWN, ops.clone()).await else {
        panic!("the first piece was answered")
    };
    let words: Vec<_> = answers.iter().map(Answer::word).collect();
    assert_eq!(words, ["done", "done", "unknown", "unknown", "unknown"]);
    let class = |answer: &Answer| {
        if let Answer::Unknown(cause) = answer { cause.class } else { "" }
    };
    assert_eq!((class(&answers[3]), class(&answers[4])), ("HTTP_STATUS", "NOT_SENT"));
    assert_eq!(end.requests().len(), 2, "nothing is sent after a piece that was lost");
    // the second piece says what the first one told
    assert!(end.requests()[1].contains("\"min_seq\":9"), "{}", end.requests()[1]);
}

#[tokio::test]
async fn what_the_wire_has_no_words_for_is_not_sent() {
    let hello = format!("{{{WHO}}}");
    let end = End::saying(&[(200, &hello), (200, &results(&[done(7, Leg::Deposit, 6)]))]);
    let ledger = end.full();
    let settle = op(1, Leg::Settle, 4001, 5);
    let reply = ledger.execute(KNOWN, Arc::new([settle.clone()])).await;
    assert!(
        matches!(&reply, Reply::Answered(_, answers) if matches!(answers[..], [Answer::Unknown(_)]))
    );
    assert!(end.requests()[0].starts_with("GET /ledger/hello"), "{}", end.requests()[0]);
    let Reply::Answered(_, answers) =
        ledger.execute(KNOWN, Arc::new([settle, deposit(7, 4001, 5)])).await
    else {
        panic!("it was answered")
    };
    assert_eq!(answers.iter().map(Answer::word).collect::<Vec<_>>(), ["unknown", "done"]);
    assert!(!end.requests()[1].contains("SETTLE"), "{}", end.requests()[1]);
}

#[tokio::test]
async fn a_fence_without_a_number_is_asked_for_it() {
    let key = Key { id: Id(1), leg: Leg::Withdraw };
    let fenced = format!("{{{WHO},\"fenced\":true}}");
    let item = done(1, Leg::Withdraw, 8).replace("\"success\":true", "\"error\":\"FENCED\"");
    let item = format!("{{{WHO},{}", &item[1..]);
    let end = End::saying(&[(200, &fenced), (200, &item)]);
    let Reply::Answered(_, Stored::Found(stone)) = end.full().fence(KNOWN, key).await else {
        panic!("it is fenced")
    };
    assert_eq!((stone.seq, stone.outcome), (8, StoredOutcome::Fenced));
    let asked = &end.requests()[1];
    assert!(asked.starts_with("GET /ledger/operations/"), "{asked}");
    assert!(asked.contains("incarnation=0000000000000000000000000000000b&min_seq=9"), "{asked}");
}

#[tokio::test]
async fn a_request_above_the_maximum_number_at_once_is_refused() {
    let end = End::that(|_| Does::Hangs);
    let ledger = end.full();
    let (a, b, c) = tokio::join!(ledger.hello(), ledger.hello(), ledger.hello());
    let mut classes = [class(&a), class(&b), class(&c)];
    classes.sort_unstable();
    assert_eq!(classes, ["BULKHEAD", "TIMEOUT", "TIMEOUT"]);
    assert_eq!(end.requests().len(), 2);
}

#[tokio::test]
async fn a_status_says_why_and_who_in_one_field() {
    let set = format!("{{{WHO},\"status\":\"FROZEN\"}}");
    let end = End::saying(&[(200, &set)]);
    let change = StatusChange {
        user: UserId(7),
        status: AccountStatus::Frozen,
        reason: "court order 12".into(),
        caller: "portage|9".into(),
        key: "k".into(),
    };
    assert!(matches!(end.full().status(KNOWN, change).await, Reply::Answered(_, true)));
    let asked = &end.requests()[0];
    assert!(asked.starts_with("POST /ledger/accounts/7/status"), "{asked}");
    assert!(asked.contains("\"reason\":\"court order 12 (by portage|9)\""), "{asked}");
}

struct May(AtomicBool);

impl SendPermission for May {
    fn last_halt(&self) -> u64 {
        7
    }

    fn may_send(&self, system: System, transfers: &[Id]) -> bool {
        assert_eq!(transfers, [Id(1)]);
        assert!(
            matches!(system, System::Ledger(LedgerId::FUTURE | LedgerId::MARGIN)),
            "{system:?}"
        );
        self.0.load(Ordering::SeqCst)
    }
}

/// The engine asked, and allowed it; then a HALT came, or the lease ran out, while the request waited for its
/// connection.
///
/// Wrong build that turns it red: a body that is given as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_a_byte_is_sent_of_what_may_not_be_sent_any_more() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let read = std::thread::spawn(move || {
        let forms = [(); 2].map(|()| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        forms.concat()
    });
    let full = Remote::new(LedgerId::FUTURE, &End::settings(at), symbols()).unwrap();
    let forms: [Box<dyn Ledger>; 2] = [Box::new(full), Box::new(End::client(at))];
    let may: Arc<dyn SendPermission> = Arc::new(May(AtomicBool::new(false)));
    for form in &forms {
        form.ask_before_sending(&may);
        let reply = form.execute(KNOWN, Arc::new([withdraw(1, 4001, 250)])).await;
        let refused = match &reply {
            Reply::NoAnswer(cause) => cause.class,
            Reply::Answered(_, answers) => match answers.as_slice() {
                [Answer::Unknown(cause)] => cause.class,
                other => panic!("{other:?}"),
            },
            Reply::OtherLedger(_) => panic!("{reply:?}"),
        };
        assert_eq!(refused, NOT_SENT, "{:?}", form.form());
    }
    drop(forms);
    assert_eq!(read.join().unwrap(), b"", "something was sent");
}

/// What may be sent has its length in its head, since a ledger need not understand chunks; a question is never
/// kept back.
#[tokio::test]
async fn what_may_be_sent_is_sent_with_its_length() {
    let end = End::saying(&[(200, &results(&[done(1, Leg::Withdraw, 6)])), (404, "")]);
    let full = end.full();
    let may = Arc::new(May(AtomicBool::new(true)));
    let permission: Arc<dyn SendPermission> = may.clone();
    full.ask_before_sending(&permission);
    full.execute(KNOWN, Arc::new([withdraw(1, 4001, 250)])).await;
    may.0.store(false, Ordering::SeqCst);
    full.query(KNOWN, Key { id: Id(1), leg: Leg::Withdraw }).await;
    let asked = end.requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let (head, body) = asked[0].split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    // the number that the engine follows
    assert!(head.contains("portage-halt: 7\r\n"), "{head}");
    assert!(!asked[1].to_lowercase().contains("portage-halt"), "{}", asked[1]);
}

/// Turns red where it is taken for a refusal, for another ledger, or for words that say nothing.
#[tokio::test]
async fn a_ledger_that_knows_of_a_later_halt_did_nothing_and_refused_nothing() {
    let stale = format!("{{{WHO},\"error\":\"STALE_HALT\",\"halt\":9}}");
    let elsewhere = stale.replace("0000000a", "0000000c");
    let end = End::saying(&[(409, &stale), (409, &elsewhere)]);
    let full = end.full();
    let ops: Arc<[_]> = Arc::new([withdraw(1, 4001, 250)]);
    let reply = full.execute(KNOWN, ops.clone()).await;
    assert!(
        matches!(&reply, Reply::NoAnswer(cause) if cause.class == Cause::HALTED
        && cause.to_string().contains("HALT 9")),
        "{reply:?}"
    );
    let reply = full.execute(KNOWN, ops).await;
    assert!(matches!(reply, Reply::OtherLedger(_)), "{reply:?}");
}

#[tokio::test]
async fn a_ledger_is_told_of_a_halt_and_says_which_it_knows() {
    let knows = |number: u64| format!("{{{WHO},\"halt\":{number}}}");
    let wrong = format!("{{{WHO},\"error\":\"WRONG_LEDGER\"}}");
    let answers = [
        (200, knows(7)),
        (200, knows(9)),
        (200, knows(6)),
        (404, "<html>".to_owned()),
        (503, String::new()),
        (409, wrong),
    ];
    let said: Vec<(u16, &str)> = answers.iter().map(|(n, text)| (*n, text.as_str())).collect();
    let end = End::saying(&said);
    let full = end.full();
    for highest in [Some(7), Some(9)] {
        let reply = full.note_halt(KNOWN, 7).await;
        assert!(matches!(&reply, Reply::Answered(_, said) if *said == highest), "{reply:?}");
    }
    assert_eq!(class(&full.note_halt(KNOWN, 7).await), "BAD_REPLY", "it did not take it");
    let reply = full.note_halt(KNOWN, 7).await;
    assert!(matches!(reply, Reply::Answered(_, None)), "it keeps no numbers: {reply:?}");
    assert_eq!(class(&full.note_halt(KNOWN, 7).await), "HTTP_STATUS");
    assert!(matches!(full.note_halt(KNOWN, 7).await, Reply::OtherLedger(_)));
    let asked = &end.requests()[0];
    assert!(asked.starts_with("POST /ledger/halt"), "{asked}");
    assert!(asked.contains("\"min_seq\":5,\"halt\":7}"), "{asked}");
}
