//! The bare floor: a group-commit log on the same disk, two synced records for each transfer.

use crate::probe::Syncs;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// What one transfer writes in each of its two records: about as many bytes as the terms, a history
/// and an answer come to.
const RECORD: usize = 512;
/// The most records of one sync.
const MOST: usize = 4_096;

/// The thread that writes and syncs the log.
#[derive(Clone)]
pub(crate) struct Log(mpsc::Sender<oneshot::Sender<()>>);

impl Log {
    pub(crate) fn open(dir: &Path, syncs: Arc<Syncs>) -> Result<Self, String> {
        let file = File::create(dir.join("bare.log")).map_err(|e| e.to_string())?;
        let (asks, waiting) = mpsc::channel(MOST);
        std::thread::spawn(move || write(file, waiting, &syncs));
        Ok(Self(asks))
    }

    /// One transfer: two records, each durable before the next.
    pub(crate) async fn transfer(&self) -> Result<(), String> {
        for _ in 0..2 {
            let (told, done) = oneshot::channel();
            self.0.send(told).await.map_err(|e| e.to_string())?;
            done.await.map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

fn write(mut file: File, mut waiting: mpsc::Receiver<oneshot::Sender<()>>, syncs: &Syncs) {
    let mut batch = Vec::new();
    while waiting.blocking_recv_many(&mut batch, MOST) > 0 {
        let bytes = vec![7; RECORD * batch.len()];
        if file.write_all(&bytes).and_then(|()| file.sync_data()).is_err() {
            return;
        }
        syncs.count();
        for told in batch.drain(..) {
            let _gone = told.send(());
        }
    }
}
