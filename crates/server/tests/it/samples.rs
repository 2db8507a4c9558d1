//! What the guides say that the program prints. Each console block is typed, in its sequence, and what is printed is
//! compared word by word: ids are the same where they are the same on the page, times and hashes may be others.

use crate::fixture::process::binary;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const TOUR: &str = include_str!("../../../../docs/guide/tour.md");
const ACCOUNTS: &str = include_str!("../../../../docs/guide/accounts.md");
const DEMO: &str = include_str!("../../../../docs/guide/demo.md");
const README: &str = include_str!("../../../../README.md");

/// Where the pages have the server and the ledger elsewhere.
const SERVER: &str = "127.0.0.1:3000";
const LEDGER: &str = "127.0.0.1:3100";

/// A command of a console block, and what the page shows behind it.
struct Sample<'p> {
    command: &'p str,
    shown: Vec<&'p str>,
}

/// The blocks of a page in this language, each as its lines.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<Vec<&'p str>> {
    let (fence, mut blocks, mut inside) = (format!("```{language}"), Vec::new(), None);
    for line in page.lines() {
        match inside.as_mut() {
            None if line.starts_with("```") => inside = Some((line == fence, Vec::new())),
            None => {}
            Some(_) if line == "```" => {
                blocks.extend(inside.take().filter(|(wanted, _)| *wanted).map(|(_, lines)| lines));
            }
            Some((_, lines)) => lines.push(line),
        }
    }
    blocks
}

fn samples(page: &str) -> Vec<Sample<'_>> {
    let mut samples: Vec<Sample<'_>> = Vec::new();
    for line in blocks(page, "console").into_iter().flatten() {
        match (line.strip_prefix("$ "), samples.last_mut()) {
            (Some(command), _) => samples.push(Sample { command, shown: Vec::new() }),
            (None, Some(sample)) => sample.shown.push(line),
            (None, None) => panic!("output without a command: {line}"),
        }
    }
    samples
}

fn free_address() -> String {
    format!("127.0.0.1:{}", testbed::free_port().expect("a free port"))
}

fn is_id(part: &str) -> bool {
    part.len() == 26 && part.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

fn is_hash(part: &str) -> bool {
    part.len() == 64 && part.bytes().all(|c| c.is_ascii_hexdigit())
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit())
}

fn is_time(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    word.len() == 24 && word.ends_with('Z') && word.get(10..11) == Some("T")
}

/// The ids that a page shows, and what they are here.
#[derive(Default)]
struct Ids(BTreeMap<String, String>);

impl Ids {
    /// Whether a line is the one that the page shows. Numbers may differ where they are `loose`.
    fn are_same(&mut self, shown: &str, printed: &str, loose: bool) -> bool {
        let words = |line: &str| -> Vec<String> {
            let words = line.split_whitespace();
            words.map(|word| if word.starts_with('─') { "─".into() } else { word.into() }).collect()
        };
        let (shown, printed) = (words(shown), words(printed));
        shown.len() == printed.len()
            && shown.iter().zip(&printed).all(|(shown, printed)| {
                (is_time(shown) && is_time(printed)) || self.is_same_word(shown, printed, loose)
            })
    }

    fn is_same_word(&mut self, shown: &str, printed: &str, loose: bool) -> bool {
        let parts = |word: &str| -> Vec<String> {
            word.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
        };
        let between = |word: &str| word.replace(|c: char| c.is_alphanumeric(), "");
        let (of_page, here) = (parts(shown), parts(printed));
        between(shown) == between(printed)
            && of_page.len() == here.len()
            && of_page.iter().zip(&here).all(|(shown, printed)| {
                if is_id(shown) && is_id(printed) {
                    return self.0.entry(shown.clone()).or_insert_with(|| printed.clone())
                        == printed;
                }
                let varies = (is_hash(shown) && is_hash(printed))
                    || (loose && is_number(shown) && is_number(printed));
                varies || shown == printed
            })
    }
}

