//! The trading core's log: appended and synced; those who wait meanwhile share the next sync.

use crate::Outcome;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use tokio::sync::{mpsc, oneshot};

/// What one deposit writes.
const RECORD: [u8; 64] = [7; 64];
/// The most deposits of one sync.
const MOST: usize = 4_096;

/// Number of records that a caller waits for, and the channel that reports that they are durable.
type SyncRequest = (usize, oneshot::Sender<()>);

/// A log with a thread that writes it.
#[derive(Debug, Clone)]
pub struct Wal(mpsc::Sender<SyncRequest>);

impl Wal {
    /// Makes an empty one.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(file: &Path) -> Outcome<Self> {
        let file = File::create(file).map_err(|fault| format!("{}: {fault}", file.display()))?;
        let (ask, asked) = mpsc::channel(MOST);
        std::thread::spawn(move || write(file, asked));
        Ok(Self(ask))
    }

    /// Returns when the deposit is durable.
    ///
    /// # Errors
    /// The disk failed.
    pub async fn deposit(&self) -> Outcome {
        self.deposits(1).await
    }

    /// The same for several at once.
    ///
    /// # Errors
    /// The disk failed.
    pub async fn deposits(&self, records: usize) -> Outcome {
        let (told, done) = oneshot::channel();
        let gone = "the log's disk failed";
        self.0.send((records, told)).await.map_err(|_| gone)?;
        done.await.map_err(|_| gone.to_owned())
    }
}

fn write(mut file: File, mut asked: mpsc::Receiver<SyncRequest>) {
    let mut batch = Vec::new();
    while asked.blocking_recv_many(&mut batch, MOST) > 0 {
        let records = batch.iter().map(|(records, _)| *records).sum();
        if file.write_all(&RECORD.repeat(records)).and_then(|()| file.sync_data()).is_err() {
            return;
        }
        for (_, told) in batch.drain(..) {
            // who does not wait any more has ended
            let _gone = told.send(());
        }
    }
}
