//! What runs: PostgreSQL, Apache Kafka, `portage spot serve`, and two servers that share all three.

use super::WrongStore;
use crate::fleet::{Member, settings};
use crate::server::{Role, Site};
use crate::{Outcome, env};
use client::{Client, Error, Method};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use testbed::{Database, Kafka, Server};
use tokio::runtime::{Builder, Runtime};

/// The servers by the name of their user at the database, which says whose a session is.
pub(super) const SERVERS: [&str; 2] = ["serve_1", "serve_2"];
/// A process whose broker does not answer gives a publication up after this, in milliseconds: below a
/// third of its lease.
const PUBLISH_MS: &str = "1000";
const LEASE_SECONDS: &str = "4";
/// A killed server's partitions are the other's after this, in milliseconds.
const SESSION_MS: &str = "2000";
/// What the servers count of messages that came again: consumed before, or of a transfer that has moved on.
const AGAIN: [&str; 2] = ["\"seen\"", "\"passed\""];
/// How often an operator's request that was not answered is repeated.
const TRIES: u32 = 600;

/// Everything that runs. What is named first ends first.
#[derive(Debug)]
pub(super) struct Services {
    servers: Vec<Member>,
    spot: Member,
    pub(super) database: Arc<Database>,
    pub(super) postgres: Server,
    pub(super) kafka: Kafka,
    runtime: Runtime,
    clients: Arc<Mutex<Vec<Client>>>,
}

impl Services {
    pub(super) fn start(program: &Path, below: &Path) -> Outcome<Self> {
        let below = below.join("account");
        let (postgres, kafka) = (Server::start()?, Kafka::start()?);
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
        for name in SERVERS {
            database.sql(&format!("CREATE ROLE {name} SUPERUSER LOGIN"))?;
            let (mut server, url) = member(name, Role::Alone, name)?;
            server.site.settings = settings(&url, &spot.site.url());
            let more = [
                ("KAFKA_BROKERS", kafka.brokers()),
                ("PORTAGE_KAFKA__SESSION_TIMEOUT_MS", SESSION_MS),
                ("PORTAGE_KAFKA__PUBLISH_TIMEOUT_MS", PUBLISH_MS),
                ("PORTAGE_ENGINE__LEASE_SECONDS", LEASE_SECONDS),
                // the moments hold a lock while a process is found and killed
                ("PORTAGE_DATABASE__LOCK_TIMEOUT_MS", "15000"),
            ];
            let more = more.map(|(name, value)| (name, value.to_owned()));
            server.site.settings.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
            server.site.settings.extend(more);
            server.start()?;
            servers.push(server);
        }
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        let clients = Arc::default();
        let services = Self { servers, spot, database, postgres, kafka, runtime, clients };
        services.renew()?;
        Ok(services)
    }

    pub(super) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Clients of both servers; what they are changes with [`Services::renew`].
    pub(super) fn clients(&self) -> Arc<Mutex<Vec<Client>>> {
        self.clients.clone()
    }

    /// New tokens, before the old ones end.
    pub(super) fn renew(&self) -> Outcome {
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
    pub(super) fn act(&self, path: &str, body: &Value, key: &str) -> Outcome<Value> {
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
    pub(super) fn look(&self, path: &str) -> Outcome<Value> {
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

    pub(super) fn kill_server(&mut self, n: usize) -> Outcome {
        self.servers.get_mut(n).map_or(Ok(()), Member::kill)
    }

    pub(super) fn kill_all(&mut self) -> Outcome {
        self.spot.kill()?;
        self.servers.iter_mut().try_for_each(Member::kill)
    }

    /// No process has ended by itself.
    pub(super) fn all_live(&mut self) -> Outcome {
        self.spot.lives()?;
        self.servers.iter_mut().try_for_each(Member::lives)
    }

    /// Starts what was killed; no other process may have ended.
    pub(super) fn all_run(&mut self) -> Outcome {
        for member in std::iter::once(&mut self.spot).chain(&mut self.servers) {
            member.lives()?;
            if member.running.is_none() {
                member.start()?;
            }
        }
        Ok(())
    }

    /// How many transfers have not ended.
    pub(super) fn open_transfers(&self) -> Outcome<u64> {
        self.number(
            "SELECT count(*) FROM transfers WHERE flow = 'account' AND state NOT IN (40, -10)",
        )
    }

    /// A number that the database answers.
    pub(super) fn number(&self, sql: &str) -> Outcome<u64> {
        let text = self.database.sql(sql)?;
        text.trim().parse().map_err(|_| format!("`{text}` is no number: {sql}"))
    }

    /// Messages that came again and had no effect, counted by the processes that live now.
    pub(super) fn seen_again(&self) -> Outcome<u64> {
        let mut all = 0;
        for server in &self.servers {
            let page = crate::fleet::page(&server.site, "/metrics")?;
            let lines = page.lines().filter(|line| {
                line.starts_with("portage_consumer_records_total")
                    && AGAIN.iter().any(|outcome| line.contains(outcome))
            });
            all +=
                lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>();
        }
        Ok(all)
    }

    /// Makes the database wrong, on purpose.
    pub(super) fn spoil(&self, wrong: WrongStore) -> Outcome {
        let last = "(SELECT max(transfer_id) FROM transfers WHERE flow = 'account' AND state = 40)";
        let sql = match wrong {
            WrongStore::Lost => format!(
                "DELETE FROM keys WHERE transfer_id = {last}; \
                 DELETE FROM transfers WHERE transfer_id = {last}"
            ),
            WrongStore::MovedTwice => format!(
                "UPDATE accounts_tb SET balance = balance + (SELECT amount FROM transfers \
                   WHERE transfer_id = {last}) WHERE account_number = \
                   (SELECT ltrim(target_account, '@') FROM transfers WHERE transfer_id = {last})"
            ),
        };
        self.database.sql(&sql).map(drop)
    }

    /// Runs a command of the binary on the database.
    pub(super) fn command(&self, words: &[&str]) -> Outcome<String> {
        let first = self.servers.first().ok_or("no server")?;
        first.site.run(words)
    }

    /// All of them stop in order.
    pub(super) fn stop(&mut self) -> Outcome {
        self.servers.iter_mut().rev().try_for_each(Member::stop)?;
        self.spot.stop()
    }
}
