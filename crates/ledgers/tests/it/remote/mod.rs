//! Both forms over a real socket, against an other end that answers what the test says.

mod full;
mod simple;

use kernel::ids::{AssetId, LedgerId};
use kernel::operation::{Identity, Incarnation, Known};
use kernel::ports::ledger::Reply;
use ledgers::remote::{AssetCodes, Remote, Settings, SimpleRemote, Token};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What the other end does with one request.
#[derive(Debug, Clone)]
pub(super) enum Does {
    /// It answers with this status and body, and keeps the connection.
    Answers(u16, String),
    /// It closes the connection.
    Closes,
    /// It takes the request and never answers.
    Hangs,
    /// It answers with a body that does not end, as fast as it can.
    Floods,
    /// It answers with this body, byte by byte.
    Drips(String),
}

pub(super) struct End {
    pub(super) at: SocketAddr,
    /// Every request as it came, with the number of its connection.
    requests: Arc<Mutex<Vec<(usize, String)>>>,
}

/// One request, head and body.
fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        text.push(char::from(byte[0]));
    }
    let length = text.to_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    text.push_str(&String::from_utf8(body).unwrap());
    Some(text)
}

fn serve(mut stream: TcpStream, what: impl Fn(&str) -> Does, hear: impl Fn(&str)) {
    while let Some(text) = request(&mut stream) {
        hear(&text);
        match what(&text) {
            Does::Answers(status, body) => {
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
                if stream.write_all((head + &body).as_bytes()).is_err() {
                    return;
                }
            }
            Does::Closes => return,
            Does::Hangs => thread::sleep(Duration::from_secs(60)),
            Does::Floods => {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n"));
                while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
                return;
            }
            Does::Drips(body) => {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n"));
                for byte in body.bytes() {
                    thread::sleep(Duration::from_millis(5));
                    if stream.write_all(&[byte]).is_err() {
                        return;
                    }
                }
                return;
            }
        }
    }
}

impl End {
    /// An address at which no server listens.
    pub(super) fn unused_address() -> SocketAddr {
        TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap()
    }

    /// An other end that does this with each request.
    pub(super) fn that(what: impl Fn(&str) -> Does + Send + Sync + 'static) -> Self {
        Self::on(SocketAddr::from(([127, 0, 0, 1], 0)), what)
    }

    /// The same at an address.
    pub(super) fn on(at: SocketAddr, what: impl Fn(&str) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(at).unwrap();
        let at = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
        let (what, all) = (Arc::new(what), requests.clone());
        thread::spawn(move || {
            for (n, stream) in listener.incoming().enumerate() {
                let (what, all) = (what.clone(), all.clone());
                thread::spawn(move || {
                    let hear = |text: &str| all.lock().unwrap().push((n, text.to_owned()));
                    serve(stream.unwrap(), |text| what(text), hear);
                });
            }
        });
        Self { at, requests }
    }

    /// One that answers these in turn, and then nothing.
    pub(super) fn saying(answers: &[(u16, &str)]) -> Self {
        let answers: Vec<_> = answers.iter().map(|(s, b)| (*s, (*b).to_owned())).rev().collect();
        let answers = Mutex::new(answers);
        Self::that(move |_| match answers.lock().unwrap().pop() {
            Some((status, body)) => Does::Answers(status, body),
            None => Does::Closes,
        })
    }

    /// What it was asked, in order.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|(_, text)| text.clone()).collect()
    }

    /// How many connections carried a request.
    pub(super) fn connections(&self) -> usize {
        let mut all: Vec<_> = self.requests.lock().unwrap().iter().map(|(n, _)| *n).collect();
        all.dedup();
        all.len()
    }

    fn settings(at: SocketAddr) -> Settings {
        Settings {
            url: format!("http://{at}/ledger/"),
            token: Token("s3cret".to_owned()),
            timeout_ms: 250,
            connect_timeout_ms: 100,
            max_in_flight: 2,
            batch: 2,
        }
    }

    /// A client in the full form.
    pub(super) fn full(&self) -> Remote {
        Remote::new(LedgerId::FUTURE, &Self::settings(self.at), symbols()).unwrap()
    }

    /// A client in the simple form.
    pub(super) fn simple(&self) -> SimpleRemote {
        Self::client(self.at)
    }

    /// A client in the simple form of whatever is at an address.
    pub(super) fn client(at: SocketAddr) -> SimpleRemote {
        let refusals = ["Insufficient funds", "NO_MONEY"].map(str::to_owned).into();
        SimpleRemote::new(LedgerId::MARGIN, &Self::settings(at), symbols(), refusals).unwrap()
    }
}

fn symbols() -> AssetCodes {
    AssetCodes::of([(AssetId(3), "USDT".to_owned())])
}

/// What we know of the ledger.
pub(super) const KNOWN: Known =
    Known { identity: Identity(10), incarnation: Incarnation(11), highest: 5 };

/// The class of a reply that came to nothing.
pub(super) fn class<T>(reply: &Reply<T>) -> &'static str {
    match reply {
        Reply::NoAnswer(cause) => cause.class,
        Reply::OtherLedger(_) => "WRONG_LEDGER",
        Reply::Answered(..) => "",
    }
}
