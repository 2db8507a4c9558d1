//! Starts Apache Kafka for tests, one broker or two in KRaft mode in temporary folders, or uses the broker that a
//! variable names.

use crate::kafka_node::{Node, NodeRole};
use crate::programs::run;
use crate::{Outcome, jars, process};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The variable that names brokers: `host:port`, where topics may be created.
pub const GIVEN_KAFKA: &str = "PORTAGE_TEST_KAFKA";
/// The largest message that a broker takes by its own default, in bytes.
const LARGEST: u32 = 1_048_588;
/// Writes into topics as another program would; it says its usage.
const FORGE: &str = include_str!("../kafka/Forge.java");

/// A running cluster, stopped when dropped.
#[derive(Debug)]
pub struct Kafka {
    brokers: String,
    /// The brokers that are ours to kill; none where they were given.
    own: Vec<Node>,
    /// The controller of two brokers, which neither takes with it.
    _controller: Option<Node>,
}

impl Kafka {
    /// Whether this machine has what a broker of our own needs.
    ///
    /// # Errors
    /// What is missing.
    pub fn possible() -> Outcome {
        jars::possible()
    }

    /// Starts a broker of our own.
    ///
    /// # Errors
    /// Its jars cannot be had here, or it does not start.
    pub fn start() -> Outcome<Self> {
        Self::taking(LARGEST)
    }

    /// Starts a broker of our own that takes messages of at most this size, in bytes.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn taking(largest: u32) -> Outcome<Self> {
        jars::possible()?;
        let node = Node::start(NodeRole::Both { largest })?;
        Ok(Self { brokers: node.address(), own: vec![node], _controller: None })
    }

    /// Starts two brokers of our own behind a controller. Each may lead what the other has, also where it lacks a
    /// part of it (unclean leader election).
    ///
    /// # Errors
    /// The jars cannot be had here, or one of them does not start.
    pub fn pair() -> Outcome<Self> {
        jars::possible()?;
        let controller = Node::start(NodeRole::Controller)?;
        let broker = |id| Node::start(NodeRole::Broker { id, controller: controller.port() });
        let own = vec![broker(1)?, broker(2)?];
        let brokers = own.iter().map(Node::address).collect::<Vec<_>>().join(",");
        Ok(Self { brokers, own, _controller: Some(controller) })
    }

    /// The broker that `cargo xtask test` started, or a person.
    ///
    /// # Errors
    /// None was given; says what to do.
    pub fn given() -> Outcome<Self> {
        match std::env::var(GIVEN_KAFKA) {
            Ok(brokers) if !brokers.is_empty() => {
                Ok(Self { brokers, own: Vec::new(), _controller: None })
            }
            Ok(_) | Err(_) => Err(format!(
                "{GIVEN_KAFKA} is not set: these tests need a real Apache Kafka.\n`cargo xtask test` \
                 starts one. By hand: {GIVEN_KAFKA}=host:port cargo test …, of a broker where topics may \
                 be created."
            )),
        }
    }

    /// The one that was given, or one of our own.
    ///
    /// # Errors
    /// None was given, and none can be started here.
    pub fn given_or_own() -> Outcome<Self> {
        Self::given().or_else(|_| Self::start())
    }

    /// Where the brokers listen: `host:port`, with commas between.
    pub fn brokers(&self) -> &str {
        &self.brokers
    }

    /// The process of the first broker; none where it was given or does not run.
    pub fn process(&self) -> Option<u32> {
        self.own.first()?.pid()
    }

    /// The processes of all brokers that run; none where they were given.
    pub fn processes(&self) -> Vec<u32> {
        self.own.iter().filter_map(Node::pid).collect()
    }

    /// The time that it used so far.
    ///
    /// # Errors
    /// It was given, or does not run.
    pub fn used(&self) -> Outcome<Duration> {
        self.process().map(process::used).ok_or_else(|| "Kafka is not ours, or does not run".into())
    }

    /// Kills every broker that runs, as a loss of their machines would.
    ///
    /// # Errors
    /// They were given, or none runs.
    pub fn kill9(&mut self) -> Outcome {
        let mut running: Vec<&mut Node> =
            self.ours()?.iter_mut().filter(|node| node.pid().is_some()).collect();
        if running.is_empty() {
            return Err("Kafka does not run".to_owned());
        }
        running.iter_mut().try_for_each(|node| node.kill9())
    }

    /// Kills one of the brokers, by its place from 0.
    ///
    /// # Errors
    /// There is none, or it does not run.
    pub fn kill_broker(&mut self, place: usize) -> Outcome {
        self.ours()?.get_mut(place).ok_or("no such broker")?.kill9()
    }

    /// Stops every broker as a person would.
    ///
    /// # Errors
    /// They were given, or one does not end.
    pub fn stop(&mut self) -> Outcome {
        self.ours()?.iter_mut().try_for_each(Node::stop)
    }

    /// Starts the brokers again on the same folders and ports, after a stop or a kill.
    ///
    /// # Errors
    /// They were given, or one does not start.
    pub fn restart(&mut self) -> Outcome {
        let own = self.ours()?;
        own.iter_mut().try_for_each(Node::stop)?;
        own.iter_mut().try_for_each(Node::run)
    }

    /// Starts one broker again, by its place from 0.
    ///
    /// # Errors
    /// There is none, or it does not start.
    pub fn restart_broker(&mut self, place: usize) -> Outcome {
        let node = self.ours()?.get_mut(place).ok_or("no such broker")?;
        node.stop()?;
        node.run()
    }

    /// Has another program write into these topics: garbage, messages about ids that do not exist, and copies of
    /// real messages in other topics and with other amounts. Returns their number.
    ///
    /// # Errors
    /// It cannot be run, or there was no real message yet.
    pub fn forge(&self, topics: &[&str], seed: u64) -> Outcome<u64> {
        let folder =
            tempfile::tempdir().map_err(|fault| format!("no folder to forge in: {fault}"))?;
        let source = folder.path().join("Forge.java");
        std::fs::write(&source, FORGE).map_err(|fault| format!("{}: {fault}", source.display()))?;
        let mut java = java_with(&jars::class_path()?, &source);
        java.arg(&self.brokers).arg(seed.to_string()).args(topics);
        let said = run(java)?;
        said.trim().parse().map_err(|_| format!("Forge.java said no number: {said}"))
    }

    fn ours(&mut self) -> Outcome<&mut [Node]> {
        if self.own.is_empty() {
            return Err(format!("the broker at {} was given: it is not killed", self.brokers));
        }
        Ok(&mut self.own)
    }
}

/// Java with these classes and a source file, which it compiles itself.
fn java_with(classes: &str, source: &Path) -> Command {
    let mut java = Command::new("java");
    java.args(["-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classes]).arg(source);
    java.stdin(Stdio::null());
    java
}
