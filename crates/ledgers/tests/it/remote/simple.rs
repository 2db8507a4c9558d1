//! The simple form: an answer counts by what it names, and a refusal only where no request before it
//! is unanswered.
//!
//! Each of these wrong builds was run and turns a test here red: an answer without a name counts as
//! one with it, also where it names `req_id` or `leg` alone, or another operation; the two errors are
//! not compared; the first error is a refusal; that a request was not answered is forgotten, also by
//! an answer before or after it or by one that never left; every claim is of this run; a success
//! without a name is followed by no control question, counts after a request without an answer, or
//! from a service that names what it answers; one key is asked for twice at once; connections stay
//! open; a refused refund is a refusal.

use super::{Does, End, KNOWN, class};
use crate::fixture::{deposit, refund, withdraw};
use kernel::answer::{Answer, Evidence, Receipt};
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::{Key, Op, StoredOutcome};
use kernel::ports::ledger::{EarlierSends, Ledger, LedgerForm, Reply, Stored};
use ledgers::remote::SimpleRemote;
use std::sync::{Arc, Mutex};

async fn sent(service: &SimpleRemote, op: Op, earlier: EarlierSends) -> Answer {
    match service.execute_after(KNOWN, Arc::new([op]), Arc::new([earlier])).await {
        Reply::Answered(_, mut answers) => answers.pop().unwrap(),
        silent @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => panic!("{silent:?}"),
    }
}

/// The first request of a claim of this run.
async fn one(end: &End, op: Op) -> Answer {
    sent(&end.simple(), op, EarlierSends::None).await
}

fn unknown(answer: &Answer) -> &'static str {
    if let Answer::Unknown(cause) = answer { cause.class } else { answer.word() }
}

/// What is said with the key of a request in front, as the contract asks.
fn named(op: &Op, says: &str) -> String {
    format!("{{\"req_id\":\"{}\",\"leg\":\"{}\",{says}}}", op.key.id, op.key.leg.name())
}

/// An other end that answers these in turn about an operation, by name; then nothing.
fn naming(op: &Op, answers: &[(u16, &str)]) -> End {
    let bodies: Vec<_> = answers.iter().map(|(status, says)| (*status, named(op, says))).collect();
    let answers: Vec<_> = bodies.iter().map(|(status, body)| (*status, body.as_str())).collect();
    End::saying(&answers)
}

const OK: (u16, &str) = (200, "{\"success\":true}");
const BROKE: (u16, &str) = (200, "{\"error\":\"Insufficient funds\"}");
const NONE: (u16, &str) = (404, "{}");
const DONE: (u16, &str) = (200, "\"success\":true");
const REFUSED: (u16, &str) = (200, "\"error\":\"Insufficient funds\",\"stored\":true");
const ABSENT: (u16, &str) = (404, "\"error\":\"NOT_FOUND\"");
const PROCESSING: (u16, &str) = (200, "\"status\":\"processing\"");

#[tokio::test]
async fn done_is_done_and_has_no_number() {
    for (op, path) in [
        (withdraw(1, 4001, 5), "POST /ledger/withdraw "),
        (deposit(2, 4001, 5), "POST /ledger/deposit "),
        (refund(1, 4001, 5), "POST /ledger/rollback "),
    ] {
        let end = naming(&op, &[DONE, DONE, ABSENT, DONE]);
        let service = end.simple();
        for _ in 0..2 {
            let answer = sent(&service, op.clone(), EarlierSends::None).await;
            assert_eq!(answer, Answer::Done(Receipt::seq(0)));
        }
        let requests = end.requests();
        // the first success costs two questions, and no other one does
        let [asked, _, _, again] = requests.as_slice() else { panic!("{requests:?}") };
        assert!(again.starts_with(path), "{again}");
        assert!(asked.starts_with(path), "{asked}");
        let (_, body) = asked.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let should = serde_json::json!({
            "req_id": op.key.id.to_string(), "leg": op.key.leg.name(), "user_id": "4001",
            "asset": "USDT", "amount": "5",
        });
        assert_eq!(body, should);
    }
}

