//! One node of Apache Kafka in a temporary folder: a broker, a controller, or both.
//!
//! Beside it runs a small shell, which ends it and removes its folder when this process is gone, however that came
//! about.

use crate::programs::run;
use crate::{Outcome, clock, jars, process};
use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The longest that a start or a stop may take: a start after a kill waits for the old session's end.
const TIMEOUT: Duration = Duration::from_secs(90);
const PROPERTIES: &str = include_str!("../kafka/server.properties");
const LOG4J: &str = include_str!("../kafka/log4j2.properties");
/// The name of the cluster: any 16 bytes.
const CLUSTER: &str = "abcdefghijklmnopqrstuv";
/// Little memory and a start of two seconds, for one node of a test.
const JVM: [&str; 3] = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// Waits at our pipe beside the broker. A word: stop as a person would, or it is gone already. The pipe's
/// end: this process is gone, and the folder is not needed.
const WATCH: &str = r#"
folder=$1; shift
"$@" </dev/null &
broker=$!
echo "$broker" > "$folder/pid"
if read -r word; then
    [ "$word" = gone ] || kill -TERM "$broker"
    wait "$broker"
else
    kill -KILL "$broker"
    wait "$broker"
    rm -rf "$folder"
fi
"#;
/// The number of a controller by itself.
const CONTROLLER: u32 = 9;
/// What two brokers have beside the settings of one: two copies of each topic, of which one may be missing.
const PAIR: &str = "default.replication.factor=2\nmin.insync.replicas=1\noffsets.topic.replication.factor=2\n\
    transaction.state.log.replication.factor=2\nshare.coordinator.state.topic.replication.factor=2\n\
    unclean.leader.election.enable=true\nreplica.lag.time.max.ms=2000\n";

/// What a node is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NodeRole {
    /// A whole cluster in one process, whose topics take messages of at most this size, in bytes.
    Both { largest: u32 },
    /// It elects the leaders of the partitions, and keeps no messages.
    Controller,
    /// One of two brokers, with the port of their controller.
    Broker { id: u32, controller: u16 },
}

impl NodeRole {
    fn settings(self, port: u16, controller: u16) -> String {
        let listens = format!("PLAINTEXT://127.0.0.1:{port}");
        match self {
            Self::Both { largest } => format!(
                "listeners={listens},CONTROLLER://127.0.0.1:{controller}\nadvertised.listeners={listens}\n\
                 controller.quorum.voters=1@127.0.0.1:{controller}\nmessage.max.bytes={largest}\n"
            ),
            Self::Controller => format!(
                "process.roles=controller\nnode.id={CONTROLLER}\nlisteners=CONTROLLER://127.0.0.1:{port}\n\
                 controller.quorum.voters={CONTROLLER}@127.0.0.1:{port}\n{PAIR}"
            ),
            Self::Broker { id, controller } => format!(
                "process.roles=broker\nnode.id={id}\nlisteners={listens}\nadvertised.listeners={listens}\n\
                 controller.quorum.voters={CONTROLLER}@127.0.0.1:{controller}\n{PAIR}"
            ),
        }
    }
}

/// A node that is ours to kill.
#[derive(Debug)]
pub(crate) struct Node {
    folder: TempDir,
    classes: String,
    port: u16,
    watch: Option<Child>,
}

impl Node {
    /// Starts a node on a port of its own.
    ///
    /// # Errors
    /// Its jars cannot be had here, or it does not start.
    pub(crate) fn start(role: NodeRole) -> Outcome<Self> {
        let classes = jars::class_path()?;
        let folder = tempfile::Builder::new().prefix("portage-kafka-").tempdir();
        let folder = folder.map_err(|fault| format!("no folder for Kafka: {fault}"))?;
        let mut node = Self { folder, classes, port: process::free_port()?, watch: None };
        node.configure(role)?;
        node.run()?;
        Ok(node)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self, role: NodeRole) -> Outcome {
        let own = role.settings(self.port, process::free_port()?);
        let own = format!("{own}log.dirs={}\n", self.path("data").display());
        let write = |name: &str, text: &str| {
            let path = self.path(name);
            std::fs::write(&path, text).map_err(|fault| format!("{}: {fault}", path.display()))
        };
        write("server.properties", &format!("{PROPERTIES}{own}"))?;
        write("log4j2.properties", LOG4J)?;
        let mut format = self.java("-Xmx128m");
        format.args(["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c"]);
        format.arg(self.path("server.properties"));
        run(format).map(drop)
    }

