//! Parses as much of PostgreSQL's protocol (version 3) as the proxy needs to see a COMMIT go out and its answer
//! come back. Bytes pass unchanged; encrypted ones are not understood.

use std::collections::{HashMap, HashSet};

/// The codes of a first message that ask for encryption (TLS, GSSAPI): one byte answers them.
const ASKS: [[u8; 4]; 2] = [80_877_103_u32.to_be_bytes(), 80_877_104_u32.to_be_bytes()];

/// What a client said so far.
#[derive(Debug, Default)]
pub(super) struct Client {
    buffer: Vec<u8>,
    started: bool,
    /// Prepared statements that commit, and portals of them, by name.
    statements: HashSet<Vec<u8>>,
    portals: HashMap<Vec<u8>, bool>,
    /// How many of its requests are answered by one bare byte.
    pub(super) bare: usize,
    /// What it calls itself (`application_name`), once it has said so.
    pub(super) name: Option<String>,
}

/// What a server said so far.
#[derive(Debug, Default)]
pub(super) struct Host {
    buffer: Vec<u8>,
}

impl Client {
    /// Takes bytes and gives back those of whole messages, up to the first that commits, and that one.
    /// Called again with no bytes it goes on behind it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
        self.buffer.extend_from_slice(bytes);
        let mut before = Vec::new();
        while let Some(message) = self.next() {
            if self.commits(&message) {
                return (before, Some(message));
            }
            before.extend_from_slice(&message);
        }
        (before, None)
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let head = if self.started { 1 } else { 0 };
        let message = whole(&mut self.buffer, head)?;
        if !self.started {
            if message.get(4..8).is_some_and(|code| ASKS.iter().any(|ask| code == ask)) {
                self.bare += 1;
            } else {
                self.started = true;
                self.name = Some(application_name(&message));
            }
        }
        Some(message)
    }

    /// Whether running this message ends a transaction.
    fn commits(&mut self, message: &[u8]) -> bool {
        let body = message.get(5..).unwrap_or_default();
        let mut words = body.split(|byte| *byte == 0);
        let mut word = || words.next().unwrap_or_default().to_vec();
        match message.first() {
            Some(b'Q') => is_commit(&word()),
            Some(b'P') => {
                let (name, text) = (word(), word());
                if is_commit(&text) {
                    self.statements.insert(name);
                } else {
                    self.statements.remove(&name);
                }
                false
            }
            Some(b'B') => {
                let (portal, statement) = (word(), word());
                self.portals.insert(portal, self.statements.contains(&statement));
                false
            }
            Some(b'E') => self.portals.get(&word()).copied().unwrap_or(false),
            Some(_) | None => false,
        }
    }
}

impl Host {
    /// Whether these bytes bring the end of an answer to a COMMIT: it happened, or it failed.
    pub(super) fn answers(&mut self, bytes: &[u8], bare: &mut usize) -> bool {
        self.buffer.extend_from_slice(bytes);
        while *bare > 0 && !self.buffer.is_empty() {
            self.buffer.remove(0);
            *bare -= 1;
        }
        let mut answered = false;
        while let Some(message) = whole(&mut self.buffer, 1) {
            let tag = message.get(5..).unwrap_or_default();
            answered |= match message.first() {
                Some(b'C') => tag.starts_with(b"COMMIT") || tag.starts_with(b"ROLLBACK"),
                Some(b'E') => true,
                Some(_) | None => false,
            };
        }
        answered
    }
}

/// Takes one message off the front: a kind of `head` bytes, then a length that counts itself.
fn whole(buffer: &mut Vec<u8>, head: usize) -> Option<Vec<u8>> {
    let length: [u8; 4] = buffer.get(head..head + 4)?.try_into().ok()?;
    let end = head + usize::try_from(u32::from_be_bytes(length)).ok()?;
    (buffer.len() >= end && end >= head + 4).then(|| buffer.drain(..end).collect())
}