#[tokio::test]
async fn an_error_said_twice_by_name_is_a_refusal() {
    let op = withdraw(1, 4001, 5);
    let end = naming(&op, &[REFUSED, REFUSED]);
    let Answer::Rejected(why, receipt) = one(&end, op).await else { panic!("it is refused") };
    assert_eq!((why.code.as_ref(), why.doc.as_deref()), ("REFUSED", Some("Insufficient funds")));
    assert_eq!(receipt.seq, 0);
    assert!(end.requests()[1].starts_with("POST /ledger/query "), "{:?}", end.requests());
    let op = deposit(1, 4001, 5);
    let end =
        naming(&op, &[(400, "\"error\":\"NO_MONEY\""), (200, "\"error\":\"NO_MONEY\",\"seq\":7")]);
    let refused = Answer::Rejected(Evidence::code("NO_MONEY"), Receipt::seq(0));
    assert_eq!(one(&end, op).await, refused);
}

/// What stands before the service says so on every route.
#[tokio::test]
async fn an_error_that_names_nothing_is_unknown_however_often_it_is_said() {
    let op = withdraw(1, 4001, 5);
    let id_alone = format!("{{\"req_id\":\"{}\",\"error\":\"Insufficient funds\"}}", op.key.id);
    let leg_alone =
        format!("{{\"leg\":\"{}\",\"error\":\"Insufficient funds\"}}", op.key.leg.name());
    for body in [BROKE.1, "{\"error\":\"invalid request\"}", &id_alone, &leg_alone] {
        for status in [200, 400] {
            let end = End::saying(&[(status, body); 8]);
            let service = end.simple();
            for earlier in [EarlierSends::None, EarlierSends::OnlyHere, EarlierSends::Unknown] {
                let answer = sent(&service, op.clone(), earlier).await;
                assert_eq!(unknown(&answer), "UNNAMED_ANSWER", "{body}");
                let Answer::Unknown(cause) = answer else { panic!("{answer:?}") };
                let told = cause.detail.unwrap();
                assert!(told.contains("req_id and leg") && told.contains("MARGIN"), "{told}");
            }
        }
    }
    // its own error by name, and then something before it that answers the query
    let own = named(&op, REFUSED.1);
    let end = End::saying(&[(200, &own), BROKE]);
    assert_eq!(unknown(&one(&end, op).await), "UNNAMED_ANSWER");
}

/// A cached or a mixed-up answer names another request.
#[tokio::test]
async fn an_answer_that_names_another_operation_says_nothing() {
    let op = withdraw(1, 4001, 5);
    let other_id = withdraw(2, 4001, 5);
    let other_leg = deposit(1, 4001, 5);
    for other in [other_id, other_leg] {
        for (status, says) in [DONE, REFUSED] {
            let theirs = named(&other, says);
            let end = End::saying(&[(status, &*theirs), (status, &*theirs)]);
            assert_eq!(unknown(&one(&end, op.clone()).await), "BAD_REPLY", "{theirs}");
            // to the query alone
            let own = named(&op, REFUSED.1);
            let end = End::saying(&[(200, &*own), (status, &*theirs)]);
            assert_eq!(unknown(&one(&end, op.clone()).await), "BAD_REPLY", "{theirs}");
        }
    }
}

