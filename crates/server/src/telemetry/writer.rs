//! Writes the log on a thread of its own. A stderr that is closed, or a pipe that its reader leaves full, loses lines
//! and holds up nothing else.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines that may wait for stderr; what comes beyond them is lost, and counted.
const WAITING: usize = 8192;

/// One entry of the queue.
enum LogEntry {
    Line(Vec<u8>),
    /// Answered once all lines before it are written.
    Flush(SyncSender<()>),
}

/// The queue of lines, and the number of those that found no room in it.
#[derive(Debug, Clone)]
pub(super) struct LogWriter {
    queue: SyncSender<LogEntry>,
    lost: Arc<AtomicU64>,
}

impl LogWriter {
    /// Starts the thread, which ends with the last clone of this.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, entries) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write(out, &entries, &counted))?;
        Ok(Self { queue, lost })
    }

    /// Waits until what was logged is written, at most this long.
    pub(super) fn flush_within(&self, limit: Duration) {
        let (written, answer) = sync_channel(1);
        // a queue that is full has stood still already
        if self.queue.try_send(LogEntry::Flush(written)).is_ok() {
            let _late = answer.recv_timeout(limit);
        }
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self.queue.try_send(LogEntry::Line(line.to_vec())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes entry after entry. A line that cannot be written is lost.
fn write(mut out: impl Write, entries: &Receiver<LogEntry>, lost: &AtomicU64) {
    for entry in entries {
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 {
            let line = format!("portage: {missing} lines of the log were lost: stderr took none\n");
            let _lost = out.write_all(line.as_bytes());
        }
        match entry {
            LogEntry::Line(line) => {
                let _lost = out.write_all(&line);
            }
            LogEntry::Flush(written) => {
                let _lost = out.flush();
                let _gone = written.try_send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LogWriter, WAITING};
    use std::io::{self, Write};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    /// A pipe that takes a line for each leave that it is given.
    struct SlowPipe(Receiver<()>, Sender<String>);

    impl Write for SlowPipe {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            let _read = self.1.send(String::from_utf8_lossy(line).into_owned());
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Turns red where a line waits for stderr (run: a queue that blocks where it is full: the test never ends).
    #[test]
    fn a_pipe_that_stands_still_holds_up_no_line() {
        let ((leave, allowed), (wrote, read)) = (channel(), channel());
        let mut log = LogWriter::start(SlowPipe(allowed, wrote)).unwrap();
        for n in 0..WAITING + 100 {
            log.write_all(format!("{n}\n").as_bytes()).unwrap();
        }
        log.flush_within(Duration::from_millis(1));
        for _ in 0..WAITING + 100 {
            leave.send(()).unwrap();
        }
        drop(log);
        // the thread may begin at any line: what is lost before it and after it is told apart
        let (told, written): (Vec<_>, Vec<_>) =
            read.iter().partition(|line| line.contains("were lost"));
        let lost: usize =
            told.iter().filter_map(|line| line.split(' ').nth(1)?.parse::<usize>().ok()).sum();
        assert!(written.starts_with(&["0\n".to_owned(), "1\n".to_owned()]));
        assert!(!told.is_empty());
        assert_eq!(written.len() + lost, WAITING + 100);
    }

    #[test]
    fn a_pipe_without_a_reader_fails_no_line() {
        let ((leave, allowed), (wrote, _read)) = (channel(), channel());
        drop(leave);
        let mut log = LogWriter::start(SlowPipe(allowed, wrote)).unwrap();
        log.write_all(b"x\n").unwrap();
        log.flush_within(Duration::from_secs(60));
        log.write_all(b"y\n").unwrap();
    }
}
