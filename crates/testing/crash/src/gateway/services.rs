//! The processes of the gateway and clock campaigns: the server, `portage spot serve` and the guide's ledger of the simple
//! form, and a hop before each of the two.

use crate::server::{Role, Server, Site, TIMEOUT};
use crate::{Outcome, env};
use client::{Client, Error, Method};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use testbed::{Hop, HopSeen};
use tokio::runtime::{Builder, Runtime};

/// What callers of the ledgers show.
const WORD: &str = "a-word-that-servers-and-ledgers-share-in-campaigns";
/// The guide's ledger, and a rule that it has here beside its own: it refuses some deposits.
const GUIDE: &str = include_str!("../../../../../docs/guide/own_ledger_simple.py");
const RULE: (&str, &str) = (
    "    answer = json.dumps({\"error\": \"INSUFFICIENT_BALANCE\"} if after < 0 else {\"success\": True})\n    if after >= 0:\n",
    "    taken = after >= 0 and not (leg == \"DEPOSIT\" and op[\"amount\"].endswith(\"7\"))\n    answer = json.dumps({\"success\": True} if taken else {\"error\": \"TRANSFER_NOT_ALLOWED\"})\n    if taken:\n",
);

/// A process that dies with this value.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // it may have ended already
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[derive(Debug)]
pub(super) struct Services {
    site: Site,
    server: Option<Server>,
    _spot: Server,
    _margin: Process,
    hops: [Hop; 2],
    folder: PathBuf,
    runtime: Runtime,
    operators: [Client; 2],
    keys: AtomicU64,
}

