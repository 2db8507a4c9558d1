//! The words that must go, where one of them stands, and where it may.

use super::super::Fault;
use super::allowed::Allowed;
use super::names::{titles, words_of};
use crate::Outcome;
use crate::tree::Page;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The dictionary's own file.
const DICTIONARY: &str = "xtask/src/tidy/words/dictionary.toml";

/// A word that must go.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Word {
    /// One word, or the parts of a name joined by `_`.
    pub(super) word: String,
    /// The term that takes its place.
    pub(super) instead: String,
    /// None may be left at the end.
    #[serde(default)]
    pub(super) first: bool,
    /// It counts in documentation lines too.
    #[serde(default)]
    prose: bool,
    #[serde(default)]
    at: At,
    /// The folders in which it counts; everywhere where none is named.
    #[serde(default)]
    under: Vec<String>,
}

/// Of what a word may not be a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum At {
    /// Of any name in the code.
    #[default]
    Names,
    /// Of the name of a file, a module or a type, as a whole.
    Titles,
}

#[derive(Debug, serde::Deserialize)]
struct File {
    word: Vec<Word>,
    allowed: Vec<Allowed>,
}

/// All words that must go, found by their first part.
#[derive(Debug)]
pub(super) struct Dictionary {
    pub(super) words: Vec<Word>,
    pub(super) allowed: Vec<Allowed>,
    by_first_part: BTreeMap<String, Vec<usize>>,
}

/// Where a word of the dictionary stands in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its index in the dictionary.
    pub(super) word: usize,
    /// Counted from 1; 0 for the file's own name.
    pub(super) line: usize,
}

impl Dictionary {
    /// The dictionary beside this file.
    pub(super) fn read() -> Outcome<Self> {
        let file: File = toml::from_str(include_str!("dictionary.toml"))
            .map_err(|fault| format!("the dictionary of words: {fault}"))?;
        Ok(Self::of(file.word, file.allowed))
    }

    fn of(words: Vec<Word>, allowed: Vec<Allowed>) -> Self {
        let mut by_first_part: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, word) in words.iter().enumerate() {
            let first = word.parts().next().unwrap_or_default();
            by_first_part.entry(first.to_owned()).or_default().push(index);
        }
        Self { words, allowed, by_first_part }
    }

    /// The word of that spelling.
    pub(super) fn word(&self, spelling: &str) -> Option<(usize, &Word)> {
        self.words.iter().enumerate().find(|(_, word)| word.word == spelling)
    }

    /// Each line of a file in which a word stands outside the names that the file may have, once for a
    /// word.
    pub(super) fn places(&self, path: &str, text: &str) -> Vec<Place> {
        let here = |allowed: &&Allowed| allowed.files.iter().any(|file| file == path);
        let names = self.allowed.iter().filter(here);
        let counted = names.fold(Cow::from(text), |text, name| name.without(&text).into());
        self.all_places(path, &counted)
    }

    /// A fault for each file in which a name is allowed that does not stand there, or is no place of its
    /// word.
    pub(super) fn unused(&self, sources: &[Page]) -> Vec<Fault> {
        let mut faults = Vec::new();
        for allowed in &self.allowed {
            let index = self.word(&allowed.word).map(|(index, _)| index);
            for file in &allowed.files {
                let count = |text: &str| {
                    let places = self.all_places(file, text);
                    places.iter().filter(|place| Some(place.word) == index).count()
                };
                let used = |page: &Page| count(&allowed.without(&page.text)) < count(&page.text);
                if !sources.iter().any(|page| page.path == *file && used(page)) {
                    let Allowed { word, name, why, .. } = allowed;
                    let what = format!(
                        "`{name}` ({why}) is allowed for `{word}` in {file}, and does not stand there"
                    );
                    faults.push(Fault::whole(DICTIONARY, what));
                }
            }
        }
        faults
    }

    /// Each line of a file in which a word stands, once for a word. Each name is split once, since
    /// there are some million of them.
    fn all_places(&self, path: &str, text: &str) -> Vec<Place> {
        // the ratchet's own texts name the words
        if path.starts_with("xtask/src/tidy/") {
            return Vec::new();
        }
        let mut found = Vec::new();
        if let Some(stem) = path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")) {
            let stem = words_of(stem);
            let words = self.among(path, &stem, |word| word.at == At::Names || word.is(&stem));
            found.extend(words.into_iter().map(|word| Place { word, line: 0 }));
        }
        for (line, text) in (1..).zip(text.lines()) {
            let words = self.in_line(path, text.trim_start());
            found.extend(words.into_iter().map(|word| Place { word, line }));
        }
        found
    }

    fn in_line(&self, path: &str, line: &str) -> BTreeSet<usize> {
        if line.starts_with("///") || line.starts_with("//!") {
            return self.among(path, &words_of(line), |word| word.prose);
        }
        let code = line.split_once("// ").map_or(line, |(code, _)| code);
        let mut found = self.among(path, &words_of(code), |word| word.at == At::Names);
        for title in titles(code).map(words_of) {
            found.extend(self.among(path, &title, |word| word.at == At::Titles && word.is(&title)));
        }
        found
    }

    /// The words that stand in a row of words and meet a condition.
    fn among(&self, path: &str, row: &[String], meets: impl Fn(&Word) -> bool) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (at, part) in row.iter().enumerate() {
            let singular = part.strip_suffix('s').unwrap_or(part);
            let known = [self.by_first_part.get(part), self.by_first_part.get(singular)];
            for index in known.into_iter().flatten().flatten() {
                let word = self.words.get(*index);
                let rest = row.get(at..).unwrap_or_default();
                if word.is_some_and(|word| word.begins(rest) && word.counts(path) && meets(word)) {
                    found.insert(*index);
                }
            }
        }
        found
    }
}