/// A terminal in a fresh folder, and what was started in it.
struct Terminal {
    dir: TempDir,
    variables: BTreeMap<String, String>,
    server: String,
    ledger: String,
    ids: Ids,
    code: i32,
    running: Vec<(String, Child)>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            // it may have ended already
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}

impl Terminal {
    fn open() -> Self {
        let (server, ledger) = (free_address(), free_address());
        let folder = Path::new(env!("CARGO_BIN_EXE_portage")).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let variables = [
            ("PATH", format!("{}:{path}", folder.display())),
            ("PORTAGE_SERVER__LISTEN", server.clone()),
            ("PORTAGE_SPOT__LISTEN", ledger.clone()),
            ("PORTAGE_URL", format!("http://{server}")),
        ];
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            variables: variables.map(|(name, value)| (name.to_owned(), value)).into(),
            server,
            ledger,
            ids: Ids::default(),
            code: 0,
            running: Vec::new(),
        }
    }

    /// What the page says, with the addresses of here.
    fn addressed(&self, text: &str) -> String {
        text.replace(SERVER, &self.server).replace(LEDGER, &self.ledger)
    }

    /// What the page says, with the addresses and ids of here.
    fn here(&self, text: &str) -> String {
        let text = self.addressed(text);
        self.ids.0.iter().fold(text, |text, (shown, real)| text.replace(shown, real))
    }

    fn shell(&self, line: &str) -> Command {
        let mut command = shell();
        command.args(["-c", line]).envs(&self.variables).current_dir(self.dir.path());
        command
    }

    /// Starts what goes on, after the end of what ran in its place; gives back what it printed until it listens.
    fn starts(&mut self, line: &str, lines: usize) -> String {
        let (line, pid_file) = match line.split_once(" &") {
            Some((line, rest)) => (line, rest.strip_prefix(" echo $! > ")),
            None => (line, None),
        };
        for (other, child) in &mut self.running {
            if other == line && child.try_wait().is_ok_and(|ended| ended.is_none()) {
                testbed::signal("INT", &[child.id()]).expect("a signal");
                child.wait().expect("it ends");
            }
        }
        let out = self.dir.path().join(format!("out-{}", self.running.len()));
        let mut command = self.shell(&format!("exec {line}"));
        command.stdout(File::create(&out).expect("a file")).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        if let Some(file) = pid_file {
            fs::write(self.dir.path().join(file), child.id().to_string()).expect("a file");
        }
        self.running.push((line.to_owned(), child));
        let printed = || fs::read_to_string(&out).ok().filter(|text| text.lines().count() >= lines);
        testbed::until(Duration::from_secs(60), printed).unwrap_or_default()
    }

    /// What a command prints.
    fn types(&mut self, sample: &Sample<'_>) -> String {
        let line = self.here(sample.command);
        if line == "echo $?" {
            return self.code.to_string();
        }
        if let Some(file) = line.strip_prefix("cat ")
            && !self.dir.path().join(file).exists()
        {
            // the reader writes it
            fs::write(self.dir.path().join(file), self.here(&sample.shown.join("\n")))
                .expect("a file");
        }
        if line == "portage serve" || line.contains(" &") {
            return self.starts(&line, sample.shown.len());
        }
        let exported = line.strip_prefix("export ").and_then(|rest| rest.split_once('='));
        let typed = match exported {
            Some((name, _)) => format!("{line} && printf %s \"${name}\""),
            None => format!("{{ {line}; }} 2>&1"),
        };
        let out = self.shell(&typed).output().expect("a shell");
        self.code = out.status.code().unwrap_or(-1);
        let printed = String::from_utf8(out.stdout).expect("text");
        match exported {
            Some((name, _)) => {
                self.variables.insert(name.to_owned(), printed);
                String::new()
            }
            None => printed,
        }
    }

    /// Types all, and holds what is printed to the page.
    fn holds(&mut self, samples: &[Sample<'_>]) {
        for sample in samples {
            let printed = self.types(sample);
            let shown: Vec<String> = sample.shown.iter().map(|line| self.addressed(line)).collect();
            // how often something was tried, and which of a batch was first, depends on the machine
            let loose = ["portage ops find", "portage audit", "portage transfer list"];
            let loose = loose.iter().any(|command| sample.command.starts_with(command));
            let mut left: Vec<&str> = printed.lines().collect();
            let same = shown.len() == left.len()
                && shown.iter().all(|line| {
                    let places = if loose { left.len() } else { 1 };
                    let of = |other: &&str| self.ids.are_same(line, other, loose);
                    let found = left.iter().take(places).position(of);
                    found.map(|at| left.remove(at)).is_some()
                });
            assert!(same, "$ {}\n{printed}\nthe page shows\n{}", sample.command, shown.join("\n"));
        }
    }
}