/// The schedule that paid 100 units back that had been delivered.
#[tokio::test]
async fn after_a_request_that_was_not_answered_a_refusal_is_a_persons_to_take() {
    let op = deposit(1, 4001, 5);
    for lost in [(500, "{}"), (200, "{}"), (503, "{\"error\":\"x\"}"), (401, "{}"), BROKE] {
        let refused = named(&op, REFUSED.1);
        let says = [lost, (200, &*refused), (200, &*refused), (200, &*refused), (200, &*refused)];
        let end = End::saying(&says);
        let service = end.simple();
        let first = sent(&service, op.clone(), EarlierSends::None).await;
        assert!(matches!(first, Answer::Unknown(_)), "{first:?}");
        for _ in 0..2 {
            let again = sent(&service, op.clone(), EarlierSends::OnlyHere).await;
            assert_eq!(unknown(&again), "UNANSWERED_BEFORE", "{lost:?}");
        }
    }
    // closed without an answer: it may be delivered yet
    let refused = named(&op, REFUSED.1);
    let turn = Mutex::new(0);
    let end = End::that(move |_| {
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        if *turn == 1 { Does::Closes } else { Does::Answers(200, refused.clone()) }
    });
    let service = end.simple();
    let first = sent(&service, op.clone(), EarlierSends::None).await;
    assert_eq!(unknown(&first), "CONNECTION_LOST");
    let again = sent(&service, op.clone(), EarlierSends::OnlyHere).await;
    assert_eq!(unknown(&again), "UNANSWERED_BEFORE");
    // a person may, by what the query says by name
    let Reply::Answered(_, Stored::Found(stored)) = service.query(KNOWN, op.key).await else {
        panic!("it is stored")
    };
    assert!(matches!(stored.outcome, StoredOutcome::Rejected(_)), "{stored:?}");
}

/// A claim that this run did not make may have been sent by the one that did.
#[tokio::test]
async fn a_claim_of_an_earlier_run_counts_as_a_request_without_an_answer() {
    let op = withdraw(1, 4001, 5);
    let end = naming(&op, &[REFUSED; 4]);
    let service = end.simple();
    for earlier in [EarlierSends::Unknown, EarlierSends::OnlyHere] {
        let answer = sent(&service, op.clone(), earlier).await;
        assert_eq!(unknown(&answer), "UNANSWERED_BEFORE", "{earlier:?}");
    }
    // one that does not say what was sent before says nothing
    let end = naming(&op, &[REFUSED; 2]);
    let Reply::Answered(_, answers) = end.simple().execute(KNOWN, Arc::new([op])).await else {
        panic!("it answers")
    };
    assert_eq!(unknown(&answers[0]), "UNANSWERED_BEFORE");
}

/// What never left this process, and what the service answered by name, leaves nothing on its way.
#[tokio::test]
async fn a_refusal_counts_again_after_what_surely_left_nothing_behind() {
    let op = withdraw(1, 4001, 5);
    let end = naming(&op, &[REFUSED, PROCESSING, REFUSED, REFUSED]);
    let service = end.simple();
    let first = sent(&service, op.clone(), EarlierSends::None).await;
    assert_eq!(unknown(&first), "BAD_REPLY", "its query is not answered");
    let again = sent(&service, op.clone(), EarlierSends::OnlyHere).await;
    assert!(matches!(again, Answer::Rejected(..)), "{again:?}");

    let at = End::unused_address();
    let service = End::client(at);
    let first = sent(&service, op.clone(), EarlierSends::None).await;
    assert_eq!(unknown(&first), "UNREACHABLE");
    let refused = named(&op, REFUSED.1);
    let _end = End::on(at, move |_| Does::Answers(200, refused.clone()));
    let again = sent(&service, op, EarlierSends::OnlyHere).await;
    assert!(matches!(again, Answer::Rejected(..)), "{again:?}");
}

