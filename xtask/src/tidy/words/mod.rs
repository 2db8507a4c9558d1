//! The vocabulary's ratchet: private words, crowded folders, type names that stand often, empty
//! documentation and tuple parameters may only become fewer, until none is left. Beside it, the phrases of
//! which there is none.

mod allowed;
mod counts;
mod dictionary;
mod measures;
mod names;
pub(super) mod phrases;
mod signatures;

use super::Fault;
use crate::tree::Page;
use crate::{Outcome, tree};
use counts::Counts;
use dictionary::Dictionary;

/// The counts that the tree may have.
const RATCHET: &str = "xtask/src/tidy/words/counts.toml";

/// What the tree has more, or fewer, of than the ratchet says.
pub(super) fn check(sources: &[Page]) -> Outcome<Vec<Fault>> {
    let words = Dictionary::read()?;
    let stored = Counts::read(&tree::read(&tree::root().join(RATCHET))?)?;
    let found = measure(&words, sources);
    let mut faults = found.compare(&stored, &|section, name| hint(&words, section, name));
    faults.extend(words.unused(sources));
    Ok(faults)
}

/// Lowers the ratchet to what the tree has now; a count that rose stays a fault.
pub(super) fn lower() -> Outcome {
    let words = Dictionary::read()?;
    let path = tree::root().join(RATCHET);
    let stored = Counts::read(&tree::read(&path)?)?;
    let lowered = stored.lowered(&measure(&words, &tree::pages(&[".rs"])?));
    std::fs::write(&path, lowered.text()).map_err(|fault| format!("{}: {fault}", path.display()))
}

/// Prints where a word of the dictionary stands.
pub(super) fn places(word: &str) -> Outcome {
    let words = Dictionary::read()?;
    let found = words.word(word);
    let (index, known) = found.ok_or_else(|| format!("`{word}` is not in the dictionary"))?;
    println!("`{word}`: write {}", known.instead);
    for Page { path, text } in &tree::pages(&[".rs"])? {
        for place in words.places(path, text).iter().filter(|place| place.word == index) {
            println!("{path}:{}", place.line);
        }
    }
    Ok(())
}

fn measure(words: &Dictionary, sources: &[Page]) -> Counts {
    let mut counts = Counts::default();
    let mut times = vec![0; words.words.len()];
    for Page { path, text } in sources {
        for place in words.places(path, text) {
            if let Some(times) = times.get_mut(place.word) {
                *times += 1;
            }
        }
    }
    for (word, times) in words.words.iter().zip(times) {
        counts.set("words", &word.word, times);
    }
    measures::folders(sources, &mut counts);
    measures::types(sources, &mut counts);
    measures::short_docs(sources, &mut counts);
    measures::tuples(sources, &mut counts);
    counts
}

fn hint(words: &Dictionary, section: &str, name: &str) -> String {
    match section {
        "words" => {
            let word = words.word(name).map(|(_, word)| word);
            let instead = word.map_or("another word", |word| &word.instead);
            let goal = if word.is_some_and(|word| word.first) { ", none may be left" } else { "" };
            format!("write {instead}{goal} (`cargo xtask tidy --word {name}` lists the places)")
        }
        "folders" => format!("at most {} files in a folder: split it", measures::FILES),
        "types" => "name each type by what it is".to_owned(),
        "tuples" => {
            "a parameter is no tuple: pass its parts, or a struct that names them".to_owned()
        }
        _ => "say what it does, or delete the line".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_goes_first_has_a_term_that_is_not_banned() {
        let words = Dictionary::read().unwrap();
        for word in &words.words {
            assert!(!word.instead.is_empty(), "{}", word.word);
        }
        assert!(words.words.iter().filter(|word| word.first).count() > 20);
        for allowed in &words.allowed {
            assert!(!allowed.why.is_empty(), "{}", allowed.name);
        }
    }

    #[test]
    fn one_more_is_a_fault_and_one_fewer_too() {
        let page =
            |text: &str| vec![Page { path: "crates/store/src/a.rs".into(), text: text.into() }];
        let words = Dictionary::read().unwrap();
        let one = measure(&words, &page("//! A page.\nstruct Desk;\n"));
        let two = measure(&words, &page("//! A page.\nstruct Desk;\nfn open_desk() {}\n"));
        let hint = |section: &str, name: &str| hint(&words, section, name);
        let more = two.compare(&one, &hint);
        assert!(more[0].to_string().contains("`desk` stands 2 times"), "{more:?}");
        assert!(more[0].to_string().contains("admin"), "{more:?}");
        let fewer = one.compare(&two, &hint);
        assert!(fewer[0].to_string().contains("--lower"), "{fewer:?}");
        assert!(one.compare(&one, &hint).is_empty());
    }
}
