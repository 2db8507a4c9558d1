//! Parses as much of HTTP/1.1 as the hop needs to forward one request and one answer: a head, and a body whose
//! length the head names.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The most bytes that are read at once.
const PIECE: usize = 16 * 1_024;
/// What ends a head.
const END: &[u8] = b"\r\n\r\n";

/// A request or an answer, read to its end.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// The first line and the fields, without the empty line.
    pub head: String,
    pub body: Vec<u8>,
}

impl Message {
    /// The next one of a connection; `None` where it ends before.
    pub(super) fn read(stream: &mut TcpStream) -> Option<Self> {
        let (mut bytes, mut buffer) = (Vec::new(), vec![0; PIECE]);
        let more = |bytes: &mut Vec<u8>, stream: &mut TcpStream, buffer: &mut [u8]| {
            let read = stream.read(buffer).ok().filter(|read| *read > 0)?;
            bytes.extend_from_slice(buffer.get(..read)?);
            Some(())
        };
        loop {
            if let Some(end) = bytes.windows(END.len()).position(|part| part == END) {
                let head = String::from_utf8(bytes.get(..end)?.to_vec()).ok()?;
                let begin = end.checked_add(END.len())?;
                let whole = begin.checked_add(length(&head))?;
                while bytes.len() < whole {
                    more(&mut bytes, stream, &mut buffer)?;
                }
                return Some(Self { head, body: bytes.get(begin..whole)?.to_vec() });
            }
            more(&mut bytes, stream, &mut buffer)?;
        }
    }

    /// An answer in JSON that the hop gives by itself.
    pub(super) fn answer(status: u16, body: &str) -> Self {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Answered\r\ncontent-type: application/json\r\ncontent-length: {length}"
        );
        Self { head, body: body.as_bytes().to_vec() }
    }

    /// The same without what it says about its connection, which is the hop's own affair.
    pub(super) fn passed_on(&self) -> Self {
        let kept = self.head.lines().filter(|line| {
            let name = line.split_once(':').map_or("", |(name, _)| name);
            !["connection", "keep-alive"].iter().any(|own| name.eq_ignore_ascii_case(own))
        });
        let mut lines: Vec<&str> = kept.collect();
        let first = lines.first().map(|line| line.replacen("HTTP/1.0", "HTTP/1.1", 1));
        if let (Some(slot), Some(first)) = (lines.first_mut(), &first) {
            *slot = first;
        }
        Self { head: lines.join("\r\n"), body: self.body.clone() }
    }

    pub(super) fn write(&self, stream: &mut TcpStream) -> Option<()> {
        let bytes = [self.head.as_bytes(), END, &self.body].concat();
        stream.write_all(&bytes).ok()
    }

    /// Method and path of a request, without the query.
    pub(super) fn route(&self) -> &str {
        let first = self.head.lines().next().unwrap_or_default();
        let end = first.find('?').or_else(|| first.rfind(' '));
        end.and_then(|end| first.get(..end)).unwrap_or(first)
    }
}

fn length(head: &str) -> usize {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths.next().and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}