/// One request without an answer is enough, whatever was answered before it and after it.
#[tokio::test]
async fn an_answer_takes_back_no_other_request_that_was_not_answered() {
    let op = withdraw(1, 4001, 5);
    let own = |(status, says): (u16, &str)| (status, named(&op, says));
    let lost = || (500, String::new());
    for says in [
        [own(REFUSED), own(PROCESSING), lost(), own(REFUSED), own(REFUSED)],
        [lost(), own(REFUSED), own(PROCESSING), own(REFUSED), own(REFUSED)],
    ] {
        let says: Vec<_> = says.iter().map(|(status, body)| (*status, &**body)).collect();
        let end = End::saying(&says);
        let service = end.simple();
        for earlier in [EarlierSends::None, EarlierSends::OnlyHere] {
            let answer = sent(&service, op.clone(), earlier).await;
            assert!(matches!(answer, Answer::Unknown(_)), "{says:?}: {answer:?}");
        }
        let last = sent(&service, op.clone(), EarlierSends::OnlyHere).await;
        assert_eq!(unknown(&last), "UNANSWERED_BEFORE", "{says:?}");
        assert_eq!(end.requests().len(), 5, "{says:?}");
    }
    // nor does one that never left this process
    let at = End::unused_address();
    let service = End::client(at);
    let first = sent(&service, op.clone(), EarlierSends::Unknown).await;
    assert_eq!(unknown(&first), "UNREACHABLE");
    let refused = named(&op, REFUSED.1);
    let _end = End::on(at, move |_| Does::Answers(200, refused.clone()));
    let again = sent(&service, op, EarlierSends::OnlyHere).await;
    assert_eq!(unknown(&again), "UNANSWERED_BEFORE");
}

/// The source's table has `{"success": true}`, so that counts, once, where the query tells it from
/// what does not exist.
#[tokio::test]
async fn a_success_without_a_name_counts_where_the_query_tells_it_apart() {
    let op = deposit(1, 4001, 5);
    let end = End::saying(&[OK, OK, NONE]);
    assert_eq!(one(&end, op.clone()).await, Answer::Done(Receipt::seq(0)));
    let requests = end.requests();
    assert!(requests[1].contains(&op.key.id.to_string()), "{requests:?}");
    assert!(requests[2].contains("/query ") && !requests[2].contains(&op.key.id.to_string()));
    for (says, why) in [
        // what says so to everything
        (&[OK, OK, OK][..], "ANSWERS_ALIKE"),
        (&[OK, BROKE][..], "UNNAMED_ANSWER"),
        (&[OK, NONE][..], "HTTP_STATUS"),
        (&[OK, OK, (500, "")][..], "ANSWERS_ALIKE"),
        (&[OK, OK][..], "CONNECTION_LOST"),
    ] {
        assert_eq!(unknown(&one(&End::saying(says), op.clone()).await), why, "{says:?}");
    }
    // not after one that was not answered
    let end = End::saying(&[(500, ""), OK, OK, NONE]);
    let service = end.simple();
    sent(&service, op.clone(), EarlierSends::None).await;
    let again = sent(&service, op.clone(), EarlierSends::OnlyHere).await;
    assert_eq!(unknown(&again), "UNNAMED_ANSWER");
    // nor from a service that is known to name what it answers
    let own = named(&op, DONE.1);
    let end = End::saying(&[(200, &own), OK, OK, NONE]);
    let service = end.simple();
    sent(&service, op, EarlierSends::None).await;
    let other = sent(&service, deposit(2, 4001, 5), EarlierSends::None).await;
    assert_eq!(unknown(&other), "UNNAMED_ANSWER");
}

/// A handler that catches every fault, and names what it was asked: the operation may be in the books, or be done
/// later. Turns red where any words of the service are a refusal (run: paid back what was delivered).
#[tokio::test]
async fn an_error_that_is_not_defined_refuses_nothing_and_may_be_done_yet() {
    let op = deposit(1, 4001, 5);
    for words in [
        "internal error",
        "Timeout waiting for database",
        "UPSTREAM_TIMEOUT",
        "insufficient_balance",
    ] {
        let says = format!("\"error\":\"{words}\",\"stored\":true");
        for status in [200, 400] {
            let end = naming(&op, &[(status, &*says), REFUSED, REFUSED]);
            let service = end.simple();
            let first = sent(&service, op.clone(), EarlierSends::None).await;
            assert_eq!(unknown(&first), "UNDEFINED_REFUSAL", "{words}");
            let Answer::Unknown(cause) = first else { panic!("{first:?}") };
            assert!(cause.detail.unwrap().contains("ledgers.margin.refusals"), "{words}");
            assert_eq!(end.requests().len(), 1, "{words}: its query would say the same");
            let again = sent(&service, op.clone(), EarlierSends::OnlyHere).await;
            assert_eq!(unknown(&again), "UNANSWERED_BEFORE", "{words}");
        }
    }
    for code in ["INSUFFICIENT_BALANCE", "ACCOUNT_FROZEN", "ASSET_SUSPENDED"] {
        let says = format!("\"error\":\"{code}\",\"stored\":true");
        let end = naming(&op, &[(200, &*says), (200, &*says)]);
        assert!(matches!(one(&end, op.clone()).await, Answer::Rejected(..)), "{code}");
    }
}

