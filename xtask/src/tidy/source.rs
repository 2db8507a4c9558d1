//! What every Rust file keeps to: a first line that says what it is for, a length, and no banned words.

use super::Fault;

/// Longer files hide things. Functions are clippy's business (`too_many_lines`).
const LONGEST: usize = 600;

/// A word that must not stand in the files under `folder`, and why.
struct Ban {
    word: &'static str,
    folder: &'static str,
    why: &'static str,
    /// Whether a comment may say the word, to explain its absence.
    comments_too: bool,
}

const fn anywhere(word: &'static str, why: &'static str) -> Ban {
    Ban { word, folder: "", why, comments_too: true }
}

const fn within(folder: &'static str, word: &'static str, why: &'static str) -> Ban {
    Ban { word, folder, why, comments_too: false }
}

const ORDER: &str = "iteration order differs from run to run: BTreeMap";
const PURE: &str = "this crate has no runtime, clock or randomness";

// Written in halves where the text itself would be found.
const BANS: [Ban; 17] = [
    anywhere(concat!("to", "do!("), "finish it, or leave it out"),
    anywhere(concat!("unimpl", "emented!("), "finish it, or leave it out"),
    anywhere(concat!("#[ig", "nore"), "a test that does not run proves nothing"),
    anywhere(concat!("FIX", "ME"), "mend it now"),
    anywhere(concat!("db", "g!("), "left over from a search"),
    within("", concat!("un", "safe"), "forbidden in the whole workspace"),
    within("crates/kernel/", "tokio", PURE),
    within("crates/kernel/", "SystemTime", PURE),
    within("crates/kernel/", "Instant", PURE),
    within("crates/kernel/", "rand", PURE),
    within("crates/kernel/", "HashMap", ORDER),
    within("crates/flows/", "tokio", PURE),
    within("crates/flows/", "SystemTime", PURE),
    within("crates/flows/", "Instant", PURE),
    within("crates/flows/", "rand", PURE),
    within("crates/flows/", "HashMap", ORDER),
    within("crates/testing/sim/", "HashMap", ORDER),
];

/// All rules over one Rust file.
pub(super) fn check(path: &str, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !text.starts_with("//! ") {
        faults.push(Fault::at(path, 1, "the first line says what the file is for: `//! …`"));
    }
    let lines = text.lines().count();
    if lines > LONGEST {
        faults.push(Fault::whole(path, format!("{lines} lines, at most {LONGEST}: split it")));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let bans = BANS.iter().filter(|ban| path.starts_with(ban.folder));
        for ban in bans.filter(|ban| broken(line, ban)) {
            faults.push(Fault::at(path, number, format!("`{}`: {}", ban.word, ban.why)));
        }
    }
    faults
}

fn broken(line: &str, ban: &Ban) -> bool {
    if ban.comments_too { line.contains(ban.word) } else { has_word(code(line), ban.word) }
}

/// The line without its comment. A `//` after a colon is taken for an address inside a string.
fn code(line: &str) -> &str {
    let comment = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    comment.map_or(line, |(at, _)| &line[..at])
}

/// Whether the word stands there by itself, not as a part of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        check(path, text).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_good_file_passes() {
        let text = "//! A page.\n\n// No HashMap here, and nothing random.\nfn randomly() {}\n";
        assert_eq!(faults("crates/kernel/src/a.rs", text), [""; 0]);
    }

    #[test]
    fn a_file_says_first_what_it_is_for() {
        let found = faults("xtask/src/a.rs", "use std::fmt;\n");
        assert_eq!(found, ["xtask/src/a.rs:1: the first line says what the file is for: `//! …`"]);
        assert_eq!(faults("xtask/src/a.rs", "").len(), 1);
    }

    #[test]
    fn a_file_has_an_end() {
        let text = format!("//! Long.\n{}", "\n".repeat(LONGEST));
        assert_eq!(faults("a.rs", &text), ["a.rs: 601 lines, at most 600: split it"]);
        assert_eq!(faults("a.rs", text.strip_suffix('\n').unwrap()), [""; 0]);
    }

    #[test]
    fn every_ban_is_found_where_it_holds() {
        for ban in &BANS {
            let text = format!("//! A page.\nlet x = {};\n", ban.word);
            let inside = faults(&format!("{}src/a.rs", ban.folder), &text);
            assert!(inside.iter().any(|fault| fault.contains(ban.word)), "{}", ban.word);
            if !ban.folder.is_empty() {
                assert_eq!(faults("crates/server/src/a.rs", &text), [""; 0], "{}", ban.word);
            }
        }
    }

    #[test]
    fn comments_may_explain_but_not_put_off() {
        let text = "//! A page.\nlet url = \"http://x\"; let m = HashMap::new(); // why\n";
        assert_eq!(faults("crates/testing/sim/src/a.rs", text).len(), 1);
        let later = format!("//! A page.\n// {}: later\n", concat!("FIX", "ME"));
        assert_eq!(faults("crates/server/src/a.rs", &later).len(), 1);
    }
}
