//! What a client may conclude from each answer (`spec/api.md`): held against the store, behind a real
//! socket, with the client that users get, through crashes.

use crate::rig::points::{At, Fault, When, point};
use crate::rig::{FUSED, Money, Rig, Setup};
use client::types::{Created, NewTransfer};
use client::{Client, Conclusion, Error};
use kernel::ids::LedgerId;
use kernel::life::Leg;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const USER: u64 = 4001;
const SCOPE: &str = "transfers:create transfers:read";
/// Short, so that an opening that hangs is soon an unknown outcome.
const HASTY: Setup = Setup { open_ms: 1_500, ..FUSED };

/// A server on which the user has 100 at Funding.
fn funded(setup: Setup) -> Rig {
    let rig = Rig::start(setup);
    rig.deposit(USER, 100, "begin");
    rig
}

fn new(amount: &str, cid: &str) -> NewTransfer {
    let fresh = NewTransfer::new("FUNDING", "SPOT", "USDT", amount);
    NewTransfer { cid: cid.to_owned(), ..fresh }
}

fn client(rig: &Rig) -> Client {
    rig.client(&rig.listen(), USER, SCOPE)
}

/// Runs a client's work outside the server's life: what cuts the one off does not stop the other.
fn outside<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

fn create(rig: &Rig, new: &NewTransfer) -> Result<Created, Error> {
    outside(client(rig).create(new))
}

/// What a client does that was left with an unknown outcome.
fn until_known(rig: &Rig, new: &NewTransfer) -> Created {
    let client = client(rig);
    for _ in 0..20 {
        match outside(client.create(new)) {
            Err(fault) if fault.concludes() == Conclusion::Unknown => {}
            known => return known.expect("made"),
        }
    }
    panic!("never known");
}

/// The user has what one transfer of 5 leaves, and the books add up.
fn moved_once(rig: &Rig, case: &str) {
    assert!(rig.until(|| rig.money(USER) == Money::at(95, 5)), "{case}: {:?}", rig.money(USER));
    assert_eq!(rig.rows(), 1, "{case}: one row");
    rig.sound(case);
}

/// 200, 202 and 422 with an id: the row is there, and stays through a crash right after.
#[test]
fn an_answer_with_an_id_is_durable() {
    let mut rig = funded(Setup { patience_ms: 60, ..FUSED });
    rig.set_status(USER, LedgerId::FUNDING, "ACTIVE");
    let done = until_ended(&rig, &new("5", "done"));
    assert_eq!(done.transfer.state, "COMMITTED");
    let poor = create(&rig, &new("5000", "poor")).expect("an answer");
    assert_eq!((poor.transfer.state.as_str(), rig.rows()), ("FAILED", 2));
    rig.control().hinder(LedgerId::SPOT, Leg::Deposit, Fault::HangBefore, 1);
    let open = create(&rig, &new("5", "open")).expect("an answer");
    assert_eq!((open.transfer.state.as_str(), rig.rows()), ("PENDING", 3), "{open:?}");
    rig.crash();
    assert_eq!(rig.rows(), 3, "all three were durable");
    for (made, state) in [(done, "COMMITTED"), (poor, "FAILED"), (open, "COMMITTED")] {
        let id = made.transfer.req_id.parse().expect("an id");
        assert_eq!(rig.reaches(USER, id, state).state, state, "{made:?}");
    }
    rig.sound("answers with an id");
}

/// A create that is asked for until it has ended.
fn until_ended(rig: &Rig, new: &NewTransfer) -> Created {
    let mut created = until_known(rig, new);
    for _ in 0..200 {
        if created.transfer.state != "PENDING" {
            break;
        }
        created = until_known(rig, new);
    }
    created
}

