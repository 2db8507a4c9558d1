//! What every page keeps to: its links to files lead somewhere, and a decision has a title and is short.

use super::Fault;
use crate::tree::Page;
use std::collections::BTreeSet;

/// The most lines of a decision's page.
const DECISION_LINES: usize = 40;

/// All rules over one Markdown page; `exists` answers for a path from the repository's root.
pub(super) fn check(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    if path.starts_with("docs/decisions/") && !text.starts_with("# ") {
        faults.push(Fault::at(path, 1, "a decision begins with its title: `# …`"));
    }
    // the index has a line for each decision
    if path.starts_with("docs/decisions/") && !path.ends_with("/README.md") {
        let lines = text.lines().count();
        if lines > DECISION_LINES {
            let what = format!("a decision has at most {DECISION_LINES} lines, this one {lines}");
            faults.push(Fault::at(path, DECISION_LINES + 1, what));
        }
    }
    for (line, link) in links(text) {
        let file = link.split('#').next().unwrap_or_default();
        // An anchor of this very page, or an address elsewhere.
        if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
            continue;
        }
        match resolved(path, file) {
            Some(target) if exists(&target) => (),
            _ => faults.push(Fault::at(path, line, format!("`{link}` leads nowhere"))),
        }
    }
    faults
}

/// The pages below `docs/` to which no link leads from the README, through whatever pages between.
pub(super) fn unlinked(pages: &[Page]) -> Vec<Fault> {
    let mut reached = BTreeSet::from(["README.md".to_owned()]);
    let mut next = vec!["README.md".to_owned()];
    while let Some(from) = next.pop() {
        let Some(page) = pages.iter().find(|page| page.path == from) else { continue };
        for (_, link) in links(&page.text) {
            let file = link.split('#').next().unwrap_or_default();
            next.extend(resolved(&from, file).filter(|target| reached.insert(target.clone())));
        }
    }
    let docs = pages.iter().filter(|page| page.path.starts_with("docs/"));
    let lost = docs.filter(|page| !reached.contains(&page.path));
    lost.map(|page| Fault::at(&page.path, 1, "no link leads here from README.md")).collect()
}

/// The targets of `[text](target)` and `[name]: target`, outside of code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            let named = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
            let targets = inline.chain(named.map(|(_, target)| target));
            // A title may follow the target: `(a.md "A page")`.
            found
                .extend(targets.filter_map(|link| Some((number, link.split_whitespace().next()?))));
        }
    }
    found
}

/// The link's target from the repository's root, or none when it leaves the repository.
fn resolved(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    if !link.starts_with('/') {
        parts.extend(page.split('/'));
        parts.pop();
    }
    for part in link.split('/') {
        match part {
            "" | "." => (),
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let known = |target: &str| ["README.md", "docs/proof/acceptance.md"].contains(&target);
        check(path, text, &known).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn good_links_pass() {
        let text = "[a](../README.md#top) [b](proof/acceptance.md \"B\") [c](https://x.y/z) [d](#e)\n\
                    [f]: /README.md\n```\n[g](nowhere.md)\n```\n";
        assert_eq!(faults("docs/a.md", text), [""; 0]);
    }

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        let text = "one\n[a](README.md) [b](../../README.md)\n[c]: gone.md\n";
        let expected = ["README.md` leads", "../../README.md` leads", "gone.md` leads"];
        let found = faults("docs/a.md", text);
        assert_eq!(found.len(), 3, "{found:?}");
        for (fault, part) in found.iter().zip(expected) {
            assert!(fault.contains(part), "{fault}");
        }
    }

    /// Turns red where a link of any page counts, be that page reached or not.
    #[test]
    fn a_page_that_nothing_leads_to_is_found() {
        let page = |path: &str, text: &str| Page { path: path.to_owned(), text: text.to_owned() };
        let pages = [
            page("README.md", "[a](docs/a.md#part)"),
            page("docs/a.md", "[b](sub/b.md)"),
            page("docs/c.md", "[d](d.md)"),
            page("docs/d.md", "[c](c.md)"),
            page("docs/sub/b.md", ""),
        ];
        let found: Vec<String> = unlinked(&pages).iter().map(Fault::to_string).collect();
        let lost = |path: &str| format!("{path}:1: no link leads here from README.md");
        assert_eq!(found, [lost("docs/c.md"), lost("docs/d.md")]);
    }

    #[test]
    fn a_decision_has_a_title() {
        let found = faults("docs/decisions/0001.md", "No title.\n");
        assert_eq!(found, ["docs/decisions/0001.md:1: a decision begins with its title: `# …`"]);
        assert_eq!(faults("docs/decisions/0001.md", "# Title\n"), [""; 0]);
    }

    #[test]
    fn a_decision_has_at_most_forty_lines() {
        let page = |lines: usize| format!("# Title\n{}", "Line.\n".repeat(lines - 1));
        assert_eq!(faults("docs/decisions/0001.md", &page(40)), [""; 0]);
        let found = faults("docs/decisions/0001.md", &page(41));
        assert_eq!(
            found,
            ["docs/decisions/0001.md:41: a decision has at most 40 lines, this one 41"]
        );
        for other in ["docs/decisions/README.md", "docs/a.md"] {
            assert_eq!(faults(other, &page(41)), [""; 0]);
        }
    }
}
