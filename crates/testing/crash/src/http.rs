//! Sends one HTTP request over a connection of its own, as a load balancer or a script does.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a client waits for an answer.
const ASKED: Duration = Duration::from_secs(2);

/// The whole answer, its head too.
pub(crate) fn ask(address: &str, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let address: SocketAddr = address.parse().map_err(std::io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, ASKED)?;
    stream.set_read_timeout(Some(ASKED))?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Whether its status is 200.
pub(crate) fn is_ok(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 ")
}