/// What a client calls itself in its first message; empty where it does not.
fn application_name(message: &[u8]) -> String {
    // a length, a version, then names and values, each with a zero behind it
    let mut words = message.get(8..).unwrap_or_default().split(|byte| *byte == 0);
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        if name == b"application_name" {
            return String::from_utf8_lossy(value).into_owned();
        }
    }
    String::new()
}

/// Whether the last statement of a text is a COMMIT.
fn is_commit(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let last = text.split(';').map(str::trim).rfind(|statement| !statement.is_empty());
    let first = last.and_then(|last| last.split_whitespace().next()).unwrap_or_default();
    ["commit", "end"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, body].concat()
    }

    fn startup(code: u32) -> Vec<u8> {
        [8_u32.to_be_bytes(), code.to_be_bytes()].concat()
    }

    fn started() -> Client {
        let mut client = Client::default();
        let first = startup(196_608);
        assert_eq!(client.take(&first).0, first);
        client
    }

    #[test]
    fn a_client_is_known_by_its_name() {
        let words = b"user\0me\0application_name\0portage: writer\0\0";
        let length = u32::try_from(words.len() + 8).unwrap().to_be_bytes();
        let first = [&length[..], &196_608_u32.to_be_bytes(), words].concat();
        let mut client = Client::default();
        client.take(&startup(80_877_103));
        assert_eq!(client.name, None, "it asked for encryption only");
        client.take(&first);
        assert_eq!(client.name.as_deref(), Some("portage: writer"));
        let mut nameless = started();
        assert_eq!(nameless.name.take().as_deref(), Some(""));
    }

    #[test]
    fn a_commit_is_split_from_what_stands_before_and_after_it() {
        let mut client = started();
        let (one, two) = (message(b'Q', b"SELECT 1\0"), message(b'Q', b"SELECT 2\0"));
        let commit = message(b'Q', b" commit;\0");
        let bytes = [one.clone(), commit.clone(), two.clone()].concat();
        // also where the bytes come one by one
        let mut seen = Vec::new();
        for byte in &bytes {
            let (before, commit) = client.take(&[*byte]);
            seen.extend(before);
            if let Some(commit) = commit {
                seen.extend(b"|");
                seen.extend(commit);
                seen.extend(b"|");
            }
        }
        assert_eq!(seen, [&one[..], b"|", &commit, b"|", &two].concat());
    }

    #[test]
    fn a_prepared_commit_counts_when_it_is_run() {
        let mut client = started();
        let quiet = [
            message(b'P', b"s1\0COMMIT\0\0\0"),
            message(b'P', b"s2\0SELECT 'COMMIT'\0\0\0"),
            message(b'B', b"\0s2\0"),
            message(b'E', b"\0\0\0\0\0"),
            message(b'B', b"\0s1\0"),
        ];
        assert_eq!(client.take(&quiet.concat()).1, None);
        let run = message(b'E', b"\0\0\0\0\0");
        assert_eq!(client.take(&run).1, Some(run));
    }

    #[test]
    fn only_the_last_statement_of_a_text_counts() {
        for text in ["COMMIT", "end", "UPDATE t SET a = 1; COMMIT ;", "commit work"] {
            assert!(is_commit(text.as_bytes()), "{text}");
        }
        for text in ["", "COMMITS", "ROLLBACK", "COMMIT; SELECT 1", "SELECT 'COMMIT'"] {
            assert!(!is_commit(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn an_answer_is_seen_after_a_refused_encryption() {
        let mut client = Client::default();
        client.take(&startup(80_877_103));
        assert_eq!(client.bare, 1);
        let mut host = Host::default();
        let begun = [b"N".to_vec(), message(b'Z', b"I"), message(b'C', b"SELECT 1\0")].concat();
        assert!(!host.answers(&begun, &mut client.bare));
        let done = message(b'C', b"COMMIT\0");
        let (first, second) = done.split_at(3);
        assert!(!host.answers(first, &mut client.bare));
        assert!(host.answers(second, &mut client.bare));
        assert!(host.answers(&message(b'E', b"SERROR\0C40001\0\0"), &mut client.bare));
    }
}
