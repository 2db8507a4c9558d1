//! The house rules that no compiler knows. Each check is a pure function over paths and texts.

mod circles;
mod docs;
mod imports;
mod manifest;
mod rooms;
mod runbook;
mod source;
mod states;
mod words;

use std::fmt;

use crate::{
    Outcome,
    tree::{self, Page},
};

/// One broken rule: where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    path: String,
    /// Counted from 1; 0 when the whole file is meant.
    line: usize,
    what: String,
}

impl Fault {
    fn whole(path: &str, what: impl Into<String>) -> Self {
        Self::at(path, 0, what)
    }

    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// What `cargo xtask tidy` does beside checking.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Lower the ratchet of private words to what the tree has now, and check.
    #[arg(long)]
    lower: bool,
    /// List the places of a word of the dictionary instead.
    #[arg(long, value_name = "WORD")]
    word: Option<String>,
}

impl Options {
    /// Does what was asked.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(word) = &self.word {
            return words::places(word);
        }
        if self.lower {
            words::lower()?;
        }
        run()
    }
}

/// Runs every check over the whole tree.
pub(crate) fn run() -> Outcome {
    let mut faults = Vec::new();
    let sources = tree::pages(&[".rs"])?;
    for Page { path, text } in &sources {
        faults.extend(source::check(path, text));
        faults.extend(words::phrases::check(path, text));
    }
    let manifests = tree::pages(&["Cargo.toml"])?;
    for Page { path, text } in &manifests {
        faults.extend(manifest::check(path, text));
    }
    faults.extend(words::check(&sources)?);
    faults.extend(imports::check(&manifests));
    let root = tree::root();
    let pages = tree::pages(&[".md"])?;
    for Page { path, text } in &pages {
        faults.extend(docs::check(path, text, &|target| root.join(target).exists()));
        faults.extend(words::phrases::check(path, text));
    }
    faults.extend(docs::unlinked(&pages));
    faults.extend(runbook::check(&sources, &pages));
    faults.extend(states::check(&sources));
    faults.extend(circles::check(&sources));
    faults.extend(rooms::check(&sources));
    if faults.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    Err(format!("{}\ntidy: {} faults", lines.join("\n"), lines.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        if let Err(faults) = run() {
            panic!("\n{faults}");
        }
    }

    #[test]
    fn a_fault_is_shown_so_that_an_editor_finds_it() {
        assert_eq!(Fault::at("a.rs", 3, "long").to_string(), "a.rs:3: long");
        assert_eq!(Fault::whole("a.rs", "long").to_string(), "a.rs: long");
    }
}
