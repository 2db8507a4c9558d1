//! A copy of the tree below the target folder, in which texts are changed and put back.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::super::program::{TARGET, executable};
use super::table::{Build, Finder};
use crate::{Outcome, run, tree};

/// The crates that are built again for each wrong build: their code need not be fast.
const AGAIN: [&str; 7] = ["engine", "engine-tests", "flows", "kernel", "server", "sim", "store"];

/// See the module. It builds into a folder of its own: no program of a wrong build is ever found where
/// those of the right one are.
#[derive(Debug)]
pub(super) struct Copied {
    tree: PathBuf,
    built: PathBuf,
    files: Vec<PathBuf>,
}

impl Copied {
    /// Makes the copy, or brings the one that is there up to date: what is the same is not touched, so
    /// that cargo does not build it again.
    pub(super) fn make() -> Outcome<Self> {
        let mut git = run::program("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let names = run::output(git)?;
        let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        let files = files.filter(|name| tree::root().join(name).is_file()).collect();
        let folder = tree::target().join("wrong");
        let copied = Self { tree: folder.join("tree"), built: folder.join("build"), files };
        copied.refresh()?;
        Ok(copied)
    }

    /// Every file as it is in the tree, and no other.
    fn refresh(&self) -> Outcome {
        for name in &self.files {
            let to = self.tree.join(name);
            let fault = |error: std::io::Error| format!("{}: {error}", to.display());
            let text = fs::read(tree::root().join(name)).map_err(fault)?;
            if fs::read(&to).is_ok_and(|there| there == text) {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(&self.tree)).map_err(fault)?;
            fs::write(&to, text).map_err(fault)?;
        }
        let known: BTreeSet<PathBuf> = self.files.iter().map(|name| self.tree.join(name)).collect();
        strangers(&self.tree, &known)
    }

    /// Changes the copy, has it looked at, and puts the text back.
    pub(super) fn changed<T>(
        &self,
        build: &Build,
        look: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        let file = self.tree.join(&build.file);
        let right = tree::read(&file)?;
        let fault = |error: std::io::Error| format!("{}: {error}", file.display());
        fs::write(&file, build.applied(&right)?).map_err(fault)?;
        let seen = look();
        fs::write(&file, right).map_err(fault)?;
        seen
    }

    /// Builds a crate's test program.
    pub(super) fn program(&self, package: &str) -> Outcome<PathBuf> {
        let package = tree::tests_of(package);
        let mut cargo = run::cargo(&["test", "--locked", "--no-run", "--quiet"]);
        cargo.args(["--package", package, "--test", TARGET]);
        cargo.arg("--message-format=json-render-diagnostics");
        for name in AGAIN {
            let quick = |what| format!("profile.dev.package.{name}.{what}=0");
            cargo.args(["--config", &quick("opt-level"), "--config", &quick("debug")]);
        }
        cargo.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.built);
        let manifest = tree::package(&self.tree, package).join("Cargo.toml");
        let manifest = manifest.strip_prefix(&self.tree).unwrap_or(&manifest).display().to_string();
        executable(&run::output(cargo)?, &manifest)
            .ok_or_else(|| format!("cargo built no test program `{TARGET}` for {manifest}"))
    }

    /// The command that runs one test of it, as `cargo test` would.
    pub(super) fn command(&self, program: &Path, finder: &Finder) -> Command {
        let folder = tree::package(&self.tree, &finder.package);
        let mut command = run::program(program);
        command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
        command.args(["--exact", &finder.test, "--nocapture"]);
        command
    }
}

/// Takes away what is in the copy and in no file of the tree.
fn strangers(folder: &Path, known: &BTreeSet<PathBuf>) -> Outcome {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        if path.is_dir() {
            strangers(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(&path).map_err(fault)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_file_of_the_tree_is_goes() {
        let folder = std::env::temp_dir().join(format!("xtask-copy-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).unwrap();
        for name in ["a/kept", "a/gone", "gone"] {
            fs::write(folder.join(name), "").unwrap();
        }
        strangers(&folder, &BTreeSet::from([folder.join("a/kept")])).unwrap();
        assert!(folder.join("a/kept").exists());
        assert!(!folder.join("a/gone").exists() && !folder.join("gone").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
