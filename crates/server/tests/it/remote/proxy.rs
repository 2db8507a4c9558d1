//! A network between a client and a ledger that spoils calls: it loses, repeats,
//! garbles, drips and redirects.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    LoseRequest,
    /// It is answered, and the reply is lost.
    LoseReply,
    /// It arrives twice; the second answer comes back.
    Twice,
    /// It is answered, and a page of an error comes back.
    ServerError,
    /// It never arrives, and a page says that all is well.
    Page,
    /// It is answered, and other bytes come back.
    Garbage,
    /// It is answered, and the answer breaks off while its head says that it is whole.
    Cut,
    /// It is answered, and the connection breaks in the middle of the answer.
    Broken,
    /// It never arrives; another address is named.
    Redirect,
    /// It is answered, and the answer speaks of another transfer.
    OtherId,
    /// It is answered, and the answer has no end that anybody would wait for.
    Huge,
    /// It is answered, and the answer comes byte by byte.
    Drip,
    /// It never arrives, and something else says that it was refused.
    Refusal,
    /// It is answered, and a field of the answer stands in it twice.
    SaidTwice,
}

impl Fault {
    pub(crate) const ALL: [Self; 14] = [
        Self::LoseRequest,
        Self::LoseReply,
        Self::Twice,
        Self::ServerError,
        Self::Page,
        Self::Garbage,
        Self::Cut,
        Self::Broken,
        Self::Redirect,
        Self::OtherId,
        Self::Huge,
        Self::Drip,
        Self::Refusal,
        Self::SaidTwice,
    ];

    /// What loses a request or its answer, and forges neither.
    pub(crate) const LOSSES: [Self; 6] = [
        Self::LoseRequest,
        Self::LoseReply,
        Self::ServerError,
        Self::Cut,
        Self::Broken,
        Self::Garbage,
    ];

    /// Whether the ledger hears of the request.
    const fn arrives(self) -> bool {
        !matches!(self, Self::LoseRequest | Self::Page | Self::Redirect | Self::Refusal)
    }
}

/// What becomes of requests to a path.
#[derive(Debug, Clone, Copy)]
enum Mood {
    Fair,
    /// Each request meets this fault.
    Always(Fault),
    /// One request in `of` meets a fault, which these dice choose.
    Rough {
        of: u64,
        dice: u64,
        faults: &'static [Fault],
    },
}

#[derive(Debug)]
struct Inner {
    leads_to: Option<SocketAddr>,
    mood: Mood,
    /// Only requests that begin so are spoilt.
    what: &'static str,
    met: Vec<Fault>,
}

/// The way. A handle: clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Crooked {
    pub at: SocketAddr,
    /// A client that follows a redirect is seen.
    pub trapped: Arc<AtomicU64>,
    trap: SocketAddr,
    inner: Arc<Mutex<Inner>>,
}

/// A request or an answer, read to its end.
struct Message {
    head: String,
    body: Vec<u8>,
}

async fn read(stream: &mut TcpStream) -> Option<Message> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let whole = end + 4 + length.unwrap_or(0);
            while bytes.len() < whole {
                let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
                bytes.extend_from_slice(&buffer[..read]);
            }
            return Some(Message { head, body: bytes[end + 4..whole].to_vec() });
        }
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    }
}

fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

