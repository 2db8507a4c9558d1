//! No modules of these crates import each other in a circle by `crate::` paths: each can be read with those below it
//! alone. A folder's `mod.rs` and the files beside it (`super::`) are one room, and are not looked at.

use super::Fault;
use crate::tree::Page;
use std::collections::{BTreeMap, BTreeSet};

const CRATES: [&str; 4] =
    ["crates/flows/src/", "crates/kernel/src/", "crates/ledgers/src/", "crates/links/src/"];

/// Modules, each with those that it imports.
type Imports<'p> = BTreeMap<String, (&'p str, BTreeSet<String>)>;

/// Each circle of each crate, once.
pub(super) fn check(sources: &[Page]) -> Vec<Fault> {
    CRATES.iter().flat_map(|folder| faults(&imports(folder, sources))).collect()
}

fn faults(imports: &Imports<'_>) -> Vec<Fault> {
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for (module, (path, _)) in imports {
        let Some(circle) = circle(imports, module) else { continue };
        if seen.insert(circle.iter().cloned().collect::<BTreeSet<_>>()) {
            let what = format!("modules import each other in a circle: {}", circle.join(" → "));
            faults.push(Fault::whole(path, what));
        }
    }
    faults
}

fn imports<'p>(folder: &str, sources: &'p [Page]) -> Imports<'p> {
    let own =
        sources.iter().filter_map(|page| Some((page, module(page.path.strip_prefix(folder)?)?)));
    let own: Vec<(&Page, String)> = own.collect();
    let names: BTreeSet<&str> = own.iter().map(|(_, name)| name.as_str()).collect();
    let one = |(page, name): &(&'p Page, String)| {
        let all = named(&page.text, &names).filter(|other| other != name).collect();
        (name.clone(), (page.path.as_str(), all))
    };
    own.iter().map(one).collect()
}

/// The name of a file's module below its crate; none of a file of tests, or of the crate's root.
fn module(path: &str) -> Option<String> {
    let name = path.strip_suffix(".rs")?.replace('/', "::");
    let name = name.strip_suffix("::mod").unwrap_or(&name);
    (!name.contains("tests") && !["lib", "main"].contains(&name)).then(|| name.to_owned())
}

/// The modules that a file names by a `crate::` path outside its tests and comments.
fn named(text: &str, names: &BTreeSet<&str>) -> impl Iterator<Item = String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let paths = lines.flat_map(|line| line.split("crate::").skip(1));
    paths.filter_map(|path| {
        let end = path.find(|c: char| !(c.is_ascii_lowercase() || c == '_' || c == ':'));
        let mut path = path.get(..end.unwrap_or(path.len()))?.trim_end_matches(':');
        while !names.contains(path) {
            path = path.rsplit_once("::")?.0;
        }
        Some(path.to_owned())
    })
}

/// A way from a module back to itself.
fn circle(imports: &Imports<'_>, from: &str) -> Option<Vec<String>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for other in imports.get(module).iter().flat_map(|(_, all)| all) {
            if other == from {
                let way = std::iter::successors(Some(module), |at| before.get(at).copied());
                let mut way: Vec<String> = way.map(str::to_owned).collect();
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(other.as_str()) {
                before.insert(other, module);
                next.push(other);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let page = |(path, text): &(&str, &str)| Page {
            path: format!("crates/kernel/src/{path}"),
            text: (*text).to_owned(),
        };
        let pages: Vec<Page> = files.iter().map(page).collect();
        check(&pages).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_of_three_is_told_once_with_its_way() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::flow::table::{S, Table};"),
            ("flow/table.rs", "fn f() -> crate::a::A {}"),
            ("c.rs", "use crate::a::A;"),
        ];
        let found = found(&files);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert!(one.ends_with("in a circle: a → b → flow::table"), "{one}");
    }

    #[test]
    fn tests_comments_and_a_module_s_own_name_make_no_circle() {
        let files = [
            ("a.rs", "use crate::b::B;\nuse crate::a::C;"),
            ("b.rs", "// use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
