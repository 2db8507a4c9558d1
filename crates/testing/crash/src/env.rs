//! The environment of a campaign: a folder, a server's site, clients.

use crate::history::{self, Event};
use crate::journal::Journal;
use crate::rng::Rng;
use crate::server::{Site, Stderr};
use crate::workload::Workload;
use crate::{Outcome, workload};
use client::Client;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// How long a client of one server waits for a reply: as long as the client itself does.
const REPLY: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Env {
    /// Where the server is; the first of them where there are several.
    pub site: Site,
    /// Where all of them are.
    sites: Vec<Site>,
    /// What the clients share.
    pub workload: Arc<Workload>,
    runtime: Runtime,
    clients: JoinSet<()>,
    below: PathBuf,
}

impl Env {
    /// A furnished service in a fresh folder below `below`, stopped again.
    ///
    /// # Errors
    /// It cannot be set up.
    pub fn set(program: &Path, below: &Path, name: &str) -> Outcome<Self> {
        let below = below.join(name);
        Self::furnished(Site::new(program, &below)?, below, name)
    }

    /// The same, of a server whose log takes nothing, and who writes a line for each request.
    ///
    /// # Errors
    /// It cannot be set up.
    pub fn mute(program: &Path, below: &Path, name: &str) -> Outcome<Self> {
        let below = below.join(name);
        let settings = vec![("PORTAGE_LOG", "debug".to_owned())];
        let site = Site { stderr: Stderr::Closed, settings, ..Site::new(program, &below)? };
        Self::furnished(site, below, name)
    }

    fn furnished(site: Site, below: PathBuf, name: &str) -> Outcome<Self> {
        let env = Self::at(site, below, name)?;
        let mut server = env.site.start(None)?;
        if !server.ready() {
            let log = std::fs::read_to_string(&env.site.log).unwrap_or_default();
            return Err(format!("the server does not start: {log}"));
        }
        env.runtime.block_on(workload::furnish(&env.workload))?;
        server.terminate()?;
        let end = server.ends_within(Duration::from_secs(30));
        end.filter(std::process::ExitStatus::success).ok_or("the server does not stop")?;
        Ok(env)
    }

    /// Clients of the server of this site, before they begin.
    ///
    /// # Errors
    /// They cannot be set up.
    pub fn at(site: Site, below: PathBuf, name: &str) -> Outcome<Self> {
        Self::among(vec![site], below, name, REPLY)
    }

    /// Clients of several servers, which ask them in turn. `reply`: how long they wait for a reply.
    ///
    /// # Errors
    /// They cannot be set up, or there is no server.
    pub fn among(sites: Vec<Site>, below: PathBuf, name: &str, reply: Duration) -> Outcome<Self> {
        let site = sites.first().cloned().ok_or("no server to ask")?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|fault| format!("no runtime: {fault}"))?;
        let journal = Journal::create(&below.join("history.jsonl"))?;
        let workload = Workload::new(journal, clients(&sites)?, name.to_owned(), reply)?;
        Ok(Self { site, sites, workload, runtime, clients: JoinSet::new(), below })
    }

    /// What the clients run on.
    pub const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Where a trace of this stage goes.
    pub fn trace_file(&self) -> PathBuf {
        self.below.join("trace")
    }

    /// Starts this number of clients.
    pub fn clients(&mut self, count: u64, rng: &mut Rng) {
        for client in 1..=count {
            let run = self.workload.clone().run(client, rng.fork());
            self.clients.spawn_on(run, self.runtime.handle());
        }
    }

    /// Waits until every client knows what became of all that it sent.
    ///
    /// # Errors
    /// What stopped one of them.
    pub fn clients_end(&mut self) -> Outcome {
        let clients = &mut self.clients;
        let all = async { while clients.join_next().await.is_some() {} };
        let ended = async { tokio::time::timeout(Duration::from_secs(60), all).await };
        let in_time = self.runtime.block_on(ended).is_ok();
        self.workload.broken().map_or(Ok(()), Err)?;
        if in_time { Ok(()) } else { Err("clients wait for ever".to_owned()) }
    }

    /// New tokens, before the old ones end.
    ///
    /// # Errors
    /// The binary's.
    pub fn renew(&self) -> Outcome {
        self.workload.take_clients(clients(&self.sites)?)
    }

    /// Everything that was seen, so far.
    ///
    /// # Errors
    /// The file's.
    pub fn history(&self) -> Outcome<Vec<Event>> {
        let path = self.below.join("history.jsonl");
        let text = std::fs::read_to_string(&path);
        history::read(&text.map_err(|fault| format!("{}: {fault}", path.display()))?)
    }

    /// The history check over all of it.
    ///
    /// # Errors
    /// What does not fit.
    pub fn faults_of_history(&self) -> Outcome {
        let faults = history::faults(&self.history()?);
        let shown: Vec<String> = faults.iter().take(20).cloned().collect();
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!("{} faults in the history: {}", faults.len(), shown.join("\n")))
    }

    /// How often each kind of answer was met; none may be missing.
    ///
    /// # Errors
    /// One is.
    pub fn met(&self) -> Outcome<std::collections::BTreeMap<&'static str, u64>> {
        let met = history::met(&self.history()?);
        if met.values().any(|times| *times == 0) {
            return Err(format!("something was never met: {met:?}"));
        }
        Ok(met)
    }

    /// A word to the terminal.
    #[expect(clippy::print_stdout, reason = "the campaign speaks to its terminal")]
    pub fn say(&self, what: &str) {
        println!("{}: {what}", self.workload.name);
    }
}

/// An empty folder of that name.
pub(crate) fn fresh_folder(below: &Path, name: &str) -> Outcome<PathBuf> {
    let path = below.join(name);
    let fault = |fault: std::io::Error| format!("{}: {fault}", path.display());
    if path.exists() {
        std::fs::remove_dir_all(&path).map_err(fault)?;
    }
    std::fs::create_dir_all(&path).map_err(fault)?;
    Ok(path)
}

fn clients(sites: &[Site]) -> Outcome<Vec<Client>> {
    sites.iter().map(client).collect()
}

pub(crate) fn client(site: &Site) -> Outcome<Client> {
    Client::new(&site.url(), &site.token()?).map_err(|fault| fault.to_string())
}
