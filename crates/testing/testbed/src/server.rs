//! Starts a PostgreSQL server for tests in a temporary folder, or uses the server that a variable names.
//!
//! It runs with everything that makes it durable. Beside it runs a small shell, which ends it and
//! removes its folder when this process is gone, however that came about.

use crate::programs::{Programs, append, run};
use crate::{Base, Database, Outcome, Recovery, clock, process, replica, url};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The variable that names a server: its URL, with the right to create databases.
pub const GIVEN: &str = "PORTAGE_TEST_POSTGRES";
/// How long a start or a stop may take: a start after a kill replays its log.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits at our pipe beside the server. A word: stop as a person would, or it is gone already. The
/// pipe's end: this process is gone, and the folder is not needed.
const WATCH: &str = r#"
folder=$1; shift
"$@" </dev/null &
server=$!
if read -r word; then
    [ "$word" = gone ] || kill -INT "$server"
    wait "$server"
else
    kill -QUIT "$server"
    wait "$server"
    rm -rf "$folder"
fi
"#;

/// What a server of our own is started with.
#[derive(Debug, Clone)]
pub struct Options {
    pub max_connections: u32,
    /// Settings beside these, as in `postgresql.conf`.
    pub settings: Vec<(String, String)>,
    /// The folder in which its own is made; the system's for temporary files where none is named.
    pub below: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_connections: 100, settings: Vec::new(), below: None }
    }
}

#[derive(Debug)]
pub struct Server {
    url: String,
    own: Option<OwnServer>,
}

/// A server that is ours to kill.
#[derive(Debug)]
struct OwnServer {
    programs: Programs,
    folder: TempDir,
    port: u16,
    watch: Option<Child>,
    /// How many copies lie beside its data.
    copies: u32,
    /// Where the data went that was copied last, with its log.
    copied: Option<PathBuf>,
}

impl Server {
    /// Whether this machine has what a server of our own needs.
    ///
    /// # Errors
    /// What is missing.
    pub fn possible() -> Outcome {
        Programs::find().map(drop)
    }

    /// Makes a cluster of its own and starts it.
    ///
    /// # Errors
    /// There is no PostgreSQL here, or it does not start.
    pub fn start() -> Outcome<Self> {
        Self::with(&Options::default())
    }

    /// The same with wishes.
    ///
    /// # Errors
    /// There is no PostgreSQL here, or it does not start.
    pub fn with(options: &Options) -> Outcome<Self> {
        let programs = Programs::find()?;
        let folder = folder(&programs, options.below.as_deref())?;
        let data = folder.path().join("data");
        let mut init = programs.command("initdb");
        // nothing is lost in a folder that is not in use yet, so its making is not synced
        init.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
        init.args(["--no-sync", "--no-instructions", "--pgdata"]).arg(&data);
        run(init)?;
        let port = process::free_port()?;
        configure(&data, port, options)?;
        Self::run(programs, folder, port)
    }

    /// Starts what lies ready in a folder.
    fn run(programs: Programs, folder: TempDir, port: u16) -> Outcome<Self> {
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let mut own = OwnServer { programs, folder, port, watch: None, copies: 0, copied: None };
        own.run()?;
        Ok(Self { url, own: Some(own) })
    }

    /// A running copy of this server that follows its log under this name.
    pub(crate) fn follower(&self, name: &str) -> Outcome<Self> {
        let own = self.ours()?;
        let programs = own.programs.clone();
        let folder = folder(&programs, own.folder.path().parent())?;
        let data = folder.path().join("data");
        Base::taken(&programs, &self.url, data.clone())?;
        replica::follows(&programs, &data, own.port, name)?;
        let port = process::free_port()?;
        append(&data.join("postgresql.conf"), &format!("port = {port}\n"))?;
        Self::run(programs, folder, port)
    }

    /// The server that `cargo xtask test` started, or a person.
    ///
    /// # Errors
    /// None was given; says what to do.
    pub fn given() -> Outcome<Self> {
        match std::env::var(GIVEN) {
            Ok(url) if !url.is_empty() => Ok(Self { url, own: None }),
            Ok(_) | Err(_) => Err(format!(
                "{GIVEN} is not set: these tests need a real PostgreSQL.\n`cargo xtask test` starts one. \
                 By hand: {GIVEN}=postgres://user:password@host:5432/postgres cargo test …, with a user \
                 that may create databases."
            )),
        }
    }