/// Turns red where the query's words alone are taken for a proof that they are stored.
#[tokio::test]
async fn a_refusal_without_the_mark_of_what_is_stored_is_unknown() {
    let op = deposit(1, 4001, 5);
    let bare = (200, "\"error\":\"Insufficient funds\"");
    let end = naming(&op, &[REFUSED, bare]);
    let answer = one(&end, op.clone()).await;
    assert_eq!(unknown(&answer), "NOT_STORED");
    // in the answer of the call it is not needed
    let end = naming(&op, &[bare, REFUSED]);
    assert!(matches!(one(&end, op).await, Answer::Rejected(..)));
}

/// `{**request, "success": true}`. Turns red where a success by name is believed from the first one on (run:
/// committed, and nothing was booked).
#[tokio::test]
async fn an_echo_is_not_believed() {
    let end = End::that(|text| {
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        let mut said: serde_json::Value = serde_json::from_str(body).unwrap();
        said["success"] = true.into();
        Does::Answers(200, said.to_string())
    });
    let service = end.simple();
    for _ in 0..2 {
        for op in [deposit(1, 4001, 5), refund(2, 4001, 5)] {
            let answer = sent(&service, op.clone(), EarlierSends::None).await;
            assert_eq!(unknown(&answer), "ANSWERS_ALIKE");
            assert_eq!(class(&service.query(KNOWN, op.key).await), "ANSWERS_ALIKE");
        }
    }
    // nor is a success that its own query denies
    let op = deposit(1, 4001, 5);
    let end = naming(&op, &[DONE, REFUSED]);
    assert_eq!(unknown(&one(&end, op).await), "NOT_STORED");
}

#[tokio::test]
async fn an_error_said_once_is_unknown() {
    let op = withdraw(1, 4001, 5);
    for (then, says) in [
        ((200, "\"error\":\"not found\""), "NOT_STORED"),
        (PROCESSING, "BAD_REPLY"),
        ((404, "\"error\":\"Insufficient funds\""), "HTTP_STATUS"),
        ((500, "\"x\":1"), "HTTP_STATUS"),
        // an earlier request of that key arrived after all
        (DONE, "done"),
    ] {
        let end = naming(&op, &[REFUSED, then, ABSENT]);
        assert_eq!(unknown(&one(&end, op.clone()).await), says, "{then:?}");
    }
    let end = naming(&op, &[REFUSED]);
    assert_eq!(unknown(&one(&end, op).await), "CONNECTION_LOST");
}

#[tokio::test]
async fn what_is_not_answered_is_unknown_and_asks_nothing_more() {
    for first in
        [(500, ""), (503, "{\"error\":\"x\"}"), (200, "{\"status\":\"processing\"}"), (302, "")]
    {
        let end = End::saying(&[first, OK]);
        assert!(matches!(one(&end, withdraw(1, 4001, 5)).await, Answer::Unknown(_)), "{first:?}");
        assert_eq!(end.requests().len(), 1, "{first:?}");
    }
    let end = End::that(|_| Does::Hangs);
    assert_eq!(unknown(&one(&end, withdraw(1, 4001, 5)).await), "TIMEOUT");
}

