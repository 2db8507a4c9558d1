//! What stands before the servers, as a proxy does: it knows which servers are up, and asks no server that is
//! out. A request goes on a connection of its own.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Above the longest that a server takes for an answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What became of a request.
#[derive(Debug)]
pub(super) enum ProxyReply {
    Answered(Answer),
    /// It may have arrived at this port, and no answer came.
    Cut(u16),
    /// No server was there to take it.
    NoServer,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn text(&self, field: &str) -> String {
        self.body[field].as_str().unwrap_or_default().to_owned()
    }
}

/// The ports of the servers that are in.
#[derive(Debug, Default)]
pub(super) struct Front(RwLock<Vec<u16>>);

impl Front {
    pub(super) fn put(&self, port: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(port);
    }

    /// No request is sent there any more. A request sent there before may wait for an answer still.
    pub(super) fn take(&self, port: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != port);
    }

    /// Sends a request to one of those that are in: the n-th, or the next that takes it.
    pub(super) fn ask(&self, n: usize, request: &str) -> ProxyReply {
        let (port, stream) = {
            let ports = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let turns = (0..ports.len()).map(|k| ports[(n + k) % ports.len()]);
            let found = turns
                .into_iter()
                .find_map(|port| Some(port).zip(TcpStream::connect(("127.0.0.1", port)).ok()));
            let Some(found) = found else { return ProxyReply::NoServer };
            found
        };
        answer(stream, request).map_or(ProxyReply::Cut(port), ProxyReply::Answered)
    }
}

/// A request with a body.
pub(super) fn post(path: &str, token: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: portage\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A request without one.
pub(super) fn get(path: &str, token: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: portage\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    )
}

/// Whether the server there says that it is ready, as a proxy asks it.
pub(super) fn ready(port: u16) -> bool {
    let stream = TcpStream::connect(("127.0.0.1", port)).ok();
    stream.and_then(|stream| answer(stream, &get("/readyz", ""))).is_some_and(|a| a.status == 200)
}

fn answer(mut stream: TcpStream, request: &str) -> Option<Answer> {
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, body: serde_json::from_str(body).ok()? })
}
