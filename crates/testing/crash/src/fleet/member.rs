//! One process of a fleet.

use crate::Outcome;
use crate::server::{Server, Site, TIMEOUT};
use testbed::Proxy;

/// One process of ours.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) site: Site,
    pub(crate) running: Option<Server>,
    /// What stands between it and the database, by the hosts of its URL.
    pub(crate) proxies: Vec<Proxy>,
}

impl Member {
    pub(crate) fn start(&mut self) -> Outcome {
        let server = self.site.start(None)?;
        if !server.ready() {
            return Err(format!("{} does not start: {}", self.name, self.site.last_words()));
        }
        self.running = Some(server);
        Ok(())
    }

    pub(crate) fn kill(&mut self) -> Outcome {
        self.running.take().map_or(Ok(()), Server::kill)
    }

    /// It must not end by itself, whatever befalls the others.
    pub(crate) fn lives(&mut self) -> Outcome {
        let ended = self.running.as_mut().and_then(Server::ended);
        let Some(status) = ended else { return Ok(()) };
        Err(format!("{} ended by itself with {status}: {}", self.name, self.site.last_words()))
    }

    pub(crate) fn stop(&mut self) -> Outcome {
        let Some(mut server) = self.running.take() else { return Ok(()) };
        server.terminate()?;
        let ended = server.ends_within(TIMEOUT);
        match ended {
            Some(status) if status.success() => Ok(()),
            other => Err(format!("{} does not stop in order: {other:?}", self.name)),
        }
    }
}
