//! What a client may conclude from each answer (`spec/api.md`): held against the store, behind a real
//! socket, with the client that users get, through crashes.

use crate::fixture::points::{At, Fault, When, point};
use crate::fixture::{FUSED, Fixture, Money, Setup};
use client::types::{CreateTransfer, Created, UserIdText};
use client::{Client, Conclusion, Error};
use kernel::flow::life::Leg;
use kernel::ids::LedgerId;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const USER: u64 = 4001;
const SCOPE: &str = "transfers:create transfers:read";
/// Short, so that an opening that hangs is soon an unknown outcome.
const HASTY: Setup = Setup { open_ms: 1_500, ..FUSED };

/// A server on which the user has 100 at Funding.
fn funded(setup: Setup) -> Fixture {
    let fixture = Fixture::start(setup);
    fixture.deposit(USER, 100, "begin");
    fixture
}

fn new(amount: &str, cid: &str) -> CreateTransfer {
    let fresh = client::new_transfer("FUNDING", "SPOT", "USDT", amount);
    CreateTransfer { cid: Some(cid.to_owned()), ..fresh }
}

fn client(fixture: &Fixture) -> Client {
    fixture.client(&fixture.listen(), USER, SCOPE)
}

/// Runs a client's work outside the server's life: what cuts the one off does not stop the other.
fn outside<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

fn create(fixture: &Fixture, new: &CreateTransfer) -> Result<Created, Error> {
    outside(client(fixture).create(new))
}

/// What a client does that was left with an unknown outcome.
fn until_known(fixture: &Fixture, new: &CreateTransfer) -> Created {
    let client = client(fixture);
    for _ in 0..20 {
        match outside(client.create(new)) {
            Err(fault) if fault.concludes() == Conclusion::Unknown => {}
            known => return known.expect("made"),
        }
    }
    panic!("never known");
}

/// The user has what one transfer of 5 leaves, and the books add up.
fn moved_once(fixture: &Fixture, case: &str) {
    assert!(
        fixture.until(|| fixture.money(USER) == Money::at(95, 5)),
        "{case}: {:?}",
        fixture.money(USER)
    );
    assert_eq!(fixture.rows(), 1, "{case}: one row");
    fixture.sound(case);
}

/// 200, 202 and 422 with an id: the row is there, and stays through a crash right after.
#[test]
fn an_answer_with_an_id_is_durable() {
    let mut fixture = funded(Setup { timeout_ms: 60, ..FUSED });
    fixture.set_status(USER, LedgerId::FUNDING, "ACTIVE");
    let done = until_ended(&fixture, &new("5", "done"));
    assert_eq!(done.transfer.state, "COMMITTED");
    let poor = create(&fixture, &new("5000", "poor")).expect("an answer");
    assert_eq!((poor.transfer.state.as_str(), fixture.rows()), ("FAILED", 2));
    fixture.control().hinder(LedgerId::SPOT, Leg::Deposit, Fault::HangBefore, 1);
    let open = create(&fixture, &new("5", "open")).expect("an answer");
    assert_eq!((open.transfer.state.as_str(), fixture.rows()), ("PENDING", 3), "{open:?}");
    fixture.crash();
    assert_eq!(fixture.rows(), 3, "all three were durable");
    for (made, state) in [(done, "COMMITTED"), (poor, "FAILED"), (open, "COMMITTED")] {
        let id = made.transfer.req_id.parse().expect("an id");
        assert_eq!(fixture.reaches(USER, id, state).state, state, "{made:?}");
    }
    fixture.sound("answers with an id");
}

/// A create that is asked for until it has ended.
fn until_ended(fixture: &Fixture, new: &CreateTransfer) -> Created {
    let mut created = until_known(fixture, new);
    for _ in 0..200 {
        if created.transfer.state != "PENDING" {
            break;
        }
        created = until_known(fixture, new);
    }
    created
}

/// 4xx without an id: nothing was opened, now or later.
#[test]
fn a_refusal_without_an_id_opened_nothing() {
    let mut fixture = funded(FUSED);
    let bound = create(&fixture, &new("5", "bound")).expect("made");
    let url = fixture.listen();
    let own = fixture.client(&url, USER, SCOPE);
    let with = |change: fn(&mut CreateTransfer)| {
        let mut asked = new("5", "never");
        change(&mut asked);
        asked
    };
    let stranger = Client::new(&url, "no.token.atall").expect("a client");
    let reader = fixture.client(&url, USER, "transfers:read");
    for (client, asked, status, code) in [
        (&stranger, new("5", "never"), 401, "UNAUTHORIZED"),
        (&reader, new("5", "never"), 403, "FORBIDDEN"),
        (&own, with(|new| new.user_id = Some(UserIdText(4002))), 403, "FORBIDDEN"),
        (&own, with(|new| new.cid = Some("a b".to_owned())), 400, "BAD_REQUEST"),
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
        assert_eq!(fixture.rows(), 1, "{code}: no row");
    }
    fixture.crash();
    assert_eq!(fixture.rows(), 1, "nor does one appear later");
    let again = create(&fixture, &new("5", "bound")).expect("made");
    assert_eq!(again.transfer.req_id, bound.transfer.req_id);
    moved_once(&fixture, "refusals");
    // the key of all those refusals is free
    assert!(!create(&fixture, &new("5", "never")).expect("made").replayed);
}

