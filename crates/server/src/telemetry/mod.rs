//! Sets up the log on stderr: lines for people on a terminal, JSON for machines. Some logged texts come from
//! strangers: no byte of them may begin a line of its own or move a terminal's cursor.

mod writer;

use crate::config::{Log, LogFormat};
use kernel::ids::Id;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::Duration;
use tracing::field::{Empty, display};
use tracing::{Span, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use writer::LogWriter;

/// The writer of this process.
static WRITER: OnceLock<LogWriter> = OnceLock::new();

/// The time that the end of the process gives to the lines that still wait.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Starts logging, of panics too. Called once; a second call changes nothing.
///
/// # Errors
/// The machine gives no thread.
pub fn start(settings: &Log) -> io::Result<()> {
    let terminal = io::stderr().is_terminal();
    let out = LogWriter::start(io::stderr())?;
    let _already = WRITER.set(out.clone());
    let writer = move || Lines { out: out.clone(), colours: terminal };
    let _already = tracing::subscriber::set_global_default(subscriber(settings, terminal, writer));
    // the default one waits for stderr
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(())
}

/// Waits a second at most for the lines that were logged: for the end of the process.
pub(crate) fn finish() {
    if let Some(writer) = WRITER.get() {
        writer.flush_within(LAST_LINES);
    }
}

fn subscriber<W>(settings: &Log, colours: bool, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // a level that cannot be read was refused with the settings
    let filter = EnvFilter::try_new(&settings.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .log_internal_errors(false);
    match settings.format {
        LogFormat::Text => Box::new(lines.with_ansi(colours).finish()),
        LogFormat::Json => Box::new(
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).finish(),
        ),
    }
}

/// The span of a request: every line that is written while it is answered carries its id, and once
/// they are known who asked and which transfer it is about. Above every level, so that the lines
/// that do pass a strict filter keep them.
pub(crate) fn request(id: &str) -> Span {
    tracing::error_span!("request", request_id = id, principal = Empty, req_id = Empty)
}

/// The request under way is this principal's.
pub(crate) fn asked_by(principal: &str) {
    Span::current().record("principal", principal);
}

/// The request under way is about this transfer.
pub(crate) fn subject(transfer: Id) {
    Span::current().record("req_id", display(transfer));
}

/// Writes whole lines, each exactly one line: the format hands over one at a time.
struct Lines<W> {
    out: W,
    /// The format's own colours may pass, and nothing else that moves a terminal.
    colours: bool,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        // a line that cannot be written fails nothing that logs it
        let _lost = self.out.write_all(harmless(&text, self.colours).as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The colours of the format: bold, faint, italic, the levels' own, and back.
const COLOURS: [&str; 10] =
    ["[0m", "[1m", "[2m", "[3m", "[31m", "[32m", "[33m", "[34m", "[35m", "[36m"];

/// A line whose only control is its end, and colours where they may pass.
fn harmless(line: &str, colours: bool) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let mut safe = String::with_capacity(line.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        let colour = letter == '\u{1b}' && COLOURS.iter().any(|c| rest.as_str().starts_with(c));
        if turns(letter) && !(colours && colour) {
            safe.extend(letter.escape_unicode());
        } else {
            safe.push(letter);
        }
    }
    safe + end
}

/// True for characters that end a line, move a cursor, or turn the direction of reading.
fn turns(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{Lines, Log, LogFormat, asked_by, request, subject, subscriber};
    use kernel::ids::Id;
    use serde_json::Value;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    /// What was written, and in how many writes.
    #[derive(Clone, Default)]
    struct Book(Arc<Mutex<Vec<u8>>>);

    impl Write for Book {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, colours: bool, level: &str, work: impl FnOnce()) -> String {
        let book = Book::default();
        let out = book.clone();
        let writer = move || Lines { out: out.clone(), colours };
        let settings = Log { format, level: level.to_owned() };
        tracing::subscriber::with_default(subscriber(&settings, colours, writer), work);
        let written = book.0.lock().unwrap().clone();
        String::from_utf8(written).unwrap()
    }

    const BAD: &str =
        "x\n2026-11-21 ERROR all is lost\r\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2028}\u{0}é";

    #[test]
    fn nothing_that_was_sent_begins_a_line_or_moves_a_cursor() {
        for (format, colours) in
            [(LogFormat::Text, false), (LogFormat::Text, true), (LogFormat::Json, false)]
        {
            let text = logged(format, colours, "info", || {
                tracing::warn!(why = BAD, shown = %BAD, debug = ?BAD, "refused: {BAD}");
            });
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            assert!(text.ends_with('\n'));
            let line = text.trim_end();
            assert!(!line.chars().any(|c| c != '\u{1b}' && super::turns(c)), "{line:?}");
            assert!(!line.contains("\u{1b}[2J"), "{line:?}");
            assert!(colours || !line.contains('\u{1b}'), "{line:?}");
            assert!(line.contains('é'), "{line}");
        }
    }

    #[test]
    fn a_line_carries_its_request_its_caller_and_its_transfer() {
        let id = Id::new(1_734_962_400_123, 7);
        let work = || {
            request("R1").in_scope(|| {
                tracing::info!("early");
                asked_by("portage|4001");
                subject(id);
                tracing::warn!(code = "HALTED", "late");
            });
        };
        let json = logged(LogFormat::Json, false, "warn", work);
        let line: Value = serde_json::from_str(&json).unwrap();
        let span = &line["span"];
        assert_eq!(span["request_id"], "R1", "{json}");
        assert_eq!(span["principal"], "portage|4001", "{json}");
        assert_eq!(span["req_id"], id.to_string(), "{json}");
        assert_eq!((&line["message"], &line["code"]), (&"late".into(), &"HALTED".into()), "{json}");
        let text = logged(LogFormat::Text, false, "info", work);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].contains("request_id=\"R1\"") && !lines[0].contains("principal"),
            "{text}"
        );
        assert!(lines[1].contains("portage|4001") && lines[1].contains(&id.to_string()), "{text}");
    }
}
