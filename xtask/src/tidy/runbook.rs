//! Every kind of case that the product opens has its page in the runbook, with all its parts.

use super::Fault;
use crate::tree::Page;
use std::collections::BTreeMap;

const FOLDER: &str = "docs/runbook/";
const INDEX: &str = "docs/runbook/README.md";

/// What a person on call looks for, in this order.
const PARTS: [&str; 6] = [
    "## What it means",
    "## Is the money safe",
    "## What to look at",
    "## What to do",
    "## What never to do",
    "## What closes it",
];

/// All rules over the sources and the pages.
pub(super) fn check(sources: &[Page], pages: &[Page]) -> Vec<Fault> {
    let mut kinds = BTreeMap::new();
    for Page { path, text } in sources.iter().filter(|page| of_the_product(&page.path)) {
        for (line, kind) in opened(text) {
            kinds.entry(kind).or_insert((path.as_str(), line));
        }
    }
    let mut faults = Vec::new();
    let index = pages.iter().find(|page| page.path == INDEX).map_or("", |page| &*page.text);
    for (kind, (path, line)) in &kinds {
        let page = format!("{FOLDER}{kind}.md");
        if !pages.iter().any(|found| found.path == page) {
            faults.push(Fault::at(path, *line, format!("the case {kind} has no page: {page}")));
        }
    }
    let own = pages.iter().filter(|page| page.path.starts_with(FOLDER) && page.path != INDEX);
    for Page { path, text } in own {
        let name = path.trim_start_matches(FOLDER).trim_end_matches(".md");
        if !index.contains(&format!("[{name}]({name}.md)")) {
            faults.push(Fault::whole(INDEX, format!("{name} is not in the table")));
        }
        let parts: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        if parts != PARTS {
            faults.push(Fault::whole(path, format!("its parts are {}", PARTS.join(", "))));
        }
        if !text.starts_with(&format!("# {name}\n")) {
            faults.push(Fault::at(path, 1, format!("a page begins with `# {name}`")));
        }
    }
    faults
}

fn of_the_product(path: &str) -> bool {
    ["engine", "ledgers", "server", "store"]
        .iter()
        .any(|name| path.starts_with(&format!("crates/{name}/src/")))
        && !path.ends_with("tests.rs")
}

/// The kinds of cases that a source names, with their lines: `("KIND", Severity::…)`, or the field
/// `kind` with the field `severity` below it, or a constant `KIND`.
fn opened(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let paired = line
            .split_once("\", Severity::")
            .and_then(|(head, _)| head.rsplit_once("(\"").map(|(_, kind)| kind));
        let next = lines.get(at + 1).is_some_and(|next| next.contains("severity"));
        let field = line.split_once("kind: \"").and_then(|(_, rest)| rest.split('"').next());
        let field = field.filter(|_| next || line.contains("severity"));
        let constant = line.strip_prefix("const KIND: &str = \"");
        let constant = constant.and_then(|rest| rest.split('"').next());
        found.extend(paired.or(field).or(constant).map(|kind| (at + 1, kind)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        Page { path: path.to_owned(), text: text.to_owned() }
    }

    fn faults(sources: &[Page], pages: &[Page]) -> Vec<String> {
        check(sources, pages).iter().map(Fault::to_string).collect()
    }

    fn whole(kind: &str) -> String {
        format!("# {kind}\n{}\n", PARTS.join("\n"))
    }

    #[test]
    fn each_way_to_name_a_kind_is_seen() {
        let text = "const KINDS: [_; 1] = [\n    (\"STUCK\", Severity::Warning),\n];\n\
                    let case = Case {\n    kind: \"POISON\",\n    severity: Severity::Critical,\n};\n\
                    let action = Action { caller, kind: \"HALT\", subject };\n\
                    const KIND: &str = \"RESTORED\";\n";
        assert_eq!(opened(text), [(2, "STUCK"), (5, "POISON"), (9, "RESTORED")]);
    }

    #[test]
    fn a_kind_without_a_page_and_a_page_without_a_row_are_found() {
        let sources = [page("crates/engine/src/a.rs", "(\"STUCK\", Severity::Warning)\n")];
        let index = page(INDEX, "[STUCK](STUCK.md)");
        let good = page("docs/runbook/STUCK.md", &whole("STUCK"));
        assert_eq!(faults(&sources, &[index, good]), [""; 0]);
        let lost = page("docs/runbook/LOST.md", &whole("LOST"));
        let found = faults(&sources, &[lost]);
        let expected = [
            "crates/engine/src/a.rs:1: the case STUCK has no page: docs/runbook/STUCK.md",
            "docs/runbook/README.md: LOST is not in the table",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_page_has_all_its_parts_and_stands_in_the_index() {
        let sources = [page("crates/server/src/a.rs", "(\"STUCK\", Severity::Warning)\n")];
        let short = page("docs/runbook/STUCK.md", "# Stuck\n## What it means\n");
        let found = faults(&sources, &[short]);
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn tests_and_other_crates_open_no_cases() {
        let text = "(\"CHECK\", Severity::Warning)\n";
        let sources = [
            "crates/testing/sim/src/a.rs",
            "crates/engine/tests/it/a.rs",
            "crates/engine/src/plan_tests.rs",
        ];
        assert_eq!(faults(&sources.map(|path| page(path, text)), &[]), [""; 0]);
    }
}