    fn java(&self, memory: &str) -> Command {
        let mut java = Command::new("java");
        java.args([memory, &self.log4j(), "-cp", &self.classes]).stdin(Stdio::null());
        java
    }

    fn log4j(&self) -> String {
        format!("-Dlog4j2.configurationFile=file:{}", self.path("log4j2.properties").display())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        let pid = std::fs::read_to_string(self.path("pid")).ok()?.trim().parse().ok()?;
        process::runs(pid).then_some(pid)
    }

    pub(crate) fn run(&mut self) -> Outcome {
        let _former = std::fs::remove_file(self.path("pid"));
        let path = self.path("log");
        let said = |fault: std::io::Error| format!("{}: {fault}", path.display());
        let log = File::options().create(true).append(true).open(&path).map_err(said)?;
        let mut watch = Command::new("sh");
        watch.args(["-c", WATCH, "sh"]).arg(self.folder.path()).arg("java").args(JVM);
        watch.args([&self.log4j(), "-cp", &self.classes, "kafka.Kafka"]);
        watch.arg(self.path("server.properties"));
        watch.stdin(Stdio::piped()).stdout(log.try_clone().map_err(said)?).stderr(log);
        std::os::unix::process::CommandExt::process_group(&mut watch, 0);
        let mut child = watch.spawn().map_err(|fault| format!("sh: {fault}"))?;
        let mut pid = None;
        let ready = clock::until(TIMEOUT, || {
            pid = pid.or_else(|| self.pid());
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Some(true);
            }
            pid.is_some_and(|pid| !process::runs(pid)).then_some(false)
        });
        if ready == Some(true) {
            self.watch = Some(child);
            return Ok(());
        }
        say(&mut child, "stop")?;
        let log = std::fs::read_to_string(&path).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(12).collect();
        let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
        Err(format!("Kafka does not start at port {}:\n{last}", self.port))
    }

    pub(crate) fn kill9(&mut self) -> Outcome {
        let pid = self.pid().ok_or("Kafka does not run")?;
        process::signal("KILL", &[pid])?;
        // its socket answers for some moments more
        clock::until(TIMEOUT, || (!process::runs(pid)).then_some(()))
            .ok_or("Kafka outlives SIGKILL")?;
        self.end("gone")
    }

    pub(crate) fn stop(&mut self) -> Outcome {
        let pid = self.pid();
        self.end("stop")?;
        let gone =
            clock::until(TIMEOUT, || pid.is_none_or(|pid| !process::there(pid)).then_some(()));
        gone.ok_or_else(|| "Kafka does not end".to_owned())
    }

    fn end(&mut self, word: &str) -> Outcome {
        self.watch.take().map_or(Ok(()), |mut child| say(&mut child, word))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // without a word: it ends the broker at once and removes the folder
        if let Some(mut child) = self.watch.take() {
            drop(child.stdin.take());
            let _ended = child.wait();
        }
    }
}

/// Says a word to the shell beside a broker, and waits for its end.
fn say(child: &mut Child, word: &str) -> Outcome {
    let mut pipe = child.stdin.take().ok_or("the shell beside Kafka has no pipe")?;
    writeln!(pipe, "{word}").map_err(|fault| format!("the shell beside Kafka: {fault}"))?;
    child.wait().map(drop).map_err(|fault| format!("the shell beside Kafka: {fault}"))
}