impl Services {
    /// Starts them in a folder, the server with these settings too.
    pub(super) fn start(
        program: &Path,
        folder: PathBuf,
        more: &[(&'static str, String)],
    ) -> Outcome<Self> {
        let named = |name: &str| {
            let path = folder.join(name);
            let made = std::fs::create_dir_all(&path);
            made.map(|()| path.clone()).map_err(|fault| format!("{}: {fault}", path.display()))
        };
        let spot = Site { role: Role::Spot, ..Site::new(program, &named("spot")?)? };
        let settings = vec![("PORTAGE_SPOT__TOKEN", WORD.to_owned())];
        let spot = Site { settings, ..spot };
        let serves = spot.start(None)?;
        if !serves.ready() {
            return Err(format!("Spot does not start: {}", spot.last_words()));
        }
        let (margin, at) = simple(&named("margin")?)?;
        let hops = [Hop::start(at)?, Hop::start(address(&spot.address)?)?];
        let site = Site::new(program, &named("server")?)?;
        let mut settings = settings_of(&hops);
        settings.extend_from_slice(more);
        let site = Site { settings, ..site };
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|fault| format!("no runtime: {fault}"))?;
        let server = started(&site)?;
        let words = ["token", "--sub", "second", "--scope", "admin", "--ttl", "1h"];
        let second = site.run(&words)?;
        let second = Client::new(&site.url(), second.trim()).map_err(|fault| fault.to_string())?;
        let operators = [env::client(&site)?, second];
        Ok(Self {
            site,
            server: Some(server),
            _spot: serves,
            _margin: margin,
            hops,
            folder,
            runtime,
            operators,
            keys: AtomicU64::new(0),
        })
    }

    pub(super) const fn hops(&self) -> &[Hop; 2] {
        &self.hops
    }

    pub(super) fn seen(&self) -> Vec<(&'static str, HopSeen)> {
        ["MARGIN", "SPOT"].into_iter().zip(self.hops.iter().map(Hop::seen)).collect()
    }

    /// Nothing is spoilt from now on, and nothing is on its way.
    pub(super) fn calm(&self) {
        for hop in &self.hops {
            hop.pass();
            hop.deliver_late();
        }
    }

    pub(super) fn kill_and_restart(&mut self) -> Outcome {
        if let Some(server) = self.server.take() {
            server.kill()?;
        }
        self.server = Some(started(&self.site)?);
        Ok(())
    }

    /// A client that acts for any user, with a token that is new by the server's clock.
    pub(super) fn fresh_client(&self) -> Outcome<Client> {
        env::client(&self.site)
    }

    pub(super) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// A client that acts for any user.
    pub(super) fn client(&self) -> Client {
        let [one, _] = &self.operators;
        one.clone()
    }

    /// Where the ledger of the simple form keeps its rows.
    pub(super) fn rows(&self) -> PathBuf {
        self.folder.join("margin/ledger.db")
    }

    pub(super) fn look(&self, path: &str) -> Outcome<Value> {
        let [one, _] = &self.operators;
        self.runtime.block_on(one.get(path)).map_err(|fault| format!("{path}: {fault}"))
    }

    /// Something that one of two operators does; `None` where it was refused.
    pub(super) fn act(&self, who: usize, path: &str, body: &Value) -> Outcome<Option<Value>> {
        let Some(client) = self.operators.get(who) else { return Ok(None) };
        let key = format!("gateway-{}", self.keys.fetch_add(1, Ordering::Relaxed));
        loop {
            let past_action =
                self.runtime.block_on(client.run(Method::POST, path, Some(body), &key));
            match past_action {
                Ok(past_action) => return Ok(Some(past_action.answer)),
                Err(Error::Refused { status: 401 | 403, sentence, .. }) => return Err(sentence),
                Err(Error::Refused { .. }) => return Ok(None),
                Err(Error::Unknown(_) | Error::Unreachable(_)) => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(Error::Unfit(why)) => return Err(why),
            }
        }
    }
}

fn settings_of(hops: &[Hop; 2]) -> Vec<(&'static str, String)> {
    let [margin, spot] = hops;
    [
        ("PORTAGE_LEDGERS__MARGIN__KIND", "remote".to_owned()),
        ("PORTAGE_LEDGERS__MARGIN__URL", format!("http://{}", margin.address())),
        ("PORTAGE_LEDGERS__MARGIN__TOKEN", WORD.to_owned()),
        ("PORTAGE_LEDGERS__MARGIN__FORM", "simple".to_owned()),
        ("PORTAGE_LEDGERS__MARGIN__TIMEOUT_MS", "1000".to_owned()),
        ("PORTAGE_LEDGERS__SPOT__KIND", "remote".to_owned()),
        ("PORTAGE_LEDGERS__SPOT__URL", format!("http://{}", spot.address())),
        ("PORTAGE_LEDGERS__SPOT__TOKEN", WORD.to_owned()),
        ("PORTAGE_LEDGERS__SPOT__TIMEOUT_MS", "1000".to_owned()),
        ("PORTAGE_LIMITS__WARN_PER_MINUTE", "0".to_owned()),
    ]
    .into()
}

fn started(site: &Site) -> Outcome<Server> {
    let server = site.start(None)?;
    if server.ready() {
        return Ok(server);
    }
    Err(format!("the server does not start: {}", site.last_words()))
}

fn address(text: &str) -> Outcome<SocketAddr> {
    text.parse().map_err(|fault| format!("{text}: {fault}"))
}

/// The guide's ledger in a folder, and where it listens.
fn simple(folder: &Path) -> Outcome<(Process, SocketAddr)> {
    let (guide, rule) = RULE;
    if GUIDE.matches(guide).count() != 1 {
        return Err("the guide's ledger books in other words: change the campaign's rule".into());
    }
    let file = folder.join("ledger.py");
    let written = std::fs::write(&file, GUIDE.replace(guide, rule));
    written.map_err(|fault| format!("{}: {fault}", file.display()))?;
    let mut python = Command::new("python3");
    python.arg("-B").arg(&file).arg(folder.join("ledger.db")).arg("0");
    python.env("LEDGER_TOKEN", WORD).stdin(Stdio::null()).stdout(Stdio::piped());
    let started = python.stderr(Stdio::null()).spawn();
    let mut process = Process(started.map_err(|fault| format!("python3: {fault}"))?);
    let mut out = BufReader::new(process.0.stdout.take().ok_or("the ledger has no stdout")?);
    let (tell, first) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _read = out.read_line(&mut line);
        let _gone = tell.send(line);
        // whatever it prints later must not stop it
        out.read_to_end(&mut Vec::new())
    });
    let line = first.recv_timeout(TIMEOUT).unwrap_or_default();
    let at = line.trim().rsplit("://").next().unwrap_or_default();
    Ok((process, address(at).map_err(|why| format!("the ledger does not listen: {line}: {why}"))?))
}
