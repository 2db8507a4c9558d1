//! The table of wrong builds that are made by changing a text of the product.

use std::{collections::BTreeSet, fs, path::Path};

use serde::Deserialize;

use crate::{Outcome, tree};

/// The file that lists the wrong builds.
pub(super) const TABLE: &str = "xtask/src/proof/postgres.toml";
/// The page that shows them, and the marks between which it does.
const PAGE: &str = "docs/proof/postgres.md";
const MARKS: [&str; 2] = ["<!-- builds -->\n", "<!-- /builds -->"];

/// One wrong build, and the tests that must find it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Build {
    pub(super) name: String,
    /// What is wrong with it, in words.
    pub(super) what: String,
    pub(super) file: String,
    /// The text that is replaced; it stands in the file once.
    pub(super) text: String,
    pub(super) instead: String,
    /// The tests that must turn red.
    pub(super) found: Vec<Finder>,
}

/// A test that must turn red.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Finder {
    /// The crate whose test it is.
    pub(super) package: String,
    pub(super) test: String,
    /// What it says when it fails.
    pub(super) says: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    wrong: Vec<Build>,
}

/// All of them, in the order of the table.
pub(super) fn builds() -> Outcome<Vec<Build>> {
    let text = tree::read(&tree::root().join(TABLE))?;
    let table: Table = toml::from_str(&text).map_err(|fault| format!("{TABLE}: {fault}"))?;
    Ok(table.wrong)
}

impl Build {
    /// The file's text with the change in it.
    pub(super) fn applied(&self, text: &str) -> Outcome<String> {
        let times = text.matches(&self.text).count();
        if times == 1 {
            Ok(text.replacen(&self.text, &self.instead, 1))
        } else {
            Err(format!(
                "{}: its text stands {times} times in {}, and must stand there once: the table is stale",
                self.name, self.file
            ))
        }
    }

    /// Its row on the page.
    fn row(&self) -> String {
        let Self { name, what, found, .. } = self;
        let found = found.iter().map(|Finder { package, test, says }| {
            format!("`{package}` `{test}`: {}", says.replace('|', "\\|"))
        });
        format!("| `{name}` | {what} | {} |", found.collect::<Vec<_>>().join("<br>"))
    }
}

/// The table as the page shows it.
pub(super) fn shown(builds: &[Build]) -> String {
    let mut text =
        "| wrong build | what it does wrong | what finds it, and says |\n|---|---|---|\n"
            .to_owned();
    for build in builds {
        text.push_str(&build.row());
        text.push('\n');
    }
    text
}

/// Everything that is stale: texts, tests, the page.
pub(super) fn faults(builds: &[Build]) -> Vec<String> {
    let root = tree::root();
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    for build in builds {
        if !names.insert(&build.name) {
            faults.push(format!("{}: named twice", build.name));
        }
        let says_nothing = build.found.iter().any(|finder| finder.says.is_empty());
        if build.text == build.instead || build.found.is_empty() || says_nothing {
            faults.push(format!("{}: it changes nothing, or nothing turns red", build.name));
        }
        let applied = tree::read(&root.join(&build.file)).and_then(|text| build.applied(&text));
        faults.extend(applied.err());
        for Finder { package, test, .. } in &build.found {
            let tests = tree::package(&root, package).join("tests/it");
            let name = test.rsplit("::").next().unwrap_or_default();
            if !defines(&tests, name) {
                faults.push(format!("{}: no test `{name}` in {package}", build.name));
            }
        }
    }
    let page = tree::read(&root.join(PAGE));
    match page.as_deref().map(between) {
        Ok(Some(text)) if text == shown(builds) => {}
        Ok(_) => faults.push(format!(
            "{PAGE}: between {MARKS:?} must stand what `cargo xtask proof postgres --list` prints"
        )),
        Err(fault) => faults.push(fault.clone()),
    }
    faults
}

fn between(page: &str) -> Option<&str> {
    let [begin, end] = MARKS;
    page.split_once(begin)?.1.split_once(end).map(|(text, _)| text)
}

/// Whether a test of that name is written below a folder, as a function or as a macro's first word.
fn defines(folder: &Path, name: &str) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let (function, word) = (format!("fn {name}("), format!("{name}:"));
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return defines(&path, name);
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| line.contains(&function) || line.trim().starts_with(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns red where a text of the table was rewritten, a test renamed, or the page not told: the
    /// campaign would stop there, and it is not run with every change.
    #[test]
    fn every_text_stands_once_in_its_file_and_every_test_is_there() {
        let builds = builds().unwrap();
        assert!(!builds.is_empty());
        assert_eq!(faults(&builds), [""; 0]);
    }

    /// The page that says of each fault what finds it.
    const FAULTS: &str = "docs/proof/faults.md";

    /// The tests of a page, as `crate` `path::test`.
    fn named(page: &str) -> Vec<(&str, &str)> {
        let words: Vec<&str> = page.split('`').collect();
        // what stands between two marks is every second part
        let pairs = words.windows(3).skip(1).step_by(2);
        let pairs = pairs.filter(|part| part[1] == " " && part[2].contains("::"));
        pairs.map(|part| (part[0], part[2])).collect()
    }

    /// Turns red where a test or a wrong build that the page of faults names is renamed or gone.
    #[test]
    fn what_finds_a_fault_is_there() {
        let root = tree::root();
        let page = tree::read(&root.join(FAULTS)).unwrap();
        let tests = named(&page);
        assert!(tests.len() > 50, "{tests:?}");
        for (package, test) in tests {
            let name = test.rsplit("::").next().unwrap_or_default();
            let folder = tree::package(&root, package);
            assert!(defines(&folder, name), "{FAULTS}: no test `{name}` in {package}");
        }
        let known = ["wrong-builds.md", "simulation.md", "postgres.md"]
            .map(|page| tree::read(&root.join("docs/proof").join(page)).unwrap());
        let rows = page.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit(" | ").next());
        for build in rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
            let build = format!("`{build}`");
            assert!(
                known.iter().any(|page| page.contains(&build)),
                "{FAULTS}: no wrong build {build}"
            );
        }
    }

    #[test]
    fn a_stale_text_is_an_error() {
        let mut build = builds().unwrap().swap_remove(0);
        build.text = "a".to_owned();
        build.instead = "b".to_owned();
        assert_eq!(build.applied("x a x"), Ok("x b x".to_owned()));
        assert!(build.applied("x").unwrap_err().contains("stands 0 times"));
        assert!(build.applied("a a").unwrap_err().contains("stands 2 times"));
    }

    #[test]
    fn a_stale_test_or_name_is_found() {
        let mut builds = vec![builds().unwrap().swap_remove(0); 2];
        builds[1].found[0].test = "postgres::no_such_test".to_owned();
        let found = faults(&builds).join("\n");
        assert!(
            found.contains("named twice") && found.contains("no test `no_such_test`"),
            "{found}"
        );
        assert!(found.contains(PAGE), "the page shows others: {found}");
    }
}
