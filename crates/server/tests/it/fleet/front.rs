//! What stands before the servers, as a proxy does: it knows which servers are up, and asks no server that is
//! out. A request goes on a connection of its own.

use crate::fixture::http_socket::{Answer, asked, connected, head};
use std::sync::{PoisonError, RwLock};

/// What became of a request.
#[derive(Debug)]
pub(super) enum ProxyReply {
    Answered(Answer),
    /// It may have arrived at this port, and no answer came.
    Cut(u16),
    /// No server was there to take it.
    NoServer,
}

/// The ports of the servers that are in.
#[derive(Debug, Default)]
pub(super) struct Front(RwLock<Vec<u16>>);

impl Front {
    pub(super) fn put(&self, port: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(port);
    }

    /// No request is sent there any more. A request sent there before may wait for an answer still.
    pub(super) fn take(&self, port: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != port);
    }

    /// Sends a request to one of those that are in: the n-th, or the next that takes it.
    pub(super) fn ask(&self, n: usize, request: &str) -> ProxyReply {
        let found = {
            let ports = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let mut turns = (0..ports.len()).map(|k| ports[(n + k) % ports.len()]);
            turns.find_map(|port| Some(port).zip(connected(port)))
        };
        let Some((port, mut stream)) = found else { return ProxyReply::NoServer };
        asked(&mut stream, request).map_or(ProxyReply::Cut(port), ProxyReply::Answered)
    }
}

/// Whether the server there says that it is ready, as a proxy asks it.
pub(super) fn ready(port: u16) -> bool {
    let answer = connected(port).and_then(|mut s| asked(&mut s, &head("GET", "/readyz", "", "")));
    answer.is_some_and(|answer| answer.status == 200)
}
