//! `cargo xtask dist`: a release as one archive, with the binary and what belongs beside it on a machine.

mod graph;
mod notice;
mod sbom;

use crate::{Outcome, kafka, run, tree};
use graph::Graph;
use std::fs;
use std::path::{Path, PathBuf};

/// Shells that the archive has completions for, and the files in which they look for them.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/portage"),
    ("zsh", "share/zsh/site-functions/_portage"),
    ("fish", "share/fish/vendor_completions.d/portage.fish"),
];

/// Files of the repository that go into the archive, and where: the links between the pages lead on.
const DOCS: [(&str, &str); 9] = [
    ("LICENSE", "share/doc/portage"),
    ("README.md", "share/doc/portage"),
    ("SECURITY.md", "share/doc/portage"),
    ("CONTRIBUTING.md", "share/doc/portage"),
    ("ARCHITECTURE.md", "share/doc/portage"),
    ("CHANGELOG.md", "share/doc/portage"),
    ("docs", "share/doc/portage"),
    ("deploy", "share/doc/portage"),
    ("clients", "share/doc/portage"),
];

/// The units, where systemd looks for them below a prefix.
const UNITS: [(&str, &str); 3] = [
    ("deploy/systemd/*.service", "lib/systemd/system"),
    ("deploy/systemd/sysusers.d/*", "lib/sysusers.d"),
    ("deploy/systemd/tmpfiles.d/*", "lib/tmpfiles.d"),
];

/// What an archive is made of.
#[derive(Debug, clap::Args)]
pub(crate) struct DistOptions {
    /// Without Apache Kafka: then the binary needs no OpenSSL.
    #[arg(long)]
    without_kafka: bool,
    /// Take this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

impl DistOptions {
    /// Makes `target/dist/portage-VERSION-TARGET.tar.gz` and `SHA256SUMS` beside it.
    pub(crate) fn run(&self) -> Outcome {
        let binary = match &self.binary {
            Some(binary) => fs::canonicalize(binary).map_err(fault(binary))?,
            None => self.built()?,
        };
        let graph = Graph::read(self.features())?;
        let name = format!("portage-{}-{}", graph.version()?, graph::host()?);
        let dist = tree::target().join("dist");
        let folder = dist.join(&name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(fault(&folder))?;
        }
        copied(&binary, &folder.join("bin/portage"))?;
        from_binary(&binary, &folder)?;
        for (from, to) in DOCS {
            for file in tracked(from)? {
                copied(&tree::root().join(&file), &folder.join(to).join(&file))?;
            }
        }
        for (from, to) in UNITS {
            for file in tracked(from)? {
                let file = tree::root().join(file);
                let name = file.file_name().unwrap_or_default();
                copied(&file, &folder.join(to).join(name))?;
            }
        }
        written(&folder.join("share/doc/portage/THIRD-PARTY.txt"), &notice::text(&graph)?)?;
        written(&folder.join("share/doc/portage/sbom.cdx.json"), &sbom::text(&graph)?)?;
        packed(&dist, &name)?;
        println!("{}", dist.join(format!("{name}.tar.gz")).display());
        Ok(())
    }

    fn features(&self) -> &'static [&'static str] {
        if self.without_kafka { &[] } else { &kafka::FEATURES }
    }

    fn built(&self) -> Outcome<PathBuf> {
        if !self.without_kafka {
            kafka::buildable()?;
        }
        let package = ["build", "--release", "--locked", "--package", "server", "--bin", "portage"];
        let mut cargo = run::cargo(&package);
        cargo.args(self.features());
        run::must(cargo)?;
        Ok(tree::target().join("release/portage"))
    }
}

/// Writes the licences of all that the binary contains.
pub(crate) fn notice() -> Outcome {
    let path = tree::target().join("dist/THIRD-PARTY.txt");
    written(&path, &notice::text(&Graph::read(&kafka::FEATURES)?)?)?;
    println!("{}", path.display());
    Ok(())
}

/// Manual pages and completions, which the binary writes by itself.
fn from_binary(binary: &Path, folder: &Path) -> Outcome {
    let man = folder.join("share/man/man1");
    fs::create_dir_all(&man).map_err(fault(&man))?;
    let mut pages = run::program(binary);
    pages.arg("man").arg(&man);
    run::must(pages)?;
    for (shell, file) in SHELLS {
        let mut completions = run::program(binary);
        completions.args(["completions", shell]);
        written(&folder.join(file), &run::output(completions)?)?;
    }
    Ok(())
}

/// The same folder gives the same archive: names in order, no owner, one time.
fn packed(dist: &Path, name: &str) -> Outcome {
    let mut time = run::program("git");
    time.args(["log", "-1", "--format=%ct"]);
    let time = run::output(time)?;
    let archive = format!("{name}.tar.gz");
    let mut tar = run::program("tar");
    tar.current_dir(dist).args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", time.trim())).args(["--use-compress-program=gzip -n", "-cf"]);
    tar.arg(&archive).arg(name);
    run::must(tar)?;
    let mut sums = run::program("sha256sum");
    sums.current_dir(dist).arg(&archive);
    written(&dist.join("SHA256SUMS"), &run::output(sums)?)
}

/// The files below a path that git knows: a secret beside them is never packed.
fn tracked(path: &str) -> Outcome<Vec<String>> {
    let mut git = run::program("git");
    git.args(["ls-files", "--", path]);
    let files: Vec<String> = run::output(git)?.lines().map(str::to_owned).collect();
    if files.is_empty() { Err(format!("{path}: git knows no such file")) } else { Ok(files) }
}

/// Copies a file, with its mode.
fn copied(from: &Path, to: &Path) -> Outcome {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(fault(parent))?;
    }
    fs::copy(from, to).map(|_| ()).map_err(fault(from))
}

fn written(path: &Path, text: &str) -> Outcome {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(fault(parent))?;
    }
    fs::write(path, text).map_err(fault(path))
}

fn fault(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}
