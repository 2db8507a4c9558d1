//! Follows a transfer to its end, for callers that show each step.

use crate::error::Error;
use crate::http::Client;
use crate::state;
use crate::types::{HistoryEntry, TransferStory};

/// Follows one transfer by reading it again and again. It holds no timer: its caller decides when.
#[derive(Debug, Clone)]
pub struct Watch {
    client: Client,
    req_id: String,
    seen: usize,
}

/// The result of one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Steps since the look before, oldest first.
    pub fresh: Vec<HistoryEntry>,
    /// The transfer as it stands.
    pub story: TransferStory,
    /// It ended: nothing will ever change.
    pub ended: bool,
}

impl Watch {
    /// A watch on a transfer.
    pub fn new(client: Client, req_id: &str) -> Self {
        Self { client, req_id: req_id.to_owned(), seen: 0 }
    }

    /// Continues the watch with another token.
    pub fn with(&mut self, client: Client) {
        self.client = client;
    }

    /// Reads the transfer once.
    ///
    /// # Errors
    /// [`Error::Refused`] with 404 where there is none that the token may see. After any other the
    /// next look goes on where this one failed.
    pub async fn look(&mut self) -> Result<Looked, Error> {
        let story = self.client.transfer(&self.req_id).await?;
        let fresh: Vec<HistoryEntry> = story.history.iter().skip(self.seen).cloned().collect();
        self.seen = story.history.len();
        let ended = state::has_ended(&story.transfer.state);
        Ok(Looked { fresh, story, ended })
    }
}
