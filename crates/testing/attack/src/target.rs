//! The server under attack: raw bytes to it, and what comes back.

use crate::Outcome;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The server that is attacked.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its address as `host:port`.
    pub address: String,
}

/// What came back for one request.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// 0: nothing, the connection was closed.
    pub status: u16,
    /// Everything before the body.
    pub head: String,
    pub body: String,
}

/// One request, not sent yet.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    path: String,
    lines: Vec<String>,
    body: Option<String>,
}

impl Request {
    /// Without a token and a body.
    pub fn new(method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { method, path, lines: Vec::new(), body: None }
    }

    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// A `POST` with a JSON body.
    pub fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path).json(&body.to_string())
    }

    /// With one more header line.
    #[must_use]
    pub fn line(mut self, name: &str, value: &str) -> Self {
        self.lines.push(format!("{name}: {value}\r\n"));
        self
    }

    #[must_use]
    pub fn token(self, token: &str) -> Self {
        self.line("authorization", &format!("Bearer {token}"))
    }

    /// With a body that says it is JSON.
    #[must_use]
    pub fn json(mut self, body: &str) -> Self {
        self.body = Some(body.to_owned());
        self.line("content-type", "application/json")
    }

    /// The bytes. The server is asked to close behind them where that is wanted.
    pub fn bytes(&self, close: bool) -> String {
        let Self { method, path, lines, body } = self;
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: portage\r\n{}", lines.concat());
        if let Some(body) = body {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        if close {
            text.push_str("connection: close\r\n");
        }
        text.push_str("\r\n");
        text.push_str(body.as_deref().unwrap_or_default());
        text
    }
}

impl Reply {
    /// The answers in these bytes, one behind the other.
    pub fn all(text: &str) -> Vec<Self> {
        let mut rest = text;
        let mut all = Vec::new();
        while let Some((head, behind)) = rest.split_once("\r\n\r\n") {
            let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let length = name.eq_ignore_ascii_case("content-length");
                length.then(|| value.trim().parse::<usize>().ok()).flatten()
            });
            let whole = (behind, "");
            let (body, next) = length.and_then(|cut| behind.split_at_checked(cut)).unwrap_or(whole);
            let (head, body) = (head.to_owned(), body.to_owned());
            all.push(Self { status: status.unwrap_or(0), head, body });
            rest = next;
        }
        all
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// The code of an error; empty where there is none.
    pub fn code(&self) -> String {
        self.json().get("code").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// What a caller can tell answers apart by: all but the request's own id.
    pub fn told(&self) -> (u16, Value) {
        let mut body = self.json();
        if let Some(body) = body.as_object_mut() {
            body.remove("request_id");
        }
        (self.status, body)
    }

    /// In one short line.
    pub fn short(&self) -> String {
        format!("{} {}", self.status, self.body.chars().take(200).collect::<String>())
    }
}

impl Target {
    /// By its address.
    ///
    /// # Errors
    /// It is no `http://host:port`.
    pub fn of(url: &str) -> Outcome<Self> {
        let unfit = || format!("`{url}`: http://HOST:PORT, where the server listens without TLS");
        let address = url.strip_prefix("http://").ok_or_else(unfit)?.trim_end_matches('/');
        if address.contains('/') || address.is_empty() {
            return Err(unfit());
        }
        let port = if address.contains(':') { "" } else { ":80" };
        Ok(Self { address: format!("{address}{port}") })
    }

    /// A connection.
    ///
    /// # Errors
    /// No server listens.
    pub fn connect(&self) -> Outcome<TcpStream> {
        let fault = |fault: std::io::Error| format!("{}: {fault}", self.address);
        let stream = TcpStream::connect(&self.address).map_err(fault)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(fault)?;
        stream.set_write_timeout(Some(TIMEOUT)).map_err(fault)?;
        Ok(stream)
    }

    /// All that comes back for these bytes, until the server closes.
    ///
    /// # Errors
    /// No server listens.
    pub fn raw(&self, bytes: &str) -> Outcome<String> {
        self.told(bytes, TIMEOUT)
    }

    /// All that comes back for these bytes, until the server closes or is silent for `quiet`. Our
    /// side stays open: a server may drop what it has not answered yet when it sees a client go.
    ///
    /// # Errors
    /// No server listens.
    pub fn told(&self, bytes: &str, quiet: Duration) -> Outcome<String> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(quiet)).map_err(|fault| fault.to_string())?;
        // the server may close in the middle of it
        let _sent = stream.write_all(bytes.as_bytes());
        Ok(rest(&mut stream))
    }

    /// The answer to one request.
    ///
    /// # Errors
    /// No server listens.
    pub fn ask(&self, request: &Request) -> Outcome<Reply> {
        let said = self.raw(&request.bytes(true))?;
        Ok(Reply::all(&said).into_iter().next().unwrap_or_default())
    }
}

/// What is still to come on a connection.
pub fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // a reset after the answer leaves what was read before it
    let _read = stream.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Reply, Target};

    #[test]
    fn answers_are_told_apart_by_their_lengths() {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 400 No\r\n\r\nrest";
        let all = Reply::all(text);
        assert_eq!(all.iter().map(|reply| reply.status).collect::<Vec<_>>(), [200, 400]);
        assert!(Reply::all("").is_empty());
    }

    #[test]
    fn a_target_is_a_plain_address() {
        assert_eq!(Target::of("http://127.0.0.1:8080/").unwrap().address, "127.0.0.1:8080");
        assert!(Target::of("https://a").is_err() && Target::of("http://a/b").is_err());
    }
}