impl Word {
    fn parts(&self) -> impl Iterator<Item = &str> {
        self.word.split('_')
    }

    fn counts(&self, path: &str) -> bool {
        self.under.is_empty() || self.under.iter().any(|under| path.starts_with(under))
    }

    /// Whether a name is the word and no more.
    fn is(&self, name: &[String]) -> bool {
        self.parts().eq(name)
    }

    /// Whether a row of words begins with it; its last part may have a plural's s.
    fn begins(&self, row: &[String]) -> bool {
        let same = |(part, word): (&str, &String)| {
            word == part || word.strip_suffix('s').is_some_and(|singular| singular == part)
        };
        self.parts().count() <= row.len() && self.parts().zip(row).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(word: &str, path: &str, text: &str) -> Vec<usize> {
        let dictionary = Dictionary::of(vec![toml::from_str(word).unwrap()], Vec::new());
        dictionary.places(path, text).iter().map(|place| place.line).collect()
    }

    #[test]
    fn a_word_is_found_in_names_and_where_asked_in_prose() {
        let text = "//! Desks.\nstruct OpenDesk;\nlet desktop = 1; // a desk\n";
        let prose = "word = 'desk'\ninstead = 'admin'\nprose = true";
        assert_eq!(lines(prose, "crates/a/src/desk.rs", text), [0, 1, 2]);
        let quiet = "word = 'desk'\ninstead = 'admin'";
        assert_eq!(lines(quiet, "crates/a/src/b.rs", text), [2]);
        let phrase = "word = 'let_go'\ninstead = 'release'";
        assert_eq!(
            lines(phrase, "a.rs", "outlet.going();\nself.row_let_go();\nlet go = 1;\n"),
            [2, 3]
        );
    }

    #[test]
    fn a_title_is_a_whole_name_of_a_file_a_module_or_a_type() {
        let told = "word = 'told'\ninstead = 'x'\nat = 'titles'";
        let text =
            "//! A page.\nmod told;\npub(crate) struct Told<T>(T);\nlet told = told_off();\n";
        assert_eq!(lines(told, "crates/a/src/told.rs", text), [0, 2, 3]);
        assert!(lines(told, "crates/a/src/told_off.rs", "").is_empty());
    }

    fn with_a_column(files: &str) -> Dictionary {
        let allowed = format!("word = 'lifted'\nname = 'lifted_at'\nwhy = 'a column'\n{files}");
        let word = toml::from_str("word = 'lifted'\ninstead = 'resumed'").unwrap();
        Dictionary::of(vec![word], vec![toml::from_str(&allowed).unwrap()])
    }

    #[test]
    fn a_name_is_allowed_in_its_files_and_the_word_itself_nowhere() {
        let dictionary = with_a_column("files = ['a.rs']");
        let text = "let sql = \"SELECT lifted_at\";\nlet lifted = lifted_at;\n";
        let lines = |path| -> Vec<usize> {
            dictionary.places(path, text).iter().map(|place| place.line).collect()
        };
        assert_eq!(lines("a.rs"), [2]);
        assert_eq!(lines("b.rs"), [1, 2]);
    }

    #[test]
    fn a_name_that_is_allowed_where_it_does_not_stand_is_a_fault() {
        let page = |path: &str, text: &str| Page { path: path.into(), text: text.into() };
        let sources = [page("a.rs", "a.lifted_at();\n"), page("b.rs", "a.resumed_at();\n")];
        assert!(with_a_column("files = ['a.rs']").unused(&sources).is_empty());
        let faults = with_a_column("files = ['a.rs', 'b.rs', 'c.rs']").unused(&sources);
        let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
        assert!(faults.len() == 2 && faults[0].contains("in b.rs"), "{faults:?}");
        let mut other = with_a_column("files = ['a.rs']");
        other.allowed[0].word = "raised".into();
        assert_eq!(other.unused(&sources).len(), 1, "it is no word of the dictionary");
    }

    #[test]
    fn a_word_counts_under_its_folders_and_not_in_the_ratchet() {
        let form = "word = 'form'\ninstead = 'x'\nunder = ['crates/server/']";
        assert_eq!(lines(form, "crates/server/src/form.rs", ""), [0]);
        assert!(lines(form, "crates/kernel/src/form.rs", "").is_empty());
        assert!(lines("word = 'desk'\ninstead = 'x'", "xtask/src/tidy/desk.rs", "").is_empty());
    }
}
