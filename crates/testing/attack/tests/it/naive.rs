//! A server that believes everything: `200 {}` to whatever looks like a request.

use attack::target::Target;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Which of several lengths it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    First,
    Last,
}

/// It listens until the test ends.
pub(crate) struct Naive {
    pub(crate) target: Target,
}

impl Naive {
    pub(crate) fn start(length: Length) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || answered(stream, length));
            }
        });
        Self { target: Target { address } }
    }
}

/// Answers one request after the other, until nothing more comes.
fn answered(mut stream: TcpStream, length: Length) {
    stream.set_read_timeout(Some(Duration::from_millis(10))).expect("a time");
    let mut all = Vec::new();
    // everything that the client has to say, or what comes in time
    let mut piece = [0; 65_536];
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        all.extend_from_slice(piece.get(..read).unwrap_or_default());
    }
    let text = String::from_utf8_lossy(&all).into_owned();
    let mut rest = text.as_str();
    while let Some((head, behind)) = rest.split_once("\r\n\r\n") {
        let lengths = head.lines().filter_map(|line| {
            line.strip_prefix("content-length: ").and_then(|value| value.trim().parse().ok())
        });
        let lengths: Vec<usize> = lengths.collect();
        let taken = match length {
            Length::First => lengths.first(),
            Length::Last => lengths.last(),
        };
        rest = taken.and_then(|cut| behind.get(*cut..)).unwrap_or(behind);
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").is_err() {
            return;
        }
    }
}