impl Crooked {
    /// A way that leads to this address, and is fair yet.
    pub(crate) async fn to(leads_to: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let trap = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let inner = Inner { leads_to: Some(leads_to), mood: Mood::Fair, what: "", met: Vec::new() };
        let way = Self {
            at: listener.local_addr().expect("its number"),
            trapped: Arc::default(),
            trap: trap.local_addr().expect("its number"),
            inner: Arc::new(Mutex::new(inner)),
        };
        let (own, trapped) = (way.clone(), way.trapped.clone());
        server::runtime::beside(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let way = own.clone();
                server::runtime::beside(async move { way.serve(stream).await });
            }
        });
        server::runtime::beside(async move {
            while trap.accept().await.is_ok() {
                trapped.fetch_add(1, Ordering::Relaxed);
            }
        });
        way
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it leads here; `None`: nowhere.
    pub(crate) fn lead(&self, leads_to: Option<SocketAddr>) {
        self.inner().leads_to = leads_to;
    }

    /// From now on nothing is spoilt.
    pub(crate) fn fair(&self) {
        self.inner().mood = Mood::Fair;
    }

    /// From now on each request that begins so (`POST /operations`) meets this.
    pub(crate) fn always(&self, what: &'static str, fault: Fault) {
        let mut inner = self.inner();
        (inner.mood, inner.what) = (Mood::Always(fault), what);
    }

    /// From now on one request in `of` meets one fault or another.
    pub(crate) fn rough(&self, of: u64, seed: u64) {
        self.spoils(of, seed, &Fault::ALL);
    }

    /// From now on one request in `of` meets one of these faults.
    pub(crate) fn spoils(&self, of: u64, dice: u64, faults: &'static [Fault]) {
        let mut inner = self.inner();
        (inner.mood, inner.what) = (Mood::Rough { of, dice, faults }, "");
    }

    /// What was met so far.
    pub(crate) fn met(&self) -> Vec<Fault> {
        self.inner().met.clone()
    }

    fn fault(&self, head: &str) -> Option<Fault> {
        let mut inner = self.inner();
        let fault = match &mut inner.mood {
            Mood::Fair => None,
            Mood::Always(fault) => Some(*fault),
            Mood::Rough { of, dice, faults } => {
                let mut roll = |sides: u64| {
                    *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (*dice >> 33) % sides
                };
                let unlucky = roll(*of) == 0;
                let sides = u64::try_from(faults.len()).unwrap_or(1);
                let which = usize::try_from(roll(sides)).unwrap_or(0);
                unlucky.then(|| faults[which])
            }
        };
        // a list with a forged id is a ledger that lies, not a way that spoils: that is a HALT
        let lie = fault == Some(Fault::OtherId) && head.starts_with("GET");
        let fault = fault.filter(|_| head.starts_with(inner.what) && !lie)?;
        inner.met.push(fault);
        Some(fault)
    }

    /// The ledger's own answer.
    async fn ask(&self, request: &Message) -> Option<Message> {
        let at = self.inner().leads_to?;
        let mut stream = TcpStream::connect(at).await.ok()?;
        stream.write_all(format!("{}\r\n\r\n", request.head).as_bytes()).await.ok()?;
        stream.write_all(&request.body).await.ok()?;
        read(&mut stream).await
    }

    async fn serve(&self, mut stream: TcpStream) {
        let Some(request) = read(&mut stream).await else { return };
        let fault = self.fault(&request.head);
        let mut said = None;
        if fault.is_none_or(Fault::arrives) {
            said = self.ask(&request).await;
            if fault == Some(Fault::Twice) {
                said = self.ask(&request).await;
            }
            if said.is_none() {
                return;
            }
        }
        let (status, body) = match &said {
            Some(Message { head, body }) => {
                let status = head.lines().next().and_then(|line| line.split_once(' '));
                (status.map_or("500", |(_, status)| status), body.as_slice())
            }
            None => ("", [].as_slice()),
        };
        let Some(bytes) = self.spoilt(fault, &request, status, body) else { return };
        if fault == Some(Fault::Drip) {
            for byte in bytes {
                tokio::time::sleep(Duration::from_millis(10)).await;
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
            return;
        }
        // the client may have gone
        if stream.write_all(&bytes).await.is_ok() {
            drop(stream.shutdown().await);
        }
    }

    /// What comes back; nothing where the connection is closed instead.
    fn spoilt(
        &self,
        fault: Option<Fault>,
        request: &Message,
        status: &str,
        body: &[u8],
    ) -> Option<Vec<u8>> {
        const JSON: &str = "application/json";
        let text = || String::from_utf8(body.to_vec()).unwrap_or_default();
        Some(match fault {
            None | Some(Fault::Twice | Fault::Drip) => answer(status, JSON, body),
            Some(Fault::LoseRequest | Fault::LoseReply) => return None,
            Some(Fault::ServerError) => {
                answer("502 Bad Gateway", "text/html", b"<html>{\"error\":\"X\"}</html>")
            }
            Some(Fault::Page) => answer("200 OK", "text/html", b"<html><p>It works!</p></html>"),
            Some(Fault::Garbage) => answer(status, JSON, &[0xff, 0, b'{', b'"', 0x80, 1, 2, 3]),
            Some(Fault::Cut) => answer(status, JSON, &body[..body.len() * 2 / 3]),
            Some(Fault::Broken) => {
                let whole = answer(status, JSON, body);
                whole[..whole.len() - body.len() / 2].to_vec()
            }
            Some(Fault::Redirect) => {
                let to = format!(
                    "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{}/operations\r\n\
                     content-length: 0\r\nconnection: close\r\n\r\n",
                    self.trap
                );
                to.into_bytes()
            }
            Some(Fault::OtherId) => {
                let other = "\"req_id\":\"01JFVQ2X8Z0Y1M3N4P5R6S7T8V\"";
                let told = text();
                let mut parts = told.split("\"req_id\":\"");
                let mut changed = parts.next().unwrap_or_default().to_owned();
                for part in parts {
                    changed.push_str(other);
                    changed.push_str(part.split_once('"').map_or("", |(_, rest)| rest));
                }
                answer(status, JSON, changed.as_bytes())
            }
            Some(Fault::Huge) => {
                let spaces = vec![b' '; 9 << 20];
                answer(status, JSON, &[&spaces, body].concat())
            }
            Some(Fault::Refusal) => {
                // whoever answers for the ledger says no, in its own words
                let quoted = String::from_utf8(request.body.clone()).unwrap_or_default();
                let echo = format!("{{\"error\":\"ACCOUNT_FROZEN\",\"request\":{quoted:?}}}");
                answer("400 Bad Request", JSON, echo.as_bytes())
            }
            Some(Fault::SaidTwice) => {
                let twice = text().replace("\"success\":true", "\"success\":true,\"success\":true");
                answer(status, JSON, twice.as_bytes())
            }
        })
    }
}
