//! Says which version is built: the manifest's, and in a release build from git also the commit.
//!
//! A development build leaves the commit out: it would be compiled again after each commit.
//! The variable's name does not begin with `PORTAGE_`: cargo hands it to `cargo run` and `cargo test`
//! too, where the server would refuse it as a setting that does not exist.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if release { commit() } else { None };
    let version = commit.map_or_else(|| version.to_owned(), |id| format!("{version} ({id})"));
    println!("cargo::rustc-env=VERSION_AND_COMMIT={version}");
}

/// The commit that is checked out, where this source is a git repository; a tarball is none.
fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?.canonicalize().ok()?;
    let top = PathBuf::from(git(&root, &["rev-parse", "--show-toplevel"])?);
    // a tarball that is unpacked inside another repository is not of that one
    if top.canonicalize().ok()? != root {
        return None;
    }
    // HEAD changes with the branch; its log also with each commit
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&root, &["rev-parse", "--git-path", file])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&root, &["rev-parse", "--short=12", "HEAD"])
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
