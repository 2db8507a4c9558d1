//! A receiver of webhooks: a server of its own making, in the mood that a test wants.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The key that it shares with the server that posts to it.
pub(crate) const SECRET: &str = "a secret of the receiver, 32 bytes and more";

/// What it does with what comes.
#[derive(Debug, Clone)]
pub(crate) enum Mood {
    /// It answers 204 at once.
    Takes,
    /// Takes it after this delay.
    Dawdles(Duration),
    /// Answers with this status.
    Says(u16),
    /// Sends the caller there.
    Sends(String),
    /// Asks for a pause of this length, in seconds.
    Throttles(u64),
    /// Ends the connection in the middle of its answer.
    Dies,
    /// Answers nothing until the caller gives up.
    Hangs,
}

/// One request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Posted {
    pub head: String,
    pub body: String,
    /// Whether it was taken.
    pub taken: bool,
}

impl Posted {
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        found.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    pub(crate) fn id(&self) -> &str {
        self.header("webhook-id")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// What it tells of which case.
    pub(crate) fn tells(&self) -> (u64, String) {
        let body = self.json();
        let number = body["data"]["id"].as_u64().expect("a number");
        (number, body["type"].as_str().expect("a type").to_owned())
    }

    /// Whether the signature is that of this secret, by a library that the server does not sign with.
    pub(crate) fn is_signed(&self, secret: &[u8]) -> bool {
        let text = format!("{}.{}.{}", self.id(), self.header("webhook-timestamp"), self.body);
        let key = EncodingKey::from_secret(secret);
        let mac = jsonwebtoken::crypto::sign(text.as_bytes(), &key, Algorithm::HS256);
        let mac = URL_SAFE_NO_PAD.decode(mac.expect("a signature")).expect("base64");
        self.header("webhook-signature") == format!("v1,{}", STANDARD.encode(mac))
    }
}

#[derive(Debug)]
struct State {
    mood: Mood,
    posted: Vec<Posted>,
    /// The numbers of requests that hang now.
    hanging: Vec<usize>,
    most: usize,
}

/// The time for which a request hangs before it counts: less than the poster waits.
const SETTLED: Duration = Duration::from_millis(500);

/// A server that listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub port: u16,
    state: Arc<Mutex<State>>,
    open: Arc<AtomicBool>,
}

impl Receiver {
    /// At a free port, or again at one where another was.
    pub(crate) fn at(port: u16, mood: Mood) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = State { mood, posted: Vec::new(), hanging: Vec::new(), most: 0 };
        let (state, open) = (Arc::new(Mutex::new(state)), Arc::new(AtomicBool::new(true)));
        let (shared, goes_on) = (Arc::clone(&state), Arc::clone(&open));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if !goes_on.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || met(stream.expect("a connection"), &shared));
            }
        });
        Self { port, state, open }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?of=portage", self.port)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn turns(&self, mood: Mood) {
        self.state().mood = mood;
    }

    /// Everything that came, in its order.
    pub(crate) fn posted(&self) -> Vec<Posted> {
        self.state().posted.clone()
    }

    /// The requests that hang now.
    pub(crate) fn hanging(&self) -> Vec<usize> {
        self.state().hanging.clone()
    }

    /// The most requests that hung at once.
    pub(crate) fn most(&self) -> usize {
        self.state().most
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.open.store(false, Ordering::Relaxed);
        // the listener looks up once more, and is closed
        let _woken = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Reads one request and answers it; each has a connection of its own.
fn met(mut stream: TcpStream, state: &Mutex<State>) {
    let Some((head, body)) = request(&mut stream) else { return };
    let (answer, number, pause) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.posted.len();
        let answer = match state.mood.clone() {
            Mood::Takes | Mood::Dawdles(_) => Some("204 No Content\r\n".to_owned()),
            Mood::Says(status) => Some(format!("{status} Told\r\n")),
            Mood::Sends(to) => Some(format!("307 Temporary Redirect\r\nlocation: {to}\r\n")),
            Mood::Throttles(seconds) => Some(format!("429 Later\r\nretry-after: {seconds}\r\n")),
            Mood::Dies => Some("DIES".to_owned()),
            Mood::Hangs => None,
        };
        let taken = matches!(state.mood, Mood::Takes | Mood::Dawdles(_));
        let pause = if let Mood::Dawdles(pause) = state.mood { pause } else { Duration::ZERO };
        state.posted.push(Posted { head, body, taken });
        if answer.is_none() {
            state.hanging.push(number);
        }
        (answer, number, pause)
    };
    std::thread::sleep(pause);
    match answer {
        Some(dies) if dies == "DIES" => {
            // half a status line
            let _sent = stream.write_all(b"HTTP/1.1 20");
        }
        Some(answer) => {
            let text = format!("HTTP/1.1 {answer}content-length: 0\r\nconnection: close\r\n\r\n");
            // it may have given up
            let _sent = stream.write_all(text.as_bytes());
        }
        None => {
            let state = || state.lock().unwrap_or_else(PoisonError::into_inner);
            // who gave up just before this one came is seen to have gone by then
            stream.set_read_timeout(Some(SETTLED)).expect("a timeout");
            if stream.read(&mut [0]).is_err_and(|fault| fault.kind() == ErrorKind::WouldBlock) {
                let mut state = state();
                let now = state.hanging.len();
                state.most = if now > state.most { now } else { state.most };
            }
            stream.set_read_timeout(None).expect("no timeout");
            let _gave_up = stream.read(&mut [0]);
            state().hanging.retain(|one| *one != number);
        }
    }
}

/// Head and body, where a whole request comes.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.to_lowercase();
    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}
