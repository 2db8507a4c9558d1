//! Connections that keep the server waiting, and too many of them.

use super::{CREATE, Served, USER, answer, asked, head, rest, transfer};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const EACH: usize = 500;
/// The library has a time of its own for heads, idle and head together, which must not help here.
const SHORT: [(&str, &str); 3] = [
    ("PORTAGE_SERVER__HEADER_TIMEOUT_MS", "3000"),
    ("PORTAGE_SERVER__BODY_TIMEOUT_MS", "3000"),
    ("PORTAGE_SERVER__IDLE_TIMEOUT_MS", "600000"),
];

/// Lets the drips end, also where the test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Seen red with builds that: hold a lock while a body is read; have no time for heads; have none for
/// bodies.
#[test]
fn a_thousand_slow_connections_disturb_no_caller() {
    let served = Served::start(&SHORT);
    served.fund("4001", "1000");
    let token = served.token("4001", USER);
    let unfinished = "POST /api/v1/internal_transfer HTTP/1.1\r\nhost: portage\r\n";
    let large = "content-type: application/json\r\ncontent-length: 9000\r\n";
    let whole = head("POST", CREATE, &token, large);
    let slow = |text: &str| {
        let mut stream = served.connect();
        stream.write_all(text.as_bytes()).expect("it is sent");
        stream
    };
    let mut heads: Vec<TcpStream> = (0..EACH).map(|_| slow(unfinished)).collect();
    let mut bodies: Vec<TcpStream> = (0..EACH).map(|_| slow(&whole)).collect();
    let dripping = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let drips: Vec<TcpStream> = heads
            .iter()
            .chain(&bodies)
            .map(|stream| stream.try_clone().expect("a second handle"))
            .collect();
        let dripping = &dripping;
        let _ending = Ending(dripping);
        scope.spawn(move || {
            while dripping.load(Ordering::Relaxed) {
                for mut stream in &drips {
                    // it may have been cut by now
                    let _sent = stream.write_all(b"a");
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let (served, token) = (&served, &token);
        let others: Vec<_> = (0..4)
            .map(|who| {
                scope.spawn(move || {
                    let mut kept = served.connect();
                    for n in 0..50 {
                        let mut fresh = served.connect();
                        let stream = if n % 2 == 0 { &mut fresh } else { &mut kept };
                        let text = transfer(token, &format!("{who}-{n}"));
                        let reply = asked(stream, &text).expect("an answer");
                        assert_eq!(reply.status, 200, "{reply:?}");
                    }
                })
            })
            .collect();
        for other in others {
            other.join().expect("every transfer ends well");
        }
        for stream in &mut heads {
            assert_eq!(rest(stream), "", "a head that never ends is answered by nothing");
        }
        for stream in &mut bodies {
            let said = rest(stream);
            assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{said}");
        }
    });
    // the places are free again
    assert_eq!(served.ask(&transfer(&token, "last")).status, 200);
}

/// Seen red with builds that: begin a head's time anew with each byte; have no time for bodies.
#[test]
fn a_byte_now_and_then_winds_nothing_back() {
    let served = Served::start(&SHORT);
    let token = served.token("4001", USER);
    let large = "content-type: application/json\r\ncontent-length: 9000\r\n";
    let whole = head("POST", CREATE, &token, large);
    for text in ["POST / HTTP/1.1\r\nhost: portage\r\n", &whole] {
        let mut stream = served.connect();
        stream.write_all(text.as_bytes()).expect("it is sent");
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a time");
        let cut = (0..600).any(|_| {
            // it may have been cut by now
            let _sent = stream.write_all(b"a");
            match stream.read(&mut [0; 4096]) {
                Ok(read) => read == 0,
                Err(fault) => fault.kind() == ErrorKind::ConnectionReset,
            }
        });
        assert!(cut, "it still drips: {text}");
    }
}

/// Turns red where a body that stands still is waited for, and where that is not said.
#[test]
fn a_body_that_does_not_come_is_told_so() {
    let served = Served::start(&SHORT);
    let token = served.token("4001", USER);
    let mut stream = served.connect();
    let more = "content-type: application/json\r\ncontent-length: 50\r\n";
    stream.write_all(head("POST", CREATE, &token, more).as_bytes()).expect("it is sent");
    stream.write_all(b"{").expect("it is sent");
    let reply = answer(&mut stream).expect("an answer");
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.page.contains("did not arrive in time"), "{reply:?}");
    assert_eq!(rest(&mut stream), "", "the rest of a body is no next request");
}

/// Turns red where an idle connection is kept for ever, and where it is cut as early as a slow head.
#[test]
fn an_idle_connection_has_a_time_of_its_own() {
    let times =
        [("PORTAGE_SERVER__HEADER_TIMEOUT_MS", "500"), ("PORTAGE_SERVER__IDLE_TIMEOUT_MS", "4000")];
    let served = Served::start(&times);
    let token = served.token("4001", USER);
    let ask = head("GET", "/api/v1/balances", &token, "");
    let mut stream = served.connect();
    for _ in 0..2 {
        assert_eq!(asked(&mut stream, &ask).expect("it was kept").status, 200);
        std::thread::sleep(Duration::from_millis(1500));
    }
    assert_eq!(rest(&mut stream), "");
    // a connection that says nothing at all has a head's time
    assert_eq!(rest(&mut served.connect()), "");
}

/// Seen red with builds that: take one too many; do not count whom they turn away.
#[test]
fn one_too_many_is_closed_at_once() {
    let served = Served::start(&[
        ("PORTAGE_SERVER__MAX_CONNECTIONS", "3"),
        ("PORTAGE_SERVER__HEADER_TIMEOUT_MS", "600000"),
    ]);
    let mut held: Vec<TcpStream> = (0..3).map(|_| served.connect()).collect();
    let live = "GET /livez HTTP/1.1\r\nhost: portage\r\n\r\n";
    for stream in &mut held {
        assert_eq!(asked(stream, live).expect("an answer").status, 200);
    }
    for _ in 0..5 {
        assert_eq!(rest(&mut served.connect()), "");
    }
    super::eventually("it is logged", || served.log().contains("no place for a connection"));
    let counted = asked(&mut held[0], &head("GET", "/metrics", "x", "")).expect("an answer").page;
    let line = "portage_http_connections_refused_total{reason=\"full\"} 5\n";
    assert!(counted.contains(line), "{counted}");
    held.pop();
    // its place is free as soon as the server has seen it go
    let taken = (0..600).any(|_| {
        let reply = asked(&mut served.connect(), live);
        std::thread::sleep(Duration::from_millis(50));
        reply.is_some_and(|reply| reply.status == 200)
    });
    assert!(taken, "a place that was left is given again");
}
