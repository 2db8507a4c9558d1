//! The merged settings as a tree of values, each with its origin.

use crate::config::section::SettingKey;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who gave a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// No source: the default.
    Default,
    /// A line of the file, from 1.
    File(Arc<Path>, usize),
    /// A variable of the environment.
    Variable(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl Origin {
    /// That line of that file.
    pub(super) fn line(file: &Path, line: usize) -> Self {
        Self::File(PathBuf::from(file).into(), line)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(file, line) => write!(f, "{}:{line}", file.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// What was given, above the defaults.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) root: Map<String, Value>,
    /// By dotted path; tables too, where they are named.
    pub(super) origins: BTreeMap<String, Origin>,
}

impl Tree {
    /// Sets a value, over what a lower layer gave.
    pub(super) fn set(&mut self, path: &[String], value: Value, origin: Origin) {
        let Some((last, above)) = path.split_last() else { return };
        let mut table = &mut self.root;
        for part in above {
            let inner = table.entry(part.clone()).or_insert_with(|| Value::Object(Map::new()));
            // a value where a table belongs stays there and is refused with its kind
            let Value::Object(inner) = inner else { return };
            table = inner;
        }
        table.insert(last.clone(), value);
        self.origins.insert(path.join("."), origin);
    }

    /// Where the value at this path came from: its own place, else that of the table around it.
    pub(super) fn origin(&self, path: &str) -> Option<&Origin> {
        let mut path = path;
        loop {
            if let Some(origin) = self.origins.get(path) {
                return Some(origin);
            }
            (path, _) = path.rsplit_once('.')?;
        }
    }

    /// Where the first value below a table came from: a variable names its table by the way.
    pub(super) fn origin_below(&self, table: &str) -> Option<&Origin> {
        let start = format!("{table}.");
        let below = self.origins.range(start.clone()..).next();
        below.filter(|(path, _)| path.starts_with(&start)).map(|(_, origin)| origin)
    }

    /// The value at this path.
    pub(super) fn value(&self, path: &str) -> Option<&Value> {
        let mut parts = path.split('.');
        let first = self.root.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    }

    /// Every path that no key of ours has, with the names that are known there.
    pub(super) fn unknown(&self, keys: &[SettingKey]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        strangers(&self.root, keys, "", &mut found);
        found
    }
}

fn strangers(
    table: &Map<String, Value>,
    keys: &[SettingKey],
    above: &str,
    found: &mut Vec<(String, String)>,
) {
    for (name, value) in table {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            let known: Vec<_> = keys.iter().map(|key| key.name).collect();
            found.push((path, known.join(", ")));
            continue;
        };
        let tables: Vec<(String, &Value)> = if key.named {
            let named = value.as_object().into_iter().flatten();
            named.map(|(own, value)| (format!("{path}.{own}"), value)).collect()
        } else {
            vec![(path, value)]
        };
        for (path, value) in tables {
            if let (Some(table), false) = (value.as_object(), key.inner.is_empty()) {
                strangers(table, key.inner, &path, found);
            }
        }
    }
}

/// The key at a path, through names of the operator's own choice.
pub(super) fn key<'a>(keys: &'a [SettingKey], path: &[String]) -> Option<&'a SettingKey> {
    let (first, rest) = path.split_first()?;
    let key = keys.iter().find(|key| key.name == first)?;
    let rest = match rest.split_first() {
        Some((_, below)) if key.named => below,
        _ => rest,
    };
    if rest.is_empty() { Some(key) } else { self::key(key.inner, rest) }
}