/// 4xx without an id: nothing was opened, now or later.
#[test]
fn a_refusal_without_an_id_opened_nothing() {
    let mut rig = funded(FUSED);
    let bound = create(&rig, &new("5", "bound")).expect("made");
    let url = rig.listen();
    let own = rig.client(&url, USER, SCOPE);
    let with = |change: fn(&mut NewTransfer)| {
        let mut asked = new("5", "never");
        change(&mut asked);
        asked
    };
    let nobody = Client::new(&url, "no.token.atall").expect("a client");
    let reader = rig.client(&url, USER, "transfers:read");
    for (client, asked, status, code) in [
        (&nobody, new("5", "never"), 401, "UNAUTHORIZED"),
        (&reader, new("5", "never"), 403, "FORBIDDEN"),
        (&own, with(|new| new.user_id = Some(4002)), 403, "FORBIDDEN"),
        (&own, with(|new| new.cid = "a b".to_owned()), 400, "BAD_REQUEST"),
        (&own, with(|new| new.reference = Some("x".repeat(20_000))), 413, "PAYLOAD_TOO_LARGE"),
        (&own, new("6", "bound"), 409, "DUPLICATE_REQUEST"),
        (&own, with(|new| new.to = "FUNDING".to_owned()), 400, "SAME_ACCOUNT"),
        (&own, with(|new| new.to = "X".to_owned()), 400, "INVALID_ACCOUNT_TYPE"),
        (&own, with(|new| new.to = "MARGIN".to_owned()), 400, "UNSUPPORTED_ACCOUNT_TYPE"),
        (&own, with(|new| new.asset = "XYZ".to_owned()), 400, "INVALID_ASSET"),
        (&own, new("1e2", "never"), 400, "INVALID_AMOUNT"),
        (&own, new("0.0000001", "never"), 400, "PRECISION_OVERFLOW"),
        (&own, new("99999999999999999999", "never"), 400, "OVERFLOW"),
    ] {
        let fault = outside(client.create(&asked)).expect_err(code);
        let Error::Refused { status: is, code: said, .. } = &fault else {
            panic!("{code}: {fault:?}")
        };
        assert_eq!((*is, said.as_str()), (status, code));
        assert_eq!(fault.concludes(), Conclusion::NothingOpened, "{code}");
        assert_eq!(rig.rows(), 1, "{code}: no row");
    }
    rig.crash();
    assert_eq!(rig.rows(), 1, "nor does one appear later");
    let again = create(&rig, &new("5", "bound")).expect("made");
    assert_eq!(again.transfer.req_id, bound.transfer.req_id);
    moved_once(&rig, "refusals");
    // the key of all those refusals is free
    assert!(!create(&rig, &new("5", "never")).expect("made").replayed);
}

/// HALTED and OVERLOADED: nothing was opened, whether the door said so or the very write.
#[test]
fn a_shut_door_opened_nothing() {
    let full = |rig: &Rig| {
        rig.control().hinder(LedgerId::FUNDING, Leg::Withdraw, Fault::NoRoom, 1);
    };
    for (way, code) in ["HALTED", "OVERLOADED", "OVERLOADED"].into_iter().enumerate() {
        let mut rig = funded(FUSED);
        match way {
            0 => rig.control().halt_at("CREATED"),
            1 => rig.drain(),
            _ => full(&rig),
        }
        let fault = create(&rig, &new("5", "k")).expect_err(code);
        let code_of = fault.code().map(kernel::code::Code::name);
        assert_eq!(code_of, Some(code), "{fault:?}");
        assert_eq!((fault.concludes(), rig.rows()), (Conclusion::NothingOpened, 0), "{code}");
        rig.crash();
        assert_eq!(rig.rows(), 0, "{code}: nor does one appear later");
        assert!(!create(&rig, &new("5", "k")).expect("made").replayed, "{code}: the key is free");
        moved_once(&rig, code);
    }
}

