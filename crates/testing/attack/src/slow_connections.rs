//! Connections that keep a server waiting, while others want to be served.

use crate::Outcome;
use crate::owners::{CREATE, transfer};
use crate::report::Part;
use crate::target::{Request, Target};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Number of connections with a head that never ends, and of connections with a body that never ends.
const EACH: usize = 100;
/// Number of other requests meanwhile.
const OTHERS: u64 = 100;
/// Maximum number of rounds until a connection that drips a byte in each round is cut.
const ROUNDS: usize = 600;
const ROUND: Duration = Duration::from_millis(100);

/// Others are served at every moment, and each slow connection is cut.
///
/// # Errors
/// No server listens.
pub fn run(target: &Target, token: &str) -> Outcome<Part> {
    let mut part = Part::default();
    let body = transfer("slow").to_string();
    let whole = Request::post(&format!("{CREATE}?dry_run=true"), &transfer("slow")).token(token);
    let head = format!("POST {CREATE} HTTP/1.1\r\nhost: portage\r\nx-a: ");
    let text = whole.bytes(false);
    let started = text.strip_suffix(&body).unwrap_or(&text);
    let started = started.replace(&format!("{}\r\n\r\n", body.len()), "9000\r\n\r\n{");
    let mut slow = Vec::new();
    for text in [&head, &started] {
        for _ in 0..EACH {
            let mut stream = target.connect()?;
            stream.write_all(text.as_bytes()).map_err(|fault| fault.to_string())?;
            stream.set_nonblocking(true).map_err(|fault| fault.to_string())?;
            slow.push(stream);
        }
    }
    for _ in 0..OTHERS {
        slow.retain_mut(|stream| !cut(stream));
        let reply = target.ask(&whole)?;
        part.must(reply.status == 200, || format!("beside slow ones: {}", reply.short()));
    }
    for _ in 0..ROUNDS {
        slow.retain_mut(|stream| !cut(stream));
        if slow.is_empty() {
            break;
        }
        std::thread::sleep(ROUND);
    }
    let left = slow.len();
    part.must(left == 0, || format!("{left} slow connections are never cut"));
    part.tried = part.tried.saturating_add(u64::try_from(EACH * 2).unwrap_or(0));
    Ok(part)
}

/// Drips one byte. True: the server has closed it.
fn cut(stream: &mut TcpStream) -> bool {
    let sent = stream.write(b"a");
    let read = stream.read(&mut [0; 4096]);
    let waits = |kind: ErrorKind| kind == ErrorKind::WouldBlock;
    let gone = sent.is_err_and(|fault| !waits(fault.kind()));
    gone || read.map_or_else(|fault| !waits(fault.kind()), |read| read == 0)
}
