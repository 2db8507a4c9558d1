//! A store of which work of every kind is under way: a key of account transfers that is parked, an attempt of the
//! relay that may land yet, a proposal, cases, and messages of an endpoint that wait.

use super::{Build, Cli, SEALED, SETTINGS, StoreFixture, ended, fresh, views};
use crate::{Outcome, run};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The chain of this seed is the same one at each start, so that what was signed stays valid.
const SEED: &str = "34";
const STEPS: &[&str] = &[
    "account pipeline open ACC-1 --owner 4001 --currency USDT --reason contract",
    "account pipeline open ACC-2 --owner 4002 --currency USDT --reason contract",
    "account pipeline open ACC-3 --owner 4001 --currency USDT --reason contract",
    "account pipeline deposit ACC-1 --currency USDT --amount 100 --ref wire-1",
    "account pipeline deposit ACC-3 --currency USDT --amount 100 --ref wire-2",
    "webhook add https://hooks.example.com/portage --event transfer.* --reason receiver",
    "account-transfer ACC-1 25",
    "deposit --user 4002 --asset USDT --amount 6000 --ref wire-3",
];
/// A statement that cannot run hinders what an account pays: no refusal, and no end.
const HINDER: &str = "CREATE TRIGGER hinders BEFORE UPDATE ON accounts_tb WHEN new.account_number = 'ACC-3' \
    BEGIN INSERT INTO not_there VALUES (1); END";
const CLEAR: &str = "DROP TRIGGER hinders";
/// Runs SQL in a file; there is a python3 for the ledger elsewhere already.
const SQL: &str =
    "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=30).executescript(sys.argv[2])";
/// The number of looks before something has failed.
const MOST_TRIES: usize = 600;

/// A chain with a token, whose endpoints answer on two ports.
struct Chain {
    process: Child,
    /// The section of the settings that points the relay at it.
    settings: String,
    ports: [u16; 2],
}

impl Chain {
    fn start(binary: &Path) -> Outcome<Self> {
        let first = testbed::free_port()?;
        let ports = [first, first.saturating_add(1)];
        let mut command = run::program(binary);
        command.args(["near", "--seed", SEED, "--keys", "1", "--receivers", "1", "--port"]);
        command.arg(first.to_string()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("devnet near: {error}"))?;
        let out = process.stdout.take().ok_or("the chain has no stdout")?;
        let lines = BufReader::new(out).lines().map_while(Result::ok);
        let mut settings = String::new();
        for line in lines.skip_while(|line| line != "[relay]") {
            settings.push_str(&line);
            settings.push('\n');
            if line.starts_with("access_keys") {
                break;
            }
        }
        Ok(Self { process, settings, ports })
    }

    /// From now on what is sent is accepted, and reaches no block.
    fn withholds(&self) -> Outcome {
        for port in self.ports {
            let rule = r#"{"kind":"withhold","methods":["send_tx"]}"#;
            let mut curl = run::program("curl");
            curl.args(["--silent", "--show-error", "--fail", "--data", rule]);
            curl.arg(format!("http://127.0.0.1:{port}/devnet/faults"));
            run::must(curl)?;
        }
        Ok(())
    }
}

/// Makes the store with a build's server and a chain of this program.
pub(super) fn made(build: &Build, devnet: &Path) -> Outcome<StoreFixture> {
    let home = fresh("under-way")?;
    let mut chain = Chain::start(devnet)?;
    let settings = format!("{SETTINGS}{}", chain.settings);
    fs::write(home.join("portage.toml"), settings).map_err(|error| format!("settings: {error}"))?;
    let (port, listen) = (testbed::free_port()?, testbed::free_port()?);
    let (binary, database) = (build.binary.clone(), None);
    let cli = Cli { binary, home: home.clone(), database, port, listen };
    let mut server = cli.serve()?;
    let done = works(&cli, &chain);
    let stopped = ended(&mut server).and_then(|()| ended(&mut chain.process));
    let seen = done?;
    stopped?;
    sql(&cli, CLEAR)?;
    Ok(StoreFixture { name: "embedded", home, seen })
}

/// Does the work, and leaves it where it stands. Returns what operators see of it.
fn works(cli: &Cli, chain: &Chain) -> Outcome<String> {
    cli.all(STEPS)?;
    sql(cli, HINDER)?;
    cli.account_transfer("ACC-3", "10")?;
    until("its key is parked", || Ok(cli.print(&["pipeline", "parked"])?.contains("ACC-3")))?;
    chain.withholds()?;
    pays(cli)?;
    sleep(SEALED);
    cli.print(&["audit", "verify"])?;
    views(cli)
}

/// The relay pays, as far as the chain lets it.
fn pays(cli: &Cli) -> Outcome {
    let token = cli.print(&["token", "--sub", "payouts", "--scope", "relay:create relay:read"])?;
    let calls = |path: &str, more: &[&str]| {
        let mut curl = run::program("curl");
        curl.args(["--silent", "--show-error", "--header", "x-idempotency-key: under-way"]);
        curl.arg("--header").arg(format!("authorization: Bearer {}", token.trim()));
        curl.args(more).arg(format!("http://127.0.0.1:{}{path}", cli.listen));
        run::output(curl)
    };
    let body = r#"{"receiver_id":"r0.devnet","amount":"7"}"#;
    println!(
        "{}",
        calls("/transfer", &["--header", "content-type: application/json", "--data", body])?
    );
    until("it is sent", || Ok(calls("/transfer/under-way", &[])?.contains("QUEUED_VERIFICATION")))
}

fn sql(cli: &Cli, statement: &str) -> Outcome {
    let mut python = run::program("python3");
    python.args(["-c", SQL]).arg(cli.home.join("data/portage.db")).arg(statement);
    run::must(python)
}

fn until(what: &str, mut holds: impl FnMut() -> Outcome<bool>) -> Outcome {
    for _ in 0..MOST_TRIES {
        if holds()? {
            return Ok(());
        }
        sleep(Duration::from_millis(500));
    }
    Err(format!("never: {what}"))
}