#[tokio::test]
async fn a_refund_is_never_refused() {
    let op = refund(1, 4001, 5);
    let end = naming(&op, &[REFUSED, REFUSED]);
    assert_eq!(unknown(&one(&end, op).await), "REFUND_REFUSED");
    assert_eq!(end.requests().len(), 1);
}

#[tokio::test]
async fn each_request_has_a_connection_of_its_own() {
    let op = withdraw(1, 4001, 5);
    let end = naming(&op, &[REFUSED, REFUSED, DONE, DONE, ABSENT, DONE]);
    let service = end.simple();
    for _ in 0..3 {
        service.execute(KNOWN, Arc::new([op.clone()])).await;
    }
    assert_eq!((end.requests().len(), end.connections()), (6, 6));
}

#[tokio::test]
async fn one_key_is_asked_for_once_at_a_time() {
    let end = End::that(|_| Does::Hangs);
    let service = end.simple();
    let ask = || service.execute(KNOWN, Arc::new([withdraw(1, 4001, 5)]));
    let (a, b) = tokio::join!(ask(), ask());
    let word = |reply: Reply<Vec<Answer>>| match reply {
        Reply::Answered(_, answers) => unknown(&answers[0]),
        silent @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => panic!("{silent:?}"),
    };
    assert_eq!((word(a), word(b)), ("TIMEOUT", "ON_ITS_WAY"));
    assert_eq!(end.requests().len(), 1);
    // nothing is on its way any more
    assert_eq!(word(ask().await), "TIMEOUT");
}

#[tokio::test]
async fn its_query_says_what_is_stored_by_name_alone() {
    let op = deposit(1, 4001, 5);
    let end = naming(&op, &[DONE, ABSENT, REFUSED]);
    let service = end.simple();
    assert_eq!(service.form(), LedgerForm::Simple);
    let key = Key { id: Id(1), leg: Leg::Deposit };
    let Reply::Answered(_, Stored::Found(done)) = service.query(KNOWN, key).await else {
        panic!("it says that it is done")
    };
    assert_eq!((done.op.key, done.outcome), (key, StoredOutcome::Done));
    let Reply::Answered(_, Stored::Found(refused)) = service.query(KNOWN, key).await else {
        panic!("it says that it is refused")
    };
    assert!(matches!(refused.outcome, StoredOutcome::Rejected(_)), "{refused:?}");
    for (says, why) in [(&[BROKE][..], "UNNAMED_ANSWER"), (&[OK, OK][..], "ANSWERS_ALIKE")] {
        let service = End::saying(says).simple();
        assert_eq!(class(&service.query(KNOWN, key).await), why, "{says:?}");
    }
    let service = End::saying(&[OK, NONE]).simple();
    assert!(matches!(service.query(KNOWN, key).await, Reply::Answered(_, Stored::Found(_))));
}

#[tokio::test]
async fn it_proves_nothing() {
    let end = End::saying(&[]);
    let service = end.simple();
    let key = Key { id: Id(1), leg: Leg::Deposit };
    assert_eq!(class(&service.fence(KNOWN, key).await), "NOT_OFFERED");
    assert_eq!(class(&service.totals().await), "NOT_OFFERED");
    assert_eq!(class(&service.operations(0, 10).await), "NOT_OFFERED");
    assert_eq!(end.requests().len(), 0);
}

#[tokio::test]
async fn it_is_there_while_it_answers() {
    let op = deposit(1, 4001, 5);
    let end = naming(&op, &[DONE, DONE, ABSENT]);
    let service = end.simple();
    assert!(matches!(service.hello().await, Reply::Answered(..)));
    service.execute(KNOWN, Arc::new([op])).await;
    assert!(matches!(service.hello().await, Reply::Answered(..)));
    service.execute(KNOWN, Arc::new([deposit(2, 4001, 5)])).await;
    assert_eq!(class(&service.hello().await), "CONNECTION_LOST");
}
