//! A load of single HTTP posts over keep-alive connections, one token for each.
//!
//! Bare sockets: on two cores a full client would measure itself.

use crate::probe::{micros, now};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What one connection posts.
#[derive(Debug, Clone)]
pub(crate) struct Poster {
    pub path: &'static str,
    pub token: String,
}

/// Posts transfers over one connection until the time is up; gives back one duration for each.
pub(crate) async fn post(
    address: SocketAddr,
    poster: Poster,
    keys: Arc<AtomicU64>,
    until: Instant,
) -> io::Result<Vec<u32>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut took, mut buffer) = (Vec::new(), Vec::with_capacity(4096));
    while now() < until {
        let begun = now();
        let cid = keys.fetch_add(1, Ordering::Relaxed);
        let (from, to) =
            if cid.is_multiple_of(2) { ("FUNDING", "SPOT") } else { ("SPOT", "FUNDING") };
        let body = format!(
            r#"{{"from":"{from}","to":"{to}","asset":"USDT","amount":"0.01","cid":"b{cid}"}}"#
        );
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            poster.path,
            poster.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        reply(&mut stream, &mut buffer).await?;
        took.push(micros(begun));
    }
    Ok(took)
}

/// Reads one reply to its end; anything but a 200 is an error.
async fn reply(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    loop {
        if let Some(end) = find(buffer, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).into_owned();
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
                })
                .unwrap_or(0_usize);
            let whole = end + 4 + length;
            if buffer.len() >= whole {
                let ok = head.starts_with("HTTP/1.1 200");
                let text = String::from_utf8_lossy(buffer).into_owned();
                buffer.drain(..whole);
                return if ok { Ok(()) } else { Err(bad(text)) };
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(bad("the server closed the connection".to_owned()));
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
