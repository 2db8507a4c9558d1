//! Runs two servers that share one PostgreSQL, and the Spot core that they need, for the account and relay
//! campaigns.

mod load;
mod rest;
mod table_lock;

use crate::fleet::{Member, settings};
use crate::server::{Role, Site};
use crate::{Outcome, env};
use client::{Client, Error, Method};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use testbed::{Database, Server};
use tokio::runtime::{Builder, Runtime};

pub(crate) use load::{Load, Request, Sent};
pub(crate) use rest::{none_of, rests};
pub(crate) use table_lock::TableLock;

/// The servers by the name of their user at the database, which says whose a session is.
pub(crate) const SERVERS: [&str; 2] = ["serve_1", "serve_2"];
/// How often an operator's request that was not answered is repeated.
const TRIES: u32 = 600;

/// The processes, and clients of both servers. What is named first ends first.
#[derive(Debug)]
pub(crate) struct TwoServers {
    servers: Vec<Member>,
    spot: Member,
    pub(crate) database: Arc<Database>,
    pub(crate) postgres: Server,
    runtime: Runtime,
    clients: Arc<Mutex<Vec<Client>>>,
}

impl TwoServers {
    /// Starts them on a database of their own, each server with its settings too.
    pub(crate) fn start(
        program: &Path,
        below: &Path,
        more: &dyn Fn(usize) -> Vec<(&'static str, String)>,
    ) -> Outcome<Self> {
        let postgres = Server::start()?;
        let database = Arc::new(postgres.database()?);
        let member = |name: &'static str, role, user: &str| {
            let site = Site { role, ..Site::new(program, &below.join(name))? };
            let url = database.url().replacen("://postgres@", &format!("://{user}@"), 1);
            Ok::<_, String>((Member { name, site, running: None, proxies: Vec::new() }, url))
        };
        let (mut spot, url) = member("spot", Role::Spot, "postgres")?;
        spot.site.settings = settings(&url, &spot.site.url());
        spot.start()?;
        let mut servers = Vec::new();
        for (number, name) in SERVERS.into_iter().enumerate() {
            database.sql(&format!("CREATE ROLE {name} SUPERUSER LOGIN"))?;
            let (mut server, url) = member(name, Role::Alone, name)?;
            server.site.settings = settings(&url, &spot.site.url());
            // the moments hold a lock while a process is found and killed
            let mut more = more(number);
            more.push(("PORTAGE_DATABASE__LOCK_TIMEOUT_MS", "15000".to_owned()));
            server.site.settings.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
            server.site.settings.extend(more);
            server.start()?;
            servers.push(server);
        }
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        let all = Self { servers, spot, database, postgres, runtime, clients: Arc::default() };
        all.renew()?;
        Ok(all)
    }

    pub(crate) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Clients of both servers; what they are changes with [`TwoServers::renew`].
    pub(crate) fn clients(&self) -> Arc<Mutex<Vec<Client>>> {
        self.clients.clone()
    }

    /// New tokens, before the old ones end.
    pub(crate) fn renew(&self) -> Outcome {
        let all: Vec<Client> =
            self.servers.iter().map(|server| env::client(&server.site)).collect::<Outcome<_>>()?;
        *self.clients.lock().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }

    fn client(&self, turn: u32) -> Outcome<Client> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let at = usize::try_from(turn).unwrap_or_default();
        clients.iter().cycle().nth(at).cloned().ok_or_else(|| "no server".to_owned())
    }

    /// Does something at one of the servers until it is done.
    pub(crate) fn act(&self, path: &str, body: &Value, key: &str) -> Outcome<Value> {
        let mut last = String::new();
        for turn in 0..TRIES {
            let client = self.client(turn)?;
            match self.runtime.block_on(client.run(Method::POST, path, Some(body), key)) {
                Ok(done) => return Ok(done.answer),
                Err(Error::Unfit(error)) => return Err(error),
                Err(error) => last = error.to_string(),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{path}: {last}"))
    }

    /// What one of the servers shows, as soon as one answers.
    pub(crate) fn look(&self, path: &str) -> Outcome<Value> {
        let mut last = String::new();
        for turn in 0..TRIES {
            match self.runtime.block_on(self.client(turn)?.get(path)) {
                Ok(found) => return Ok(found),
                Err(error) => last = error.to_string(),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{path}: {last}"))
    }

    pub(crate) fn kill_server(&mut self, n: usize) -> Outcome {
        self.servers.get_mut(n).map_or(Ok(()), Member::kill)
    }

    pub(crate) fn kill_all(&mut self) -> Outcome {
        self.spot.kill()?;
        self.kill_servers()
    }

    /// Both servers at once.
    pub(crate) fn kill_servers(&mut self) -> Outcome {
        self.servers.iter_mut().try_for_each(Member::kill)
    }

    /// No process has ended by itself.
    pub(crate) fn all_live(&mut self) -> Outcome {
        self.spot.lives()?;
        self.servers.iter_mut().try_for_each(Member::lives)
    }

    /// Starts what was killed; no other process may have ended.
    pub(crate) fn all_run(&mut self) -> Outcome {
        for member in std::iter::once(&mut self.spot).chain(&mut self.servers) {
            member.lives()?;
            if member.running.is_none() {
                member.start()?;
            }
        }
        Ok(())
    }

    /// A number that the database answers.
    pub(crate) fn number(&self, sql: &str) -> Outcome<u64> {
        let text = self.database.sql(sql)?;
        text.trim().parse().map_err(|_| format!("`{text}` is no number: {sql}"))
    }

    /// The pages that the servers that live show to anyone.
    pub(crate) fn pages(&self, path: &str) -> Outcome<Vec<String>> {
        self.servers.iter().map(|server| crate::fleet::page(&server.site, path)).collect()
    }

    /// Runs a command of the binary on the database.
    pub(crate) fn command(&self, words: &[&str]) -> Outcome<String> {
        let first = self.servers.first().ok_or("no server")?;
        first.site.run(words)
    }

    /// All of them stop in order.
    pub(crate) fn stop(&mut self) -> Outcome {
        self.servers.iter_mut().rev().try_for_each(Member::stop)?;
        self.spot.stop()
    }
}
