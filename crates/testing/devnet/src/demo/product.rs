//! The product in a process of its own: built or found, started, killed, started again.

use crate::Outcome;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Allowed to the demo: to pay, to read, and to count.
const SCOPES: &str = "relay:create relay:read ops:read";
const PROGRAM: &str = "portage";

/// A running relay with a folder of its own; both go with it.
pub(super) struct Product {
    pub address: String,
    pub token: String,
    program: PathBuf,
    folder: PathBuf,
    settings: Vec<(&'static str, String)>,
    process: Child,
}

impl Drop for Product {
    fn drop(&mut self) {
        self.stop();
        // what is left of a demo is of no use to anyone
        let _removed = std::fs::remove_dir_all(&self.folder);
    }
}

/// The product's program: the one that was named; or, in a checkout, the one that cargo builds of it now; or the one
/// beside this program.
pub(super) fn find(named: Option<&Path>, print: &mut dyn FnMut(&str)) -> Outcome<PathBuf> {
    if let Some(named) = named {
        // it is started in a folder of its own
        return named.canonicalize().map_err(|error| format!("{}: {error}", named.display()));
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = own.parent().ok_or("this program has no folder")?;
    let beside = folder.join(PROGRAM);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let profile = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if checkout.join("Cargo.toml").exists() && ["debug", "release"].contains(&profile) {
        print("cargo builds `portage`; the first time that takes minutes …");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--package", "server", "--bin", PROGRAM]).current_dir(checkout);
        command.args((profile == "release").then_some("--release"));
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("cargo could not build `{PROGRAM}`: {status}")),
            Err(error) if beside.exists() => {
                print(&format!("no cargo ({error}): {} is used", beside.display()))
            }
            Err(error) => return Err(format!("no cargo ({error}): {}", hint(&beside))),
        }
    }
    if beside.exists() { Ok(beside) } else { Err(hint(&beside)) }
}

fn hint(beside: &Path) -> String {
    format!(
        "there is no {}: build it (`cargo build --release -p server`), or name one with --portage",
        beside.display()
    )
}

impl Product {
    pub(super) fn start(
        program: &Path,
        dir: &Path,
        settings: Vec<(&'static str, String)>,
    ) -> Outcome<Self> {
        let folder = dir.join(format!("portage-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let (process, address) = launch(program, &folder, &settings, "127.0.0.1:0")?;
        let program = program.to_owned();
        let mut product =
            Self { address, token: String::new(), program, folder, settings, process };
        product.token = product.mint()?;
        Ok(product)
    }

    /// Kills the process on the spot, and starts another one on what it left, at the same address.
    pub(super) fn kill_and_start(&mut self) -> Outcome {
        self.stop();
        let (process, _) = launch(&self.program, &self.folder, &self.settings, &self.address)?;
        self.process = process;
        Ok(())
    }

    /// Ends the process on the spot: what it acknowledged is durable.
    pub(super) fn stop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }

    /// The end of what it wrote to its log.
    pub(super) fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(10);
        lines.get(from..).unwrap_or_default().join("\n")
    }

    fn mint(&self) -> Outcome<String> {
        let mut command = command(&self.program, &self.folder, &self.settings);
        command.args(["token", "--sub", "demo", "--scope", SCOPES]);
        let out = command.output().map_err(|error| format!("`portage token`: {error}"))?;
        let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        if out.status.success() && !text.is_empty() {
            return Ok(text);
        }
        Err(format!("`portage token`: {}", String::from_utf8_lossy(&out.stderr)))
    }
}

/// The program over a folder, with none of the caller's own settings.
fn command(program: &Path, folder: &Path, settings: &[(&'static str, String)]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command.arg("--data-dir").arg(folder.join("data"));
    command.envs(settings.iter().map(|(name, value)| (name, value)));
    command
}

/// Starts it; it listens once it has printed a line, which ends with its address.
fn launch(
    program: &Path,
    folder: &Path,
    settings: &[(&'static str, String)],
    listen: &str,
) -> Outcome<(Child, String)> {
    let log = File::options().create(true).append(true).open(folder.join("log"));
    let log = log.map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut command = command(program, folder, settings);
    command.args(["serve", "--listen", listen]).stdout(Stdio::piped()).stderr(log);
    let mut process = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let out = process.stdout.take().ok_or("the relay has no stdout")?;
    let mut line = String::new();
    let read = BufReader::new(out).read_line(&mut line);
    let address = line.trim().rsplit("http://").next().unwrap_or_default().to_owned();
    if read.is_err() || !line.contains("http://") {
        let _gone = process.kill();
        let _reaped = process.wait();
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        return Err(format!("the relay does not start: {line}{log}"));
    }
    Ok((process, address))
}
