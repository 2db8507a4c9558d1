//! A server under load in a process of its own: this program again, as the product's command line or as
//! the peer.

use crate::{Outcome, PEER, PORTAGE};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Signs the benchmark's tokens.
const SECRET: &str = "a key for the benchmark alone, 32 bytes";
/// How long a start or a stop may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that ends with this value.
pub(crate) struct Child {
    process: std::process::Child,
    pub address: SocketAddr,
}

impl Drop for Child {
    fn drop(&mut self) {
        // it may have ended already
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn own(first: &str) -> Outcome<Command> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg(first).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name == "DATABASE_URL" || name == "KAFKA_BROKERS" || name.starts_with("PORTAGE_") {
            command.env_remove(&*name);
        }
    }
    command.env("PORTAGE_AUTH__HS256_SECRET", SECRET);
    command.env("PORTAGE_LOG", "warn");
    // one user of the load may ask for many
    command.env("PORTAGE_LIMITS__WARN_PER_MINUTE", "0");
    Ok(command)
}

fn started(mut command: Command, address: SocketAddr) -> Outcome<Child> {
    let spawned = command.stdout(Stdio::piped()).spawn();
    let mut process = spawned.map_err(|error| error.to_string())?;
    let out = process.stdout.take();
    let child = Child { process, address };
    let out = out.ok_or("the server has no stdout")?;
    let (tell, first) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        let _gone = tell.send(read.is_ok() && !line.is_empty());
    });
    if first.recv_timeout(TIMEOUT) == Ok(true) { Ok(child) } else { Err("no server starts".into()) }
}

fn free() -> Outcome<SocketAddr> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
    port.map_err(|error| format!("no free port: {error}"))
}

impl Child {
    /// The product over a folder, with these settings beside the benchmark's own.
    pub(crate) fn portage(folder: &Path, settings: &[(&str, String)]) -> Outcome<Self> {
        let address = free()?;
        let mut command = own(PORTAGE)?;
        command.arg("--data-dir").arg(folder).args(["serve", "--listen", &address.to_string()]);
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        started(command, address)
    }

    /// The peer on a database and a broker.
    pub(crate) fn peer(database: &str, brokers: &str) -> Outcome<Self> {
        let address = free()?;
        let mut command = own(PEER)?;
        command.args([&address.to_string(), database, brokers]);
        started(command, address)
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Ends it in order, so that its store is whole.
    pub(crate) fn stop(mut self) -> Outcome {
        testbed::signal("TERM", &[self.process.id()])?;
        let (ended, waits) = mpsc::channel::<()>();
        let process = self.process.id();
        // a server that does not end is ended
        let watch = std::thread::spawn(move || {
            if waits.recv_timeout(TIMEOUT).is_err() {
                let _gone = testbed::signal("KILL", &[process]);
            }
        });
        let status = self.process.wait().map_err(|error| error.to_string())?;
        let _sent = ended.send(());
        let _joined = watch.join();
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }
}

/// A token of a service that acts for any user, and of an operator.
pub(crate) fn token(folder: &Path) -> Outcome<String> {
    let mut command = own(PORTAGE)?;
    command.arg("--data-dir").arg(folder);
    command.args(["token", "--sub", "bench", "--scope", "admin", "--ttl", "1h"]);
    let out = command.output().map_err(|error| error.to_string())?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned());
    }
    Err(format!("no token: {}", String::from_utf8_lossy(&out.stderr)))
}
