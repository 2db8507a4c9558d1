//! What is counted beside words: crowded folders, type names that stand often, documentation that says
//! nothing, parameters that are tuples.

use super::counts::Counts;
use super::names::titles;
use super::signatures::tuple_parameters;
use crate::tree::Page;
use std::collections::BTreeMap;

/// The most files in one folder.
pub(super) const FILES: usize = 20;
/// The most definitions of one type name in the product's crates.
const SAME: usize = 2;
/// A line of documentation says something with more words than these.
const WORDS: usize = 3;

/// The crates that users run; what only tests is left out.
const PRODUCT: [&str; 9] =
    ["api", "client", "engine", "flows", "kernel", "ledgers", "links", "server", "store"];

/// Folders with more files than a reader overlooks.
pub(super) fn folders(sources: &[Page], counts: &mut Counts) {
    let folders = sources.iter().filter_map(|page| page.path.rsplit_once('/'));
    for (folder, files) in tally(folders.map(|(folder, _)| folder)) {
        counts.set("folders", folder, if files > FILES { files } else { 0 });
    }
}

/// Type names that are defined more often than a reader keeps apart. The associated types of traits and
/// their implementations are no definitions: each must have the name that its trait gives it.
pub(super) fn types(sources: &[Page], counts: &mut Counts) {
    let product = sources.iter().filter(|page| is_product(&page.path));
    let lines = product.flat_map(|page| page.text.lines());
    let code = lines.filter(|line| !line.starts_with("    type "));
    let code = code.map(str::trim_start).filter(|line| !line.starts_with("//"));
    let types = code.flat_map(titles).filter(|name| name.starts_with(char::is_uppercase));
    for (name, times) in tally(types) {
        counts.set("types", name, if times > SAME { times } else { 0 });
    }
}

/// Documentation of one line that has too few words to say more than the name does.
pub(super) fn short_docs(sources: &[Page], counts: &mut Counts) {
    let short = |page: &Page| {
        let lines: Vec<Option<&str>> =
            page.text.lines().map(|line| line.trim_start().strip_prefix("///")).collect();
        let alone = lines.windows(3).filter_map(|around| match around {
            [None, Some(doc), None] => Some(*doc),
            _ => None,
        });
        alone.filter(|doc| doc.split_whitespace().count() <= WORDS).count()
    };
    counts.set("documentation", "short lines", sources.iter().map(short).sum());
}

/// Parameters that are tuples, by product crate: fields of a struct have names where it is passed too.
pub(super) fn tuples(sources: &[Page], counts: &mut Counts) {
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for page in sources {
        if let Some(name) = product(&page.path) {
            *crates.entry(name).or_default() += tuple_parameters(&page.text);
        }
    }
    for (name, count) in crates {
        counts.set("tuples", name, count);
    }
}

fn is_product(path: &str) -> bool {
    product(path).is_some()
}

/// The product's crate whose source a file is.
fn product(path: &str) -> Option<&str> {
    let (name, file) = path.strip_prefix("crates/")?.split_once('/')?;
    (PRODUCT.contains(&name) && file.starts_with("src/")).then_some(name)
}

fn tally<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut times = BTreeMap::new();
    for name in names {
        *times.entry(name).or_default() += 1;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(files: &[(&str, &str)]) -> Vec<Page> {
        let page =
            |(path, text): &(&str, &str)| Page { path: (*path).into(), text: (*text).into() };
        files.iter().map(page).collect()
    }

    fn text(measure: impl Fn(&[Page], &mut Counts), files: &[(&str, &str)]) -> String {
        let mut counts = Counts::default();
        measure(&pages(files), &mut counts);
        counts.text()
    }

    #[test]
    fn a_type_name_counts_from_its_third_definition_in_the_product() {
        let twice = "struct Said;\n// struct Said\nenum Said {}\n";
        let files = [("crates/engine/src/a.rs", twice), ("crates/testing/sim/src/a.rs", twice)];
        assert!(!text(types, &files).contains("Said"));
        let third = [files[0], ("crates/store/src/a.rs", "type Said = u8;\n")];
        assert!(text(types, &third).contains("\"Said\" = 3"));
        let own = "impl Life for State {\n    type Said = Said;\n}\n";
        let third = [files[0], ("crates/store/src/a.rs", own)];
        assert!(!text(types, &third).contains("Said"));
    }

    #[test]
    fn a_line_of_documentation_says_something() {
        let docs =
            "//! A page.\n\n/// Why it is.\nx\n/// Why it is so.\ny\n/// More.\n/// And more.\nz\n";
        assert!(text(short_docs, &[("a.rs", docs)]).contains("\"short lines\" = 1"));
    }

    #[test]
    fn tuple_parameters_count_by_crate_in_the_product_alone() {
        let text_of = "fn a((b, c): (u8, u8)) {}\nfn d(e: &(u8, u8)) {}\n";
        let product = ("crates/store/src/a.rs", text_of);
        let others =
            [("crates/testing/sim/src/a.rs", text_of), ("crates/store/tests/a.rs", text_of)];
        let found = text(tuples, &[product, others[0], others[1], ("crates/links/src/a.rs", "")]);
        assert!(found.ends_with("[tuples]\n\"store\" = 2\n"), "{found}");
    }

    #[test]
    fn a_folder_is_crowded_above_twenty_files() {
        let names: Vec<String> = (0..21).map(|n| format!("crates/a/{n}.rs")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "")).collect();
        assert!(text(folders, &files).contains("\"crates/a\" = 21"));
        assert!(!text(folders, &files[1..]).contains("crates/a"));
    }
}
