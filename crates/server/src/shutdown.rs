//! Turns SIGINT and SIGTERM into a shutdown: the first signal drains the server, the second ends it at once.

use crate::cli::exit::{EndsProcess, Exit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM, taken over from the default.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Takes the signals over from the default, which ends the process.
    ///
    /// # Errors
    /// The machine does not let us.
    pub fn take() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }

    /// Waits for one more, then ends the process at once. What was acknowledged is durable anyway.
    pub async fn end_at_once(mut self) {
        self.next().await;
        let _ends = EndsProcess(Exit::TempFail);
        tracing::warn!("second signal: ending at once; what is open goes on at the next start");
    }
}
