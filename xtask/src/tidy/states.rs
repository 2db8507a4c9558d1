//! Outside `crates/flows` no product file names a flow's state: what became of a transfer is told by the
//! outcome of its end, and what is normal by the flow. A state that is named by its spelling would be
//! another one in the next flow.

use super::Fault;
use crate::tree::Page;
use std::collections::{BTreeMap, BTreeSet};

/// A place that may say these words, and why. A path that ends in `/` stands for its folder.
struct Place {
    path: &'static str,
    words: &'static [&'static str],
    #[expect(dead_code, reason = "for those who read the list")]
    why: &'static str,
}

#[rustfmt::skip]
const PLACES: [Place; 9] = [
    Place { path: "crates/client/src/state.rs", words: &["COMMITTED", "COMPLETED", "PENDING", "FAILED", "ROLLED_BACK"], why: "the words of the HTTP contract, for clients" },
    Place { path: "crates/server/src/http/transfers/", words: &["PENDING"], why: "the contract's word for a transfer that has not ended" },
    Place { path: "crates/server/src/http/pages/openapi/examples.rs", words: &["COMMITTED", "PENDING", "FAILED", "ROLLED_BACK"], why: "examples of the API's description" },
    Place { path: "crates/api/src/account_transfers.rs", words: &["PENDING"], why: "an example of the API's description" },
    Place { path: "crates/server/src/cli/demo/", words: &["COMMITTED", "COMPLETED", "PENDING", "FAILED", "ROLLED_BACK", "TARGET_PENDING"], why: "the demo shows the flows internal and account" },
    Place { path: "crates/engine/src/state/case_kinds.rs", words: &["TARGET_PENDING"], why: "a kind of case, which has the name of a state" },
    Place { path: "crates/engine/src/watch/transfers.rs", words: &["TARGET_PENDING"], why: "the same kind" },
    Place { path: "crates/kernel/src/operators/mod.rs", words: &["PENDING"], why: "a proposal that is not decided" },
    Place { path: "crates/store/src/postgres/read/service_state.rs", words: &["accepted"], why: "a sort of row: the same breaks" },
];

/// All literals of states in the product's files, but those in a place of the list; and each place of
/// the list that says nothing of what it may.
pub(super) fn check(sources: &[Page]) -> Vec<Fault> {
    let states = named(sources);
    let mut faults = Vec::new();
    if states.is_empty() {
        faults.push(Fault::whole(
            FLOWS,
            "no state is found: this check reads `words! { pub State {`",
        ));
    }
    let mut said = BTreeSet::new();
    for Page { path, text } in sources.iter().filter(|page| of_the_product(&page.path)) {
        for (line, word) in literals(text) {
            let Some(flow) = states.get(word) else { continue };
            let place =
                PLACES.iter().position(|p| path.starts_with(p.path) && p.words.contains(&word));
            if let Some(place) = place {
                said.insert((place, word));
            } else {
                let what = format!(
                    "\"{word}\" is a state of the flow `{flow}`: ask its table (outcome, normal, start)"
                );
                faults.push(Fault::at(path, line, what));
            }
        }
    }
    for (n, place) in PLACES.iter().enumerate().filter(|_| !sources.is_empty()) {
        for word in place.words.iter().filter(|word| !said.contains(&(n, *word))) {
            faults.push(Fault::whole(
                place.path,
                format!("no longer says \"{word}\": strike it from the list"),
            ));
        }
    }
    faults
}

const FLOWS: &str = "crates/flows/src/";

/// Every state by its spelling, with its flow: the words of `pub State` in each flow's table.
fn named(sources: &[Page]) -> BTreeMap<&str, &str> {
    let mut states = BTreeMap::new();
    for Page { path, text } in sources {
        let flow = path.strip_prefix(FLOWS).and_then(|path| path.strip_suffix("/table.rs"));
        let list = text.split_once("pub State {").and_then(|(_, rest)| rest.split_once('}'));
        if let (Some(flow), Some((list, _))) = (flow, list) {
            let words = list.lines().filter_map(|line| line.split('"').nth(1));
            states.extend(words.map(|word| (word, flow)));
        }
    }
    states
}

fn of_the_product(path: &str) -> bool {
    let product = ["api", "client", "engine", "kernel", "ledgers", "links", "server", "store"];
    product.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")))
        && !path.ends_with("tests.rs")
}

/// The texts in quotes, with their lines: not in comments, not in the tests at the end of a file, not the
/// examples of the API's description.
fn literals(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = (1..).zip(text.lines()).take_while(|(_, line)| *line != "#[cfg(test)]");
    let code = code.filter(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.contains("(example = ")
    });
    code.flat_map(|(number, line)| {
        line.split('"').skip(1).step_by(2).map(move |word| (number, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "words! {\n    pub State {\n        Sent = 1 \"sent, seen\",\n        Gone = 2 \"GONE\",\n    }\n}\n";

    /// What is said of a file of the engine, beside one flow.
    fn said(path: &str, text: &str) -> Vec<String> {
        let page = |path: &str, text: &str| Page { path: path.to_owned(), text: text.to_owned() };
        let pages = [page("crates/flows/src/toy/table.rs", TABLE), page(path, text)];
        let strike = |fault: &String| !fault.contains("strike it");
        check(&pages).iter().map(Fault::to_string).filter(strike).collect()
    }

    #[test]
    fn a_state_is_named_in_its_flow_alone() {
        let text = "//! A file.\nlet is = name == \"GONE\";\nlet other = \"sent, seen\";\n";
        let found = said("crates/engine/src/a.rs", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("crates/engine/src/a.rs:2: \"GONE\" is a state of the flow `toy`")
        );
        assert_eq!(said("crates/flows/src/toy/text.rs", text), [""; 0]);
        assert_eq!(said("crates/engine/src/plan_tests.rs", text), [""; 0]);
        assert_eq!(said("crates/testing/sim/src/a.rs", text), [""; 0]);
    }

    #[test]
    fn words_that_only_hold_one_comments_tests_and_examples_are_none() {
        let text = "//! A file.\n// \"GONE\"\nlet a = \"GONE away\";\n#[schema(example = \"GONE\")]\n\
                    #[cfg(test)]\nlet b = \"GONE\";\n";
        assert_eq!(said("crates/engine/src/a.rs", text), [""; 0]);
    }

    #[test]
    fn a_place_of_the_list_says_what_it_may() {
        let found: Vec<String> = check(&[Page { path: "a.rs".to_owned(), text: String::new() }])
            .iter()
            .map(Fault::to_string)
            .collect();
        let words: usize = PLACES.iter().map(|place| place.words.len()).sum();
        assert_eq!(found.len(), words + 1, "{found:?}");
    }
}
