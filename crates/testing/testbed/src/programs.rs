//! Finds PostgreSQL's own programs, and the user that runs them: PostgreSQL refuses root.

use crate::Outcome;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest version that Portage runs on.
const OLDEST: u32 = 15;
/// Where Debian keeps the programs that only a server needs, by version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Where the programs are, and as whom they are started.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    folder: PathBuf,
    user: Option<(u32, u32)>,
}

impl Programs {
    /// Looks on the path, then where Debian puts them.
    pub(crate) fn find() -> Outcome<Self> {
        let has_both = |folder: &PathBuf| {
            ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file())
        };
        let found = folders().into_iter().filter(has_both).find(|f| version(f) >= Some(OLDEST));
        let folder = found.ok_or_else(|| {
            format!("no PostgreSQL {OLDEST} or later (initdb, postgres) on the path or in {DEBIAN}")
        })?;
        // every database is made with it
        let mut psql = Command::new(psql());
        psql.arg("--version");
        run(psql)?;
        Ok(Self { folder, user: user()? })
    }

    /// One of them, as the user that the server runs as, in a process group of its own: Ctrl-C at a
    /// terminal ends the test, and the test's end ends the server.
    pub(crate) fn command(&self, name: &str) -> Command {
        let path = self.folder.join(name);
        let program = if path.is_file() { path.into_os_string() } else { OsString::from(name) };
        let mut command = Command::new(program);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir("/").stdin(Stdio::null()).process_group(0);
        // a caller's own wishes about PostgreSQL are not the test's
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command
    }

    /// The path of one of them.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Gives a folder to the server's user.
    pub(crate) fn give_to_owner(&self, folder: &Path) -> Outcome {
        let Some((user, group)) = self.user else { return Ok(()) };
        std::os::unix::fs::chown(folder, Some(user), Some(group))
            .map_err(|fault| format!("{}: {fault}", folder.display()))
    }
}

/// The client: the program itself, where Debian keeps it behind a wrapper that takes its time.
pub(crate) fn psql() -> PathBuf {
    let names = folders().into_iter().rev().map(|folder| folder.join("psql"));
    names.into_iter().find(|name| name.is_file()).unwrap_or_else(|| PathBuf::from("psql"))
}

/// The path, then Debian's folders, newest first.
fn folders() -> Vec<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let debian = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let number = |name: &OsString| name.to_str().and_then(|name| name.parse::<u32>().ok());
    let mut debian: Vec<OsString> = debian.map(|entry| entry.file_name()).collect();
    debian.sort_by_key(|name| std::cmp::Reverse(number(name)));
    let debian = debian.iter().map(|name| Path::new(DEBIAN).join(name).join("bin"));
    std::env::split_paths(&on_path).chain(debian).collect()
}

/// Runs a program to its end; what it printed, or what it complained of.
pub(crate) fn run(mut command: Command) -> Outcome<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|fault| format!("{name}: {fault}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(format!("{name}: {}: {}", out.status, String::from_utf8_lossy(&out.stderr).trim()))
}

/// Adds settings to a server's file; of one name the last counts.
pub(crate) fn append(path: &Path, settings: &str) -> Outcome {
    let file = File::options().append(true).open(path);
    file.and_then(|mut file| file.write_all(settings.as_bytes()))
        .map_err(|fault| format!("{}: {fault}", path.display()))
}

/// The major version of the server in a folder.
fn version(folder: &Path) -> Option<u32> {
    let mut ask = Command::new(folder.join("postgres"));
    ask.arg("--version").stdin(Stdio::null());
    major(&run(ask).ok()?)
}

/// `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)` is 15, `18beta1` is 18.
fn major(said: &str) -> Option<u32> {
    let number = said.split_once("(PostgreSQL) ")?.1;
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    number.get(..end)?.parse().ok()
}

/// As whom: as ourselves, but for root as `postgres`, or `nobody`.
fn user() -> Outcome<Option<(u32, u32)>> {
    let own = std::fs::metadata("/proc/self").map_err(|fault| format!("/proc/self: {fault}"))?;
    if own.uid() != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["postgres", "nobody"].iter().find_map(|name| listed(&users, name)).map(Some).ok_or_else(|| {
        "PostgreSQL refuses root, and there is no user postgres or nobody".to_owned()
    })
}

/// A user's number and group in the text of `/etc/passwd`.
fn listed(users: &str, name: &str) -> Option<(u32, u32)> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next()? == name;
        let user = fields.nth(1)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        found.then_some((user, group))
    })
}

#[cfg(test)]
mod tests {
    use super::{listed, major};

    #[test]
    fn a_version_is_read_as_it_is_printed() {
        assert_eq!(major("postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major("bash: no such program"), None);
    }

    #[test]
    fn a_user_is_found_by_the_whole_name() {
        let users = "root:x:0:0::/root:/bin/sh\npostgresql:x:9:9::/:/bin/sh\n\
                     postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(listed(users, "postgres"), Some((101, 104)));
        assert_eq!(listed(users, "nobody"), None);
    }
}
