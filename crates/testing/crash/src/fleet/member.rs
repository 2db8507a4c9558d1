//! One process of a fleet.

use crate::Outcome;
use crate::server::{Server, Site, TIMEOUT};
use testbed::Proxy;

/// One process of ours.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) site: Site,
    pub(super) running: Option<Server>,
    /// What stands between it and the database, by the hosts of its URL.
    pub(super) proxies: Vec<Proxy>,
}

impl Member {
    pub(super) fn start(&mut self) -> Outcome {
        let server = self.site.start(None)?;
        if !server.ready() {
            return Err(format!("{} does not start: {}", self.name, self.site.last_words()));
        }
        self.running = Some(server);
        Ok(())
    }

    pub(super) fn kill(&mut self) -> Outcome {
        self.running.take().map_or(Ok(()), Server::kill)
    }

    /// It must not end by itself, whatever befalls the others.
    pub(super) fn lives(&mut self) -> Outcome {
        let ended = self.running.as_mut().and_then(Server::ended);
        let Some(status) = ended else { return Ok(()) };
        Err(format!("{} ended by itself with {status}: {}", self.name, self.site.last_words()))
    }

    pub(super) fn stop(&mut self) -> Outcome {
        let Some(mut server) = self.running.take() else { return Ok(()) };
        server.terminate()?;
        let ended = server.ends_within(TIMEOUT);
        match ended {
            Some(status) if status.success() => Ok(()),
            other => Err(format!("{} does not stop in order: {other:?}", self.name)),
        }
    }
}
