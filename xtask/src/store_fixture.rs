//! `cargo xtask store-fixture`: a store of this release, kept so that the next one has to read it.
//!
//! A real server makes it, on both stores: ended transfers between ledgers and between accounts, an open one, an
//! endpoint with messages that wait, cases, actions, approvals, halts and seals. What operators see of it is kept beside
//! it. The server's test `upgrade` opens every store that was ever kept.

mod under_way;

use crate::{Outcome, run, tree};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Where the stores of all releases are kept.
const STORES: &str = "crates/server/tests/stores";
/// Where the stores are kept of which work was under way.
const UNDER_WAY: &str = "crates/server/tests/stores-under-way";
/// What the ledger elsewhere asks its callers for.
const TOKEN: &str = "a-token-for-tests-long-enough-for-anybody";
/// The settings of the server; where the ledger elsewhere really is comes from the environment.
const SETTINGS: &str = "\
[ledgers.margin]
kind = \"remote\"
url = \"http://127.0.0.1:9\"
token = \"a-token-for-tests-long-enough-for-anybody\"
[alerts]
after_retries = 2
target_pending_seconds = 1
[limits]
transfers_per_day = 1000
[ops.daily_deposit_limit]
USDT = \"5000\"
";
/// What is done while the ledger elsewhere answers: `bob` approves what `alice` proposed.
const STEPS: &[&str] = &[
    "deposit --user 4001 --asset USDT --amount 1000 --ref wire-1",
    "deposit --user 4002 --asset BTC --amount 2.5 --ref wire-2",
    "withdraw --user 4002 --asset BTC --amount 0.5 --ref wire-3",
    "transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount 100 --cid paid \
     --reference invoice-7 --metadata order=17",
    "transfer create --user 4001 --from SPOT --to FUNDING --asset USDT --amount 12.5 --cid back",
    "transfer create --user 4001 --from SPOT --to FUNDING --asset USDT --amount 5000 --cid poor",
    "ops account 4001 SPOT DISABLED --reason audit",
    "transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount 7 --cid refused",
    "ops account 4001 SPOT ACTIVE --reason audit --as bob",
    "transfer create --user 4001 --from FUNDING --to MARGIN --asset USDT --amount 30 --cid far",
    "ops halt --reason drill",
    "ops resume --reason over --as alice",
    "approve",
    "ops pause account 4002/SPOT --reason ticket-4711",
    "webhook add https://hooks.example.com/portage --event transfer.* --reason receiver",
    "account pipeline open ACC-1 --owner 4001 --currency USDT --reason contract",
    "account pipeline open ACC-2 --owner 4002 --currency USDT --reason contract",
    "account pipeline deposit ACC-1 --currency USDT --amount 100 --ref wire-5",
    "account-transfer ACC-1 25",
    "account-transfer ACC-1 500",
];
/// What is done after it went away: a transfer stays open, and a deposit waits for a second person.
const LAST_STEPS: &[&str] = &[
    "transfer create --user 4001 --from FUNDING --to MARGIN --asset USDT --amount 40 --cid open",
    "deposit --user 4002 --asset USDT --amount 6000 --ref wire-4",
];
/// What operators see of a store: kept as the JSON that the commands print.
const VIEWS: &[(&str, &str)] = &[
    ("transfers", "ops find --json"),
    ("actions", "ops actions --json"),
    ("approvals", "ops approvals --json"),
    ("halts", "ops halts --json"),
    ("pauses", "ops pauses --json"),
    ("cases", "ops cases --json"),
    ("accounts", "account pipeline list --json"),
    ("endpoints", "webhook list --json"),
    ("parked", "pipeline parked --json"),
];
/// A transfer between accounts has ended after this time.
const ENDED: Duration = Duration::from_secs(3);
/// A seal is made every ten seconds.
const SEALED: Duration = Duration::from_secs(12);

/// The build whose stores are kept.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreFixtureArgs {
    /// The binary of another commit; else this one's is built.
    #[arg(long, requires = "name", requires = "source")]
    binary: Option<PathBuf>,
    /// That commit's files, whose ledger of the guide is the one elsewhere.
    #[arg(long)]
    source: Option<PathBuf>,
    /// The folder under `tests/stores`; else the version.
    #[arg(long)]
    name: Option<String>,
    /// Keep only an embedded store of which work of every kind is under way; this is the binary of `devnet`.
    #[arg(long)]
    under_way: Option<PathBuf>,
}

