//! The driver's own journal: it makes every call durable before the driver sends it, and every answer before the
//! driver goes on.

use crate::Outcome;
use crate::history::Event;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

/// A line, and who waits until it is durable.
type Line = (String, oneshot::Sender<Outcome>);

/// Where calls are written down. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Journal {
    lines: mpsc::Sender<Line>,
    calls: Arc<AtomicU64>,
}

impl Journal {
    /// A new one. Lines that come together share a sync.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path) -> Outcome<Self> {
        let fault = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = File::options().create_new(true).append(true).open(path).map_err(fault)?;
        let (lines, asked) = mpsc::channel::<Line>();
        let write = move || {
            while let Ok(first) = asked.recv() {
                let mut group = vec![first];
                group.extend(asked.try_iter());
                let mut text = String::new();
                for (line, _) in &group {
                    text.push_str(line);
                    text.push('\n');
                }
                let done = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
                let done = done.map_err(|error| format!("the driver's journal: {error}"));
                for (_, told) in group {
                    drop(told.send(done.clone()));
                }
            }
        };
        std::thread::Builder::new().name("journal".to_owned()).spawn(write).map_err(fault)?;
        Ok(Self { lines, calls: Arc::default() })
    }

    /// The next call's number.
    pub fn number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// How many calls were numbered.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn put(&self, event: &Event) -> Outcome<oneshot::Receiver<Outcome>> {
        let line = serde_json::to_string(event).map_err(|fault| fault.to_string())?;
        let (told, durable) = oneshot::channel();
        self.lines.send((line, told)).map_err(|_| GONE.to_owned())?;
        Ok(durable)
    }

    /// Writes a line down; returns once it is durable.
    ///
    /// # Errors
    /// The disk's.
    pub async fn write(&self, event: &Event) -> Outcome {
        self.put(event)?.await.unwrap_or_else(|_| Err(GONE.to_owned()))
    }

    /// The same, for a thread.
    ///
    /// # Errors
    /// The disk's.
    pub fn note(&self, event: &Event) -> Outcome {
        self.put(event)?.blocking_recv().unwrap_or_else(|_| Err(GONE.to_owned()))
    }
}

/// The thread that writes is gone.
const GONE: &str = "the driver's journal has ended";
