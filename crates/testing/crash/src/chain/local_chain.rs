//! A local chain of a campaign, a process of its own, whose endpoints inject the faults that the campaign chooses.

use crate::server::TIMEOUT;
use crate::{Outcome, http};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// Two of them have to agree, so that one that lies holds nothing up.
const ENDPOINTS: usize = 3;
/// A port between the choice and the start may be taken by another program.
const STARTS: usize = 5;

/// The chain while it runs.
#[derive(Debug)]
pub(crate) struct LocalChain {
    process: Child,
    endpoints: Vec<String>,
    /// What it said when it was ready, line by line.
    pub(crate) said: Vec<String>,
}

impl Drop for LocalChain {
    fn drop(&mut self) {
        // it may have ended already
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl LocalChain {
    /// Starts it with these words, on ports that are free. `ready`: how the last line begins that it says.
    pub(crate) fn start(program: &Path, words: &[&str], ready: &str) -> Outcome<Self> {
        let mut last = String::new();
        for _ in 0..STARTS {
            match Self::on(program, words, ready, free_ports()?) {
                Ok(chain) => return Ok(chain),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    fn on(program: &Path, words: &[&str], ready: &str, first: u16) -> Outcome<Self> {
        let mut command = Command::new(program);
        command.args(words).args(["--port", &first.to_string()]);
        command.args(["--endpoints", &ENDPOINTS.to_string()]);
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = started.map_err(|error| format!("{}: {error}", program.display()))?;
        let out = process.stdout.take().ok_or("the chain has no stdout")?;
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _gone = tell.send(line);
            }
        });
        let endpoints = (first..).take(ENDPOINTS).map(|port| format!("127.0.0.1:{port}")).collect();
        let mut chain = Self { process, endpoints, said: Vec::new() };
        loop {
            let line = told.recv_timeout(TIMEOUT).map_err(|_| "the chain does not start")?;
            let last = line.starts_with(ready);
            chain.said.push(line);
            if last {
                return Ok(chain);
            }
        }
    }

    /// The addresses of its endpoints, with commas between.
    pub(crate) fn urls(&self) -> String {
        let urls: Vec<_> = self.endpoints.iter().map(|at| format!("http://{at}")).collect();
        urls.join(",")
    }

    /// Its endpoints by their numbers.
    pub(crate) fn endpoints(&self) -> Range<usize> {
        0..self.endpoints.len()
    }

    /// One endpoint does this from now on, beside what it does already.
    pub(crate) fn add(&self, endpoint: usize, rule: &Value) -> Outcome {
        self.control(endpoint, "POST", "/devnet/faults", rule).map(drop)
    }

    /// One endpoint shows the chain as it was this number of blocks ago.
    pub(crate) fn lag(&self, endpoint: usize, blocks: u64) -> Outcome {
        self.control(endpoint, "POST", "/devnet/lag", &json!({ "blocks": blocks })).map(drop)
    }

    /// One endpoint is fair again, and what it kept reaches the chain.
    pub(crate) fn calm(&self, endpoint: usize) -> Outcome {
        self.control(endpoint, "DELETE", "/devnet/faults", &Value::Null)?;
        self.control(endpoint, "POST", "/devnet/release", &Value::Null)?;
        self.lag(endpoint, 0)
    }

    /// Asks an endpoint what no client of the chain can ask.
    pub(crate) fn control(
        &self,
        endpoint: usize,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Outcome<Value> {
        let address = self.endpoints.get(endpoint).ok_or("no such endpoint")?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = http::ask(address, method, path, &body);
        let answer = answer.map_err(|error| format!("the chain's {path}: {error}"))?;
        let shown = answer.split_once("\r\n\r\n").filter(|_| http::is_ok(&answer));
        let (_, shown) = shown.ok_or_else(|| format!("the chain's {path}: {answer}"))?;
        serde_json::from_str(shown).map_err(|error| format!("the chain's {path}: {error}"))
    }
}

/// The first of as many ports in a row as there are endpoints, free now.
fn free_ports() -> Outcome<u16> {
    let bound = |port: u16| TcpListener::bind(("127.0.0.1", port));
    for _ in 0..100 {
        let first = bound(0).and_then(|port| port.local_addr());
        let first = first.map_err(|error| format!("no free port: {error}"))?.port();
        if (first..).take(ENDPOINTS).all(|port| bound(port).is_ok()) {
            return Ok(first);
        }
    }
    Err("no ports in a row are free".to_owned())
}