/// Makes both stores of a build.
pub(crate) fn run(args: StoreFixtureArgs) -> Outcome {
    let StoreFixtureArgs { binary, source, name, under_way } = args;
    let source = source.unwrap_or_else(tree::root);
    let binary = match binary {
        Some(binary) => binary,
        None => {
            run::must(run::cargo(&["build", "--locked", "--package", "server"]))?;
            tree::root().join("target/debug/portage")
        }
    };
    let build = Build { binary, ledger: source.join("docs/guide/own_ledger.py") };
    let name = name.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned());
    if let Some(devnet) = under_way {
        let dir = tree::root().join(UNDER_WAY).join(name);
        fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        return under_way::made(&build, &devnet)?.keep(&dir);
    }
    let dir = tree::root().join(STORES).join(name);
    fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let embedded = StoreFixture::new("embedded", None, &build)?;
    embedded.keep(&dir)?;
    let server = testbed::Server::given().or_else(|_| testbed::Server::start())?;
    let database = server.database()?;
    let postgres = StoreFixture::new("postgres", Some(database.url()), &build)?;
    fs::write(postgres.home.join("data/database.sql"), dumped(database.url())?)
        .map_err(|error| format!("the dump: {error}"))?;
    postgres.keep(&dir)
}

/// The programs of a commit.
struct Build {
    binary: PathBuf,
    ledger: PathBuf,
}

/// A store that was made, and what operators saw of it.
struct StoreFixture {
    name: &'static str,
    home: PathBuf,
    seen: String,
}

impl StoreFixture {
    fn new(name: &'static str, database: Option<&str>, build: &Build) -> Outcome<Self> {
        let home = fresh(name)?;
        fs::write(home.join("portage.toml"), SETTINGS)
            .map_err(|error| format!("the settings: {error}"))?;
        let port = testbed::free_port()?;
        let mut ledger = ledger(&build.ledger, &home, port)?;
        let listen = testbed::free_port()?;
        let (binary, database) = (build.binary.clone(), database.map(str::to_owned));
        let cli = Cli { binary, home: home.clone(), database, port, listen };
        let mut server = cli.serve()?;
        let done = cli.all(STEPS).and_then(|()| {
            ended(&mut ledger)?;
            cli.all(LAST_STEPS)?;
            sleep(SEALED);
            cli.print(&["ops", "comment", "1", "the ledger elsewhere is away"])?;
            cli.print(&["audit", "verify"])?;
            views(&cli)
        });
        // nothing of ours stays behind, also where a step failed
        let ledger = ended(&mut ledger);
        let server = ended(&mut server);
        let seen = done?;
        ledger.and(server)?;
        Ok(Self { name, home, seen })
    }

    fn keep(&self, dir: &Path) -> Outcome {
        let seen = dir.join(format!("{}.json", self.name));
        fs::write(&seen, &self.seen).map_err(|error| format!("{}: {error}", seen.display()))?;
        let mut tar = run::program("tar");
        tar.arg("--create").arg("--gzip").arg("--file");
        tar.arg(dir.join(format!("{}.tar.gz", self.name)));
        tar.args(["--owner=0", "--group=0", "--exclude=*-shm", "--directory"]).arg(&self.home);
        run::must({
            tar.args(["data", "margin", "portage.toml"]);
            tar
        })
    }
}

/// An empty folder in which a store is made.
fn fresh(name: &str) -> Outcome<PathBuf> {
    let home = tree::root().join("target/store-fixture").join(name);
    if home.exists() {
        fs::remove_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    }
    fs::create_dir_all(home.join("margin"))
        .map_err(|error| format!("{}: {error}", home.display()))?;
    Ok(home)
}

/// The binary in one folder, on one store.
struct Cli {
    binary: PathBuf,
    home: PathBuf,
    database: Option<String>,
    /// Of the ledger elsewhere.
    port: u16,
    /// The port of the server itself.
    listen: u16,
}