    /// A fresh database of its own.
    ///
    /// # Errors
    /// The server's.
    pub fn database(&self) -> Outcome<Database> {
        Database::fresh(&self.url)
    }

    /// The URL of its maintenance database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it listens, as `host:port`.
    ///
    /// # Errors
    /// The given URL has no address.
    pub fn address(&self) -> Outcome<String> {
        url::address(&self.url).ok_or_else(|| format!("no address in {}", self.url))
    }

    /// The folder of its data.
    ///
    /// # Errors
    /// It was given.
    pub fn data(&self) -> Outcome<PathBuf> {
        Ok(self.ours()?.data())
    }

    /// Everything that it logged.
    ///
    /// # Errors
    /// It was given, or the file cannot be read.
    pub fn log(&self) -> Outcome<String> {
        let path = self.ours()?.log();
        let read = std::fs::read(&path).map_err(|fault| format!("{}: {fault}", path.display()))?;
        Ok(String::from_utf8_lossy(&read).into_owned())
    }

    /// The end of what it logged.
    ///
    /// # Errors
    /// It was given.
    pub fn last_words(&self) -> Outcome<String> {
        Ok(self.ours()?.last_words())
    }

    /// The time that its processes used so far.
    ///
    /// # Errors
    /// It was given, or does not run.
    pub fn used(&self) -> Outcome<Duration> {
        let pid = self.ours()?.pid().ok_or("PostgreSQL does not run")?;
        Ok(process::used(pid))
    }

    /// Kills all of its processes at one moment, as a loss of power would.
    ///
    /// # Errors
    /// It was given, or does not run.
    pub fn kill9(&mut self) -> Outcome {
        self.ours_mut()?.kill9()
    }

    /// Stops all of its processes where they are: connections stay open and nothing is answered, until
    /// [`Server::thaw`].
    ///
    /// # Errors
    /// It was given, or does not run.
    pub fn freeze(&self) -> Outcome {
        self.ours()?.signal_all("STOP").map(drop)
    }

    /// Lets its processes go on.
    ///
    /// # Errors
    /// It was given, or does not run.
    pub fn thaw(&self) -> Outcome {
        self.ours()?.signal_all("CONT").map(drop)
    }

    /// Stops it as a person would: clients are cut off, a checkpoint is written.
    ///
    /// # Errors
    /// It was given, or does not end.
    pub fn stop(&mut self) -> Outcome {
        self.ours_mut()?.stop()
    }

    /// Starts it again on the same folder and port, after a stop or a kill; stops it first where it
    /// runs.
    ///
    /// # Errors
    /// It was given, or does not start.
    pub fn restart(&mut self) -> Outcome {
        let own = self.ours_mut()?;
        own.stop()?;
        own.run()
    }

    /// Copies its data while it runs.
    ///
    /// # Errors
    /// It was given, or the copy fails.
    pub fn base_backup(&mut self) -> Outcome<Base> {
        let url = self.url.clone();
        let own = self.ours_mut()?;
        let to = own.beside("base");
        own.copied = None;
        Base::taken(&own.programs, &url, to)
    }

    /// Runs on a copy from now on, at the same port; where it runs still it is killed first.
    ///
    /// # Errors
    /// It was given, or does not start on it.
    pub fn restore(&mut self, base: &Base, how: &Recovery) -> Outcome {
        let own = self.ours_mut()?;
        if own.pid().is_some() {
            own.kill9()?;
        }
        let (data, old) = (own.data(), own.beside("old"));
        std::fs::rename(&data, &old).map_err(|fault| format!("{}: {fault}", data.display()))?;
        let log = own.copied.get_or_insert(old).clone();
        base.put_back(&own.programs, &data, &log, how)?;
        own.run()
    }

    fn ours(&self) -> Outcome<&OwnServer> {
        self.own.as_ref().ok_or_else(|| not_ours(&self.url))
    }

    fn ours_mut(&mut self) -> Outcome<&mut OwnServer> {
        self.own.as_mut().ok_or_else(|| not_ours(&self.url))
    }
}

fn not_ours(url: &str) -> String {
    format!("the server at {url} was given: only one of our own is killed, stopped or measured")
}