/// A shell with nothing of the caller's settings.
fn shell() -> Command {
    let mut command = Command::new("bash");
    command.env_clear().stdin(Stdio::null());
    command
}

/// Turns red where a command of the tour prints something else than the page shows, or ends with another code.
#[test]
fn the_tour_prints_what_its_page_shows() {
    let samples = samples(TOUR);
    assert!(samples.len() > 30, "{} commands", samples.len());
    Terminal::open().holds(&samples);
}

/// The commands of the guide to numbered accounts, up to its first request by curl.
#[test]
fn the_commands_of_accounts_print_what_their_page_shows() {
    let all = samples(ACCOUNTS);
    let first = all.iter().position(|sample| !sample.command.starts_with("portage "));
    let (commands, _) = all.split_at(first.expect("a request"));
    assert!(commands.len() > 8, "{} commands", commands.len());
    let mut terminal = Terminal::open();
    terminal.starts("portage serve", 2);
    terminal.holds(commands);
}

/// Whether these lines are printed, in their sequence; a line of dots stands for any number of others.
fn missing<'p>(shown: &[&'p str], printed: &str) -> Option<&'p str> {
    let (mut ids, mut printed) = (Ids::default(), printed.lines());
    let shown = shown.iter().filter(|line| !line.is_empty() && line.trim() != "…");
    shown.copied().find(|line| !printed.any(|other| ids.are_same(line, other, true)))
}

/// Turns red where the demo fails, or prints something else than its page and the README show; and where `check` does not
/// agree on the folder that it leaves.
#[test]
fn the_demo_prints_what_its_pages_show() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = binary().current_dir(dir.path()).arg("demo").output().expect("it runs");
    let printed = String::from_utf8_lossy(&out.stdout);
    let printed = printed.replace(&*dir.path().to_string_lossy(), ".");
    assert!(out.status.success(), "{printed}{}", String::from_utf8_lossy(&out.stderr));
    for (page, sample) in [("demo.md", blocks(DEMO, "")), ("README.md", blocks(README, ""))] {
        let sample = sample.first().expect("a sample");
        assert_eq!(missing(sample, &printed), None, "{page}: {printed}");
    }
    let made = dir.path().join("portage-demo-1");
    let out = binary().arg("check").arg("--data-dir").arg(&made).output().expect("it runs");
    assert!(out.status.success(), "{out:?}");
}

/// Turns red where the demo is ended by a signal and its server goes on, with the port and the folder (run: the release
/// before).
#[test]
fn a_demo_that_is_ended_stops_its_server() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut demo = binary();
    demo.current_dir(dir.path()).arg("demo").stdout(Stdio::piped());
    let mut demo = demo.spawn().expect("it runs");
    let mut lines = BufReader::new(demo.stdout.take().expect("its output")).lines();
    let server = lines.find_map(|line| {
        let line = line.ok()?;
        let (_, pid) = line.split_once("A real server:   pid ")?;
        Some(pid.split(' ').next()?.to_owned())
    });
    let server = Path::new("/proc").join(server.expect("the server's line"));
    assert!(server.exists(), "it runs");
    let kill = format!("kill -TERM {}", demo.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("it runs").success());
    assert_eq!(demo.wait().expect("its end").code(), Some(75));
    assert!(!server.exists(), "it was stopped");
}
