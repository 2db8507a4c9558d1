//! Runs a fleet on PostgreSQL: the database, a Spot of its own, servers and workers.

mod kill;
mod member;
mod network;
mod pair;
mod pause_worker;
mod probe;
mod tables;

pub use kill::{Killed, run, settle};
pub use network::{Network, REPLY, Silenced};
pub use pair::{Pair, Paired};
pub use pause_worker::{Durations, PausedRun, shown, stand};

use crate::Outcome;
use crate::server::{Role, Site};
use kill::settled;
pub(crate) use member::Member;
pub(crate) use probe::page;
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

/// What one process of a fleet is.
#[derive(Debug, Clone, Copy)]
struct Part {
    name: &'static str,
    role: Role,
    /// Number of its own proxies to the database, each a host in its URL; without any it connects
    /// directly.
    hosts: usize,
}

const fn part(name: &'static str, role: Role, hosts: usize) -> Part {
    Part { name, role, hosts }
}

/// What a fleet is made of.
#[derive(Debug)]
struct Plan<'a> {
    /// Its processes in the order in which they start, Spot first.
    members: &'a [Part],
    postgres: Options,
    /// Settings of all processes.
    settings: &'a [(&'static str, &'a str)],
}

/// A server that others carry for, and two workers.
const SHARED: [Part; 4] = [
    part("spot", Role::Spot, 0),
    part("serve", Role::Serve, 0),
    part("work-1", Role::Work, 0),
    part("work-2", Role::Work, 0),
];

impl Fleet {
    /// Starts it in fresh folders below `below`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path, below: &Path) -> Outcome<Self> {
        let (postgres, settings) = (Options::default(), &[][..]);
        let plan = Plan { members: &SHARED, postgres, settings };
        Self::of(&plan, program, below)
    }

    fn of(plan: &Plan<'_>, program: &Path, below: &Path) -> Outcome<Self> {
        let postgres = testbed::Server::with(&plan.postgres)?;
        let database = postgres.database()?;
        let mut members = Vec::new();
        for &Part { name, role, hosts } in plan.members {
            let site = Site { role, ..Site::new(program, &below.join(name))? };
            let proxy = |_| Proxy::start(&postgres.address()?);
            let proxies = (0..hosts).map(proxy).collect::<Outcome<_>>()?;
            members.push(Member { name, site, running: None, proxies });
        }
        let spot = members.first().map(|member| member.site.url()).unwrap_or_default();
        let mut fleet = Self { members, database, postgres };
        for member in &mut fleet.members {
            let url = match member.proxies.as_slice() {
                [] => fleet.database.url().to_owned(),
                [proxy] => fleet.database.through(proxy)?,
                [first, rest @ ..] => several(&fleet.database.through(first)?, first, rest),
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
    /// No process answers there.
    pub fn site(&self) -> Outcome<Site> {
        let serve = self.members.get(SERVE).map(|member| member.site.clone());
        serve.ok_or_else(|| "no process serves".to_owned())
    }
}

/// A URL with the addresses of all of them, of which the one that takes writes is meant.
fn several(url: &str, first: &Proxy, rest: &[Proxy]) -> String {
    let mut hosts = first.address();
    for proxy in rest {
        hosts.push(',');
        hosts.push_str(&proxy.address());
    }
    let url = url.replace(&first.address(), &hosts);
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}target_session_attrs=read-write")
}

/// What every process of a fleet is started with.
pub(crate) fn settings(database: &str, spot: &str) -> Vec<(&'static str, String)> {
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
