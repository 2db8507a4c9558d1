//! Where the repository is and which of its files the checks read.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::Outcome;

/// One file: its path from the repository's root, with forward slashes, and its text.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The folders that hold our own sources and pages; anything else may be a build or a data folder.
const FOLDERS: [&str; 4] = ["bench", "crates", "docs", "xtask"];

/// The repository's root. Asked of cargo at run time, since a target folder may serve two checkouts.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    here.as_deref().and_then(Path::parent).map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Where cargo builds, unless a configuration file outside the repository says otherwise.
pub(crate) fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(named)
}

/// Every file of ours with one of these endings, sorted by path.
pub(crate) fn pages(endings: &[&str]) -> Outcome<Vec<Page>> {
    let root = root();
    let mut found = Vec::new();
    files(&root, false, &mut found)?;
    for folder in FOLDERS {
        let folder = root.join(folder);
        if folder.is_dir() {
            files(&folder, true, &mut found)?;
        }
    }
    found.retain(|path| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)));
    found.sort();
    found.iter().map(|path| page(&root, path)).collect()
}

/// A package's folder below a tree: product crates stand in `crates`, the others in `crates/testing`.
pub(crate) fn package(tree: &Path, name: &str) -> PathBuf {
    let product = tree.join("crates").join(name);
    if product.is_dir() { product } else { tree.join("crates/testing").join(name) }
}

/// The package that builds the tests of a crate: those of the engine are a package of their own.
pub(crate) fn tests_of(name: &str) -> &str {
    if name == "engine" { "engine-tests" } else { name }
}

/// The names of the folders right under `folder` that hold a package.
pub(crate) fn packages(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root().join(folder)) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The text of one file, or an error that names it.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn page(root: &Path, path: &Path) -> Outcome<Page> {
    let short = path.strip_prefix(root).unwrap_or(path);
    Ok(Page { path: short.to_string_lossy().replace('\\', "/"), text: read(path)? })
}

fn files(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) -> Outcome {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        if path.is_file() {
            found.push(path);
        } else if deep && path.is_dir() && !path.ends_with("target") {
            files(&path, deep, found)?;
        }
    }
    Ok(())
}
