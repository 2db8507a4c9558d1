//! The local chain of the relay campaign, a process of its own, whose endpoints inject the faults that the campaign
//! chooses.

use crate::server::TIMEOUT;
use crate::{Outcome, http};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// The relay's account and its token, as the chain makes them.
const ACCOUNT: &str = "relay.devnet";
const TOKEN: &str = "usdc.devnet";
/// From block to block, in milliseconds.
const BLOCK_MS: &str = "150";
/// For how many blocks a transaction may be included: less than what a kill and a start take now and then, so
/// that some expire.
const VALID_BLOCKS: &str = "60";
/// Two of them have to agree, so that one that lies holds nothing up.
const ENDPOINTS: usize = 3;
/// Access keys of the relay's account, numbered from 0.
pub(super) const KEYS: u64 = 4;
/// Accounts to pay to, of which every second one is registered with the token.
pub(super) const RECEIVERS: u64 = 8;
/// A port between the choice and the start may be taken by another program.
const STARTS: usize = 5;

/// A payment that is final on the chain, whatever its endpoints say.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Payment {
    event: String,
    pub to: Option<String>,
    pub amount: String,
    pub memo: Option<String>,
}

/// The chain while it runs.
#[derive(Debug)]
pub(super) struct LocalChain {
    process: Child,
    endpoints: Vec<String>,
    keys: Vec<String>,
}

impl Drop for LocalChain {
    fn drop(&mut self) {
        // it may have ended already
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl LocalChain {
    /// Starts it on ports that are free.
    pub(super) fn start(program: &Path) -> Outcome<Self> {
        let mut last = String::new();
        for _ in 0..STARTS {
            match Self::on(program, free_ports()?) {
                Ok(chain) => return Ok(chain),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    fn on(program: &Path, first: u16) -> Outcome<Self> {
        let mut command = Command::new(program);
        command.args(["near", "--port", &first.to_string(), "--block-millis", BLOCK_MS]);
        command.args(["--endpoints", &ENDPOINTS.to_string(), "--keys", &KEYS.to_string()]);
        command.args(["--receivers", &RECEIVERS.to_string(), "--validity-period", VALID_BLOCKS]);
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = started.map_err(|error| format!("{}: {error}", program.display()))?;
        let out = process.stdout.take().ok_or("the chain has no stdout")?;
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let key =
                    line.strip_prefix("access_keys = \"").and_then(|rest| rest.strip_suffix('"'));
                if let Some(keys) = key {
                    let _gone = tell.send(keys.to_owned());
                }
            }
        });
        let mut chain = Self { process, endpoints: Vec::new(), keys: Vec::new() };
        let keys = told.recv_timeout(TIMEOUT).map_err(|_| "the chain does not start")?;
        chain.keys = keys.split(',').map(str::to_owned).collect();
        let ports = (first..).take(ENDPOINTS);
        chain.endpoints = ports.map(|port| format!("127.0.0.1:{port}")).collect();
        Ok(chain)
    }

    /// What points the relay of a server at it. The two have different keys, as while keys are rotated: each lacks one
    /// of the other's.
    pub(super) fn settings(&self, server: usize) -> Vec<(&'static str, String)> {
        let lacks = if server == 0 { KEYS - 1 } else { 0 };
        let own = (0..).zip(&self.keys).filter(|(number, _)| *number != lacks);
        let keys: Vec<&str> = own.map(|(_, key)| key.as_str()).collect();
        let urls: Vec<_> = self.endpoints.iter().map(|at| format!("http://{at}")).collect();
        let settings = [
            ("RELAY_ACCOUNT_ID", ACCOUNT.to_owned()),
            ("FT_TOKEN_ADDRESS", TOKEN.to_owned()),
            ("PORTAGE_RELAY__ASSET", "USDC".to_owned()),
            ("NEAR_NETWORK", "localnet".to_owned()),
            ("NEAR_RPC_URL", urls.join(",")),
            ("RELAY_ACCESS_KEYS", keys.join(",")),
        ];
        settings.to_vec()
    }

    /// Its endpoints by their numbers.
    pub(super) fn endpoints(&self) -> std::ops::Range<usize> {
        0..self.endpoints.len()
    }

    /// One endpoint does this from now on, beside what it does already.
    pub(super) fn add(&self, endpoint: usize, rule: &Value) -> Outcome {
        self.control(endpoint, "POST", "/devnet/faults", rule).map(drop)
    }

    /// Another program uses a key of the relay's account.
    pub(super) fn wallet_signs(&self, key: u64) -> Outcome {
        let body = json!({ "account": ACCOUNT, "key": key });
        self.control(0, "POST", "/devnet/wallet", &body).map(drop)
    }

    /// One endpoint shows the chain as it was this number of blocks ago.
    pub(super) fn lag(&self, endpoint: usize, blocks: u64) -> Outcome {
        self.control(endpoint, "POST", "/devnet/lag", &json!({ "blocks": blocks })).map(drop)
    }

    /// One endpoint is fair again, and what it kept reaches the chain.
    pub(super) fn calm(&self, endpoint: usize) -> Outcome {
        self.control(endpoint, "DELETE", "/devnet/faults", &Value::Null)?;
        self.control(endpoint, "POST", "/devnet/release", &Value::Null)?;
        self.lag(endpoint, 0)
    }

    /// Every payment of the token that is final.
    pub(super) fn payments(&self) -> Outcome<Vec<Payment>> {
        let path = format!("/devnet/events?contract={TOKEN}");
        let shown = self.control(0, "GET", &path, &Value::Null)?;
        let mut all: Vec<Payment> =
            serde_json::from_value(shown).map_err(|error| format!("{path}: {error}"))?;
        all.retain(|one| one.event == "ft_transfer");
        Ok(all)
    }

    fn control(&self, endpoint: usize, method: &str, path: &str, body: &Value) -> Outcome<Value> {
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