/// HALTED and OVERLOADED: nothing was opened, whether the door said so or the very write.
#[test]
fn a_shut_door_opened_nothing() {
    let full = |fixture: &Fixture| {
        fixture.control().hinder(LedgerId::FUNDING, Leg::Withdraw, Fault::NoRoom, 1);
    };
    for (way, code) in ["HALTED", "OVERLOADED", "OVERLOADED"].into_iter().enumerate() {
        let mut fixture = funded(FUSED);
        match way {
            0 => fixture.control().halt_at("CREATED"),
            1 => fixture.drain(),
            _ => full(&fixture),
        }
        let fault = create(&fixture, &new("5", "k")).expect_err(code);
        let code_of = fault.code().map(kernel::code::Code::name);
        assert_eq!(code_of, Some(code), "{fault:?}");
        assert_eq!((fault.concludes(), fixture.rows()), (Conclusion::NothingOpened, 0), "{code}");
        fixture.crash();
        assert_eq!(fixture.rows(), 0, "{code}: nor does one appear later");
        assert!(
            !create(&fixture, &new("5", "k")).expect("made").replayed,
            "{code}: the key is free"
        );
        moved_once(&fixture, code);
    }
}

/// 500: unknown. The row may be there, may come later, or never; the same sent again is one.
#[test]
fn an_unknown_outcome_is_repeated_and_made_once() {
    for (fault, rows, later) in [(Fault::HangBefore, 0, 1), (Fault::HangAfter, 1, 1)] {
        let fixture = funded(HASTY);
        fixture.control().hinder(LedgerId::FUNDING, Leg::Withdraw, fault, 1);
        let asked = new("5", "k");
        let unknown = create(&fixture, &asked).expect_err("it is unknown");
        assert_eq!(unknown.concludes(), Conclusion::Unknown, "{unknown:?}");
        assert_eq!(fixture.rows(), rows, "{fault:?}: either is possible");
        fixture.control().heal();
        assert!(fixture.until(|| fixture.rows() == later), "{fault:?}: it may come later");
        until_known(&fixture, &asked);
        moved_once(&fixture, &format!("{fault:?}"));
    }
    // the opening never reaches the store
    let fixture = funded(HASTY);
    fixture.control().hold_opening();
    let unknown = create(&fixture, &new("5", "k")).expect_err("it is unknown");
    assert_eq!((unknown.concludes(), fixture.rows()), (Conclusion::Unknown, 0), "{unknown:?}");
}

/// A cut connection says nothing: the process may have died before the write or after it.
#[test]
fn a_cut_connection_is_repeated_and_made_once() {
    for (when, rows) in [(When::Before, 0), (When::After, 1)] {
        let mut fixture = funded(FUSED);
        fixture.control().stop_at(point(At::Write("CREATED"), when));
        let (client, asked) = (client(&fixture), new("5", "k"));
        let (told, answer) = mpsc::channel();
        let sent = asked.clone();
        let sender = thread::spawn(move || {
            let _received = told.send(outside(client.create(&sent)));
        });
        // the life ends, and its sockets with it
        fixture.crashed(&format!("{when:?}"));
        let answer = answer.recv_timeout(Duration::from_secs(25)).expect("an end");
        sender.join().expect("the client does not panic");
        let fault = answer.expect_err("no answer");
        assert_eq!(fault.concludes(), Conclusion::Unknown, "{when:?}: {fault:?}");
        assert_eq!(fixture.rows(), rows, "{when:?}: either is possible");
        until_known(&fixture, &asked);
        moved_once(&fixture, &format!("{when:?}"));
    }
}

/// Where no server listens, nothing was sent.
#[test]
fn an_unreachable_server_opened_nothing() {
    let fixture = funded(FUSED);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", free.local_addr().expect("its address"));
    drop(free);
    let fault =
        outside(fixture.client(&url, USER, SCOPE).create(&new("5", "k"))).expect_err("no server");
    assert!(matches!(fault, Error::Unreachable(_)), "{fault:?}");
    assert_eq!(fault.concludes(), Conclusion::NothingOpened);
}

/// A batch says it of each item, and as a whole where it is refused as one.
#[test]
fn a_batch_says_it_of_each_item() {
    let fixture = funded(HASTY);
    let client = client(&fixture);
    let items = [new("5", "a"), new("5000", "poor"), new("1e2", "bad"), new("6", "a")];
    let results = outside(client.create_many(&items)).expect("results");
    let opened = results.iter().filter(|result| client::created(result).is_ok()).count();
    let nothing = results.iter().filter_map(|result| client::created(result).err());
    let nothing = nothing.filter(|fault| fault.concludes() == Conclusion::NothingOpened).count();
    assert_eq!((opened, nothing, fixture.rows()), (2, 2, 2), "{results:?}");
    let whole = [new("5", "b"), new("5", "")];
    let fault = outside(client.create_many(&whole)).expect_err("refused as one");
    assert_eq!((fault.concludes(), fixture.rows()), (Conclusion::NothingOpened, 2), "{fault:?}");
    fixture.control().hinder(LedgerId::FUNDING, Leg::Withdraw, Fault::HangAfter, 1);
    let results = outside(client.create_many(&[new("5", "c")])).expect("results");
    let unknown = client::created(&results[0]).expect_err("it is unknown");
    assert_eq!((unknown.concludes(), fixture.rows()), (Conclusion::Unknown, 3), "{unknown:?}");
    fixture.control().heal();
    until_known(&fixture, &new("5", "c"));
    assert_eq!(fixture.rows(), 3);
}
