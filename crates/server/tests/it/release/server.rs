//! A real `portage serve` in a process of its own, and plain HTTP to it.

pub(crate) use crate::fixture::http_socket::Answer;
use crate::fixture::http_socket::{asked, connected, head, with_body};
use crate::fixture::process::{binary, minted, serves};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use testbed::Listening;

/// How long anything may take.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Server(Listening);

/// The binary over a data folder.
fn over(dir: &Path) -> Command {
    let mut command = binary();
    command.arg("--data-dir").arg(dir);
    command
}

/// Runs a command of the binary to its end.
pub(crate) fn portage(args: &[&str], dir: &Path) -> Output {
    over(dir).args(args).output().expect("the binary runs")
}

/// A token of the folder's development key.
pub(crate) fn token(dir: &Path, sub: &str, scope: &str) -> String {
    minted(over(dir), sub, scope)
}

/// Waits until it holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) -> bool {
    testbed::until(TIMEOUT, || holds().then_some(())).is_some()
}

impl Server {
    /// Starts it on a folder.
    pub(crate) fn start(dir: &Path) -> Self {
        Self::with(dir, &[])
    }

    /// The same with these variables set.
    pub(crate) fn with(dir: &Path, variables: &[(String, String)]) -> Self {
        let mut command = over(dir);
        // a deposit of the tests is one person's, whatever its amount
        command.env("PORTAGE_OPS__DEFAULT_DEPOSIT_LIMIT", "0");
        command.envs(variables.iter().cloned());
        Self(serves(command, &dir.join("server.log")))
    }

    /// `kill -9`, while others still talk to it.
    pub(crate) fn strike(&self) {
        self.0.kill();
    }

    /// Kills it with signal 9, so that it can finish nothing.
    pub(crate) fn kill(self) {
        self.strike();
    }

    /// One request on a connection of its own; `None` where it is cut off.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> Option<Answer> {
        let request = match body {
            Some(body) => with_body(method, path, token, "", &body.to_string()),
            None => head(method, path, token, ""),
        };
        asked(&mut connected(self.0.port())?, &request)
    }

    /// One request that must be answered.
    pub(crate) fn must(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> Answer {
        let answer = self.ask(method, path, token, body);
        answer.unwrap_or_else(|| panic!("an answer to {method} {path}"))
    }

    /// Asks for a transfer of USDT.
    pub(crate) fn transfer(
        &self,
        token: &str,
        (from, to): (&str, &str),
        amount: &str,
        cid: &str,
    ) -> Option<Answer> {
        let body = json!({ "from": from, "to": to, "asset": "USDT", "amount": amount, "cid": cid });
        self.ask("POST", "/api/v1/internal_transfer", token, Some(body))
    }
}
