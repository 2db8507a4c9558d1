//! A fleet on PostgreSQL: the database, a Spot of its own, a server without workers, two workers.

mod kill;
mod still;
mod tables;

pub use kill::{Killed, run, settle};
pub use still::{Pace, Stood, shown, stand};

use crate::Outcome;
use crate::server::{PATIENCE, Role, Server, Site};
use std::path::Path;
use testbed::Database;

/// What callers of Spot show.
const WORD: &str = "a-word-that-servers-and-spot-share-in-campaigns";
/// Signs the audit's seals.
const SEALS: &str = "a key of the seals for the campaign alone";

/// One process of ours.
#[derive(Debug)]
struct Member {
    name: &'static str,
    site: Site,
    running: Option<Server>,
}

impl Member {
    fn start(&mut self) -> Outcome {
        let server = self.site.start(None)?;
        if !server.ready() {
            return Err(format!("{} does not start: {}", self.name, self.site.last_words()));
        }
        self.running = Some(server);
        Ok(())
    }

    fn kill(&mut self) -> Outcome {
        self.running.take().map_or(Ok(()), Server::kill)
    }

    /// It must not end by itself, whatever befalls the others.
    fn lives(&mut self) -> Outcome {
        let ended = self.running.as_mut().and_then(Server::ended);
        let Some(status) = ended else { return Ok(()) };
        Err(format!("{} ended by itself with {status}: {}", self.name, self.site.last_words()))
    }

    fn stop(&mut self) -> Outcome {
        let Some(mut server) = self.running.take() else { return Ok(()) };
        server.terminate()?;
        let ended = server.ends_within(PATIENCE);
        match ended {
            Some(status) if status.success() => Ok(()),
            other => Err(format!("{} does not stop in order: {other:?}", self.name)),
        }
    }
}

/// All of it. What is named first ends first.
#[derive(Debug)]
pub struct Fleet {
    /// In the order in which they start: Spot, the server, workers.
    members: Vec<Member>,
    database: Database,
    postgres: testbed::Server,
}

/// The member that answers clients.
const SERVE: usize = 1;

impl Fleet {
    /// Starts it in fresh folders below `below`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path, below: &Path) -> Outcome<Self> {
        let postgres = testbed::Server::start()?;
        let database = postgres.database()?;
        let mut sites = Vec::new();
        for (name, role) in [
            ("spot", Role::Spot),
            ("serve", Role::Serve),
            ("work-1", Role::Work),
            ("work-2", Role::Work),
        ] {
            let folder = below.join(name);
            sites.push((name, Site { role, ..Site::new(program, &folder)? }));
        }
        let spot = sites.first().map(|(_, site)| site.url()).unwrap_or_default();
        let settings = [
            ("DATABASE_URL", database.url()),
            ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
            ("PORTAGE_LEDGERS__SPOT__URL", &spot),
            ("PORTAGE_LEDGERS__SPOT__TOKEN", WORD),
            ("PORTAGE_SPOT__TOKEN", WORD),
            ("PORTAGE_AUDIT__MAC_SECRET", SEALS),
            ("PORTAGE_ENGINE__LEASE_SECONDS", "3"),
            ("PORTAGE_LIMITS__WARN_PER_MINUTE", "0"),
        ];
        let settings = settings.map(|(name, value)| (name, value.to_owned()));
        let member = |(name, site)| {
            let site = Site { settings: settings.to_vec(), ..site };
            Member { name, site, running: None }
        };
        let members = sites.into_iter().map(member).collect();
        let mut fleet = Self { members, database, postgres };
        for member in &mut fleet.members {
            member.start()?;
        }
        Ok(fleet)
    }

    /// Where clients find it.
    ///
    /// # Errors
    /// Nobody answers there.
    pub fn site(&self) -> Outcome<Site> {
        let serve = self.members.get(SERVE).map(|member| member.site.clone());
        serve.ok_or_else(|| "nobody serves".to_owned())
    }
}