impl Cli {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = run::program(&self.binary);
        command.current_dir(&self.home).args(["--data-dir", "data"]).args(words);
        let at = format!("http://127.0.0.1:{}", self.port);
        command.env("PORTAGE_LEDGERS__MARGIN__URL", at);
        if let Some(url) = &self.database {
            command.env("DATABASE_URL", url);
        }
        command
    }

    fn serve(&self) -> Outcome<Child> {
        let mut command =
            self.command(&["serve", "--listen", &format!("127.0.0.1:{}", self.listen)]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("portage serve: {error}"))?;
        for _ in 0..100 {
            sleep(Duration::from_millis(100));
            let asked = self.command(&["ops", "halts"]).output();
            if asked.is_ok_and(|asked| asked.status.success()) {
                return Ok(child);
            }
        }
        Err("the server does not answer".to_owned())
    }

    /// What a command printed; one may end with a refusal, since some steps are refused on purpose.
    fn print(&self, words: &[&str]) -> Outcome<String> {
        let done = self.command(words).output().map_err(|error| format!("portage: {error}"))?;
        let why = String::from_utf8_lossy(&done.stderr).into_owned();
        println!("portage {}: {}", words.join(" "), done.status);
        if matches!(done.status.code(), Some(0 | 65 | 75)) {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        Err(format!("portage {}: {why}", words.join(" ")))
    }

    fn all(&self, steps: &[&str]) -> Outcome {
        for step in steps {
            if *step == "approve" {
                self.approve()?;
            } else if let Some(step) = step.strip_prefix("account-transfer ") {
                let (from, amount) = step.split_once(' ').ok_or("no amount")?;
                self.account_transfer(from, amount)?;
            } else {
                self.print(&step.split_whitespace().collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// A transfer from an account to ACC-2, which 0.1.0 has no command for; it ends before the next step.
    fn account_transfer(&self, from: &str, amount: &str) -> Outcome {
        let token =
            self.print(&["token", "--sub", "4001", "--scope", "transfers:create transfers:read"])?;
        let body = format!(
            r#"{{"fromAccountNumber":"{from}","toAccountNumber":"ACC-2","amount":"{amount}","currency":"USDT"}}"#
        );
        let mut curl = run::program("curl");
        curl.args(["--silent", "--show-error", "--header", "content-type: application/json"]);
        curl.arg("--header").arg(format!("authorization: Bearer {}", token.trim()));
        curl.arg("--header").arg(format!("idempotency-key: account-{amount}"));
        curl.arg("--data").arg(body);
        curl.arg(format!("http://127.0.0.1:{}/api/transfers", self.listen));
        println!("{}", run::output(curl)?.trim());
        sleep(ENDED);
        Ok(())
    }

    /// Another person approves what waits, and the proof that follows is waited for.
    fn approve(&self) -> Outcome {
        let list = self.print(&["ops", "approvals"])?;
        let pending = list.lines().find(|line| line.contains("PENDING"));
        let id = pending.and_then(|line| line.split_whitespace().next());
        let id = id.ok_or_else(|| format!("nothing to approve: {list}"))?.to_owned();
        let said = self.print(&["ops", "approve", &id, "--reason", "seen", "--as", "bob"])?;
        if said.contains("RESUMED") { Ok(()) } else { Err(format!("no money moves: {said}")) }
    }
}

/// The ledger of the guide, which keeps its store beside the server's.
fn ledger(program: &Path, home: &Path, port: u16) -> Outcome<Child> {
    let mut python = run::program("python3");
    python.arg("-B").arg(program);
    python.arg(home.join("margin/ledger.db")).arg(port.to_string()).env("LEDGER_TOKEN", TOKEN);
    python.stdout(Stdio::null()).stderr(Stdio::null());
    python.spawn().map_err(|error| format!("python3: {error}"))
}

fn views(cli: &Cli) -> Outcome<String> {
    let mut parts = Vec::new();
    for (name, command) in VIEWS {
        let shown = cli.print(&command.split_whitespace().collect::<Vec<_>>())?;
        parts.push(format!("\"{name}\": {}", shown.trim_end()));
    }
    Ok(format!("{{\n{}\n}}\n", parts.join(",\n")))
}

/// `SIGTERM`, so that the store is one that a release was stopped with in good order.
fn ended(child: &mut Child) -> Outcome {
    if child.try_wait().is_ok_and(|status| status.is_some()) {
        return Ok(());
    }
    let mut kill = run::program("kill");
    kill.arg(child.id().to_string());
    run::must(kill)?;
    child.wait().map(drop).map_err(|error| format!("a process: {error}"))
}

/// The database as plain SQL of one statement a line, so that a test can run it without `psql`.
fn dumped(url: &str) -> Outcome<String> {
    let mut dump = run::program("pg_dump");
    dump.args(["--no-owner", "--no-privileges", "--inserts", "--dbname", url]);
    // the client's own commands mean nothing to a server
    let text = run::output(dump)?;
    Ok(text.lines().filter(|line| !line.starts_with('\\')).collect::<Vec<_>>().join("\n"))
}