/// 500: nobody knows. The row may be there, may come later, or never; the same sent again is one.
#[test]
fn an_unknown_outcome_is_repeated_and_made_once() {
    for (fault, rows, later) in [(Fault::HangBefore, 0, 1), (Fault::HangAfter, 1, 1)] {
        let rig = funded(HASTY);
        rig.control().hinder(LedgerId::FUNDING, Leg::Withdraw, fault, 1);
        let asked = new("5", "k");
        let unknown = create(&rig, &asked).expect_err("nobody knows");
        assert_eq!(unknown.concludes(), Conclusion::Unknown, "{unknown:?}");
        assert_eq!(rig.rows(), rows, "{fault:?}: either is possible");
        rig.control().heal();
        assert!(rig.until(|| rig.rows() == later), "{fault:?}: it may come later");
        until_known(&rig, &asked);
        moved_once(&rig, &format!("{fault:?}"));
    }
    // the opening never reaches the store
    let rig = funded(HASTY);
    rig.control().hold_opening();
    let unknown = create(&rig, &new("5", "k")).expect_err("nobody knows");
    assert_eq!((unknown.concludes(), rig.rows()), (Conclusion::Unknown, 0), "{unknown:?}");
}

/// A cut connection says nothing: the process may have died before the write or after it.
#[test]
fn a_cut_connection_is_repeated_and_made_once() {
    for (when, rows) in [(When::Before, 0), (When::After, 1)] {
        let mut rig = funded(FUSED);
        rig.control().stop_at(point(At::Write("CREATED"), when));
        let (client, asked) = (client(&rig), new("5", "k"));
        let (told, answer) = mpsc::channel();
        let sent = asked.clone();
        let sender = thread::spawn(move || {
            let _heard = told.send(outside(client.create(&sent)));
        });
        // the life ends, and its sockets with it
        rig.crashed(&format!("{when:?}"));
        let answer = answer.recv_timeout(Duration::from_secs(25)).expect("an end");
        sender.join().expect("the client does not panic");
        let fault = answer.expect_err("no answer");
        assert_eq!(fault.concludes(), Conclusion::Unknown, "{when:?}: {fault:?}");
        assert_eq!(rig.rows(), rows, "{when:?}: either is possible");
        until_known(&rig, &asked);
        moved_once(&rig, &format!("{when:?}"));
    }
}

/// Where nobody listens, nothing was sent.
#[test]
fn an_unreachable_server_opened_nothing() {
    let rig = funded(FUSED);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", free.local_addr().expect("its address"));
    drop(free);
    let fault = outside(rig.client(&url, USER, SCOPE).create(&new("5", "k"))).expect_err("nobody");
    assert!(matches!(fault, Error::Unreachable(_)), "{fault:?}");
    assert_eq!(fault.concludes(), Conclusion::NothingOpened);
}

/// A batch says it of each item, and as a whole where it is refused as one.
#[test]
fn a_batch_says_it_of_each_item() {
    let rig = funded(HASTY);
    let client = client(&rig);
    let items = [new("5", "a"), new("5000", "poor"), new("1e2", "bad"), new("6", "a")];
    let results = outside(client.create_many(&items)).expect("results");
    let opened = results.iter().filter(|result| result.created().is_ok()).count();
    let nothing = results.iter().filter_map(|result| result.created().err());
    let nothing = nothing.filter(|fault| fault.concludes() == Conclusion::NothingOpened).count();
    assert_eq!((opened, nothing, rig.rows()), (2, 2, 2), "{results:?}");
    let whole = [new("5", "b"), new("5", "")];
    let fault = outside(client.create_many(&whole)).expect_err("refused as one");
    assert_eq!((fault.concludes(), rig.rows()), (Conclusion::NothingOpened, 2), "{fault:?}");
    rig.control().hinder(LedgerId::FUNDING, Leg::Withdraw, Fault::HangAfter, 1);
    let results = outside(client.create_many(&[new("5", "c")])).expect("results");
    let unknown = results[0].created().expect_err("nobody knows");
    assert_eq!((unknown.concludes(), rig.rows()), (Conclusion::Unknown, 3), "{unknown:?}");
    rig.control().heal();
    until_known(&rig, &new("5", "c"));
    assert_eq!(rig.rows(), 3);
}