impl OwnServer {
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A name that nothing beside the data has.
    fn beside(&mut self, what: &str) -> PathBuf {
        self.copies += 1;
        self.folder.path().join(format!("{what}-{}", self.copies))
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// A line of the server's own file: 0 its process, 7 how far its start is.
    fn line(&self, n: usize) -> Option<String> {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        text.lines().nth(n).map(|line| line.trim().to_owned())
    }

    fn pid(&self) -> Option<u32> {
        let pid = self.line(0)?.parse().ok()?;
        process::runs(pid).then_some(pid)
    }

    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(8).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn run(&mut self) -> Outcome {
        let log = File::options().create(true).append(true).open(self.log());
        let log = log.map_err(|fault| format!("{}: {fault}", self.log().display()))?;
        let mut watch = self.programs.command("sh");
        watch.args(["-c", WATCH, "sh"]).arg(self.folder.path());
        watch.arg(self.programs.path("postgres")).arg("-D").arg(self.data());
        watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        let mut child = watch.spawn().map_err(|fault| format!("sh: {fault}"))?;
        let ready = clock::until(TIMEOUT, || {
            let started = process::children(child.id());
            let ours = self.pid().is_some_and(|pid| started.contains(&pid));
            if ours && self.line(7).as_deref() == Some("ready") {
                return Some(true);
            }
            // the shell waits for our word before it waits for a server that gave up
            let gave_up = !started.is_empty() && !started.iter().any(|pid| process::runs(*pid));
            gave_up.then_some(false)
        });
        if ready == Some(true) {
            self.watch = Some(child);
            return Ok(());
        }
        say(&mut child, "stop")?;
        Err(format!("PostgreSQL does not start at port {}:\n{}", self.port, self.last_words()))
    }

    /// Sends a signal to all of its processes, and gives them back.
    fn signal_all(&self, name: &str) -> Outcome<Vec<u32>> {
        let pid = self.pid().ok_or("PostgreSQL does not run")?;
        // stopped first, so that it starts none while its children are counted
        process::signal("STOP", &[pid])?;
        let mut all = process::children(pid);
        all.push(pid);
        process::signal(name, &all)?;
        Ok(all)
    }

    fn kill9(&mut self) -> Outcome {
        let all = self.signal_all("KILL")?;
        clock::until(TIMEOUT, || all.iter().all(|pid| !process::runs(*pid)).then_some(()))
            .ok_or("PostgreSQL outlives SIGKILL")?;
        self.end("gone")
    }

    fn stop(&mut self) -> Outcome {
        let pid = self.pid();
        self.end("stop")?;
        let gone =
            clock::until(TIMEOUT, || pid.is_none_or(|pid| !process::there(pid)).then_some(()));
        gone.ok_or_else(|| "PostgreSQL does not end".to_owned())
    }

    fn end(&mut self, word: &str) -> Outcome {
        self.watch.take().map_or(Ok(()), |mut child| say(&mut child, word))
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // without a word: it ends the server at once and removes the folder
        if let Some(mut child) = self.watch.take() {
            drop(child.stdin.take());
            let _ended = child.wait();
        }
    }
}

/// Says a word to the shell beside a server, and waits for its end.
fn say(child: &mut Child, word: &str) -> Outcome {
    let mut pipe = child.stdin.take().ok_or("the shell beside PostgreSQL has no pipe")?;
    writeln!(pipe, "{word}").map_err(|fault| format!("the shell beside PostgreSQL: {fault}"))?;
    child.wait().map(drop).map_err(|fault| format!("the shell beside PostgreSQL: {fault}"))
}

/// Appends to the cluster's settings. Nothing here makes it less durable.
fn configure(data: &Path, port: u16, options: &Options) -> Outcome {
    let most = options.max_connections;
    let mut text = format!(
        "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\n\
         max_connections = {most}\nfsync = on\nsynchronous_commit = on\nfull_page_writes = on\n\
         shared_buffers = '128MB'\nmax_wal_size = '1GB'\nlog_min_messages = warning\n"
    );
    for (name, value) in &options.settings {
        text.push_str(&format!("{name} = '{value}'\n"));
    }
    append(&data.join("postgresql.conf"), &text)
}

/// A folder for a server, in this one or in the system's for temporary files.
fn folder(programs: &Programs, below: Option<&Path>) -> Outcome<TempDir> {
    let mut name = tempfile::Builder::new();
    name.prefix("portage-postgres-");
    let made = match below {
        Some(below) => name.tempdir_in(below),
        None => name.tempdir(),
    };
    let folder = made.map_err(|fault| format!("no folder for PostgreSQL: {fault}"))?;
    programs.give_to_owner(folder.path())?;
    Ok(folder)
}
