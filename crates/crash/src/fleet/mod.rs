//! A fleet on PostgreSQL: the database, a Spot of its own, servers and workers.

mod kill;
mod member;
mod network;
mod pair;
mod probe;
mod still;
mod tables;

pub use kill::{Killed, run, settle};
pub use network::{Network, REPLY, Silenced};
pub use pair::{Pair, Paired};
pub use still::{Pace, Stood, shown, stand};

use crate::Outcome;
use crate::server::{Role, Site};
use kill::settled;
use member::Member;
use std::path::Path;
use testbed::{Database, Options, Proxy};

/// What callers of Spot show.
const WORD: &str = "a-word-that-servers-and-spot-share-in-campaigns";
/// Signs the audit's seals.
const SEALS: &str = "a key of the seals for the campaign alone";

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

/// What a fleet is made of.
#[derive(Debug)]
struct Plan<'a> {
    /// Its processes in the order in which they start, Spot first.
    members: &'a [(&'static str, Role)],
    /// Each reaches the database through a proxy of its own.
    proxies: bool,
    /// The database's settings.
    postgres: Options,
    /// Settings of all processes.
    settings: &'a [(&'static str, &'a str)],
}

/// A server that others carry for, and two workers.
const SHARED: [(&str, Role); 4] =
    [("spot", Role::Spot), ("serve", Role::Serve), ("work-1", Role::Work), ("work-2", Role::Work)];

impl Fleet {
    /// Starts it in fresh folders below `below`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path, below: &Path) -> Outcome<Self> {
        let (postgres, settings) = (Options::default(), &[][..]);
        let plan = Plan { members: &SHARED, proxies: false, postgres, settings };
        Self::of(&plan, program, below)
    }

    fn of(plan: &Plan<'_>, program: &Path, below: &Path) -> Outcome<Self> {
        let postgres = testbed::Server::with(&plan.postgres)?;
        let database = postgres.database()?;
        let mut members = Vec::new();
        for &(name, role) in plan.members {
            let site = Site { role, ..Site::new(program, &below.join(name))? };
            let proxy = plan.proxies.then(|| Proxy::start(&postgres.address()?)).transpose()?;
            members.push(Member { name, site, running: None, proxy });
        }
        let spot = members.first().map(|member| member.site.url()).unwrap_or_default();
        let mut fleet = Self { members, database, postgres };
        for member in &mut fleet.members {
            let url = match &member.proxy {
                Some(proxy) => fleet.database.through(proxy)?,
                None => fleet.database.url().to_owned(),
            };
            member.site.settings = settings(&url, &spot);
            let more = plan.settings.iter().map(|(name, value)| (*name, (*value).to_owned()));
            member.site.settings.extend(more);
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

/// What every process of a fleet is started with.
fn settings(database: &str, spot: &str) -> Vec<(&'static str, String)> {
    let settings = [
        ("DATABASE_URL", database),
        ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
        ("PORTAGE_LEDGERS__SPOT__URL", spot),
        ("PORTAGE_LEDGERS__SPOT__TOKEN", WORD),
        ("PORTAGE_SPOT__TOKEN", WORD),
        ("PORTAGE_AUDIT__MAC_SECRET", SEALS),
        ("PORTAGE_ENGINE__LEASE_SECONDS", "3"),
        ("PORTAGE_LIMITS__WARN_PER_MINUTE", "0"),
    ];
    settings.map(|(name, value)| (name, value.to_owned())).to_vec()
}
