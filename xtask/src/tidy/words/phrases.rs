//! Phrases that a reader who learns English does not understand. They may stand in no line of a file: neither in
//! comments and strings of Rust nor in Markdown pages.

use super::super::Fault;

/// The first word of such a phrase.
const FIRST: &str = "so";
/// The words that make a phrase of it.
const SECOND: [&str; 4] = ["many", "much", "long", "often"];

const INSTEAD: &str = "say the number, `maximum number of …`, `how long …`, `as long as`";

/// Sentences that left a reader asking what they mean: the words of each, and what to say instead.
const RIDDLES: [(&str, &str); 12] = [
    ("make|a|transfer|or|ask|for|one", "name the actions: create, show, list"),
    ("how|messages|do", "say what is shown: lag, the outbox, parked keys"),
    ("what|was|published|sent|again", "say `publish … again`"),
    ("what|this|release|needs", "say `upgrade to this release`"),
    ("carry|transfers|that|others|open", "say that a worker executes transfers"),
    ("questions|for|a|person", "say `cases`"),
    ("until|a|person|lifts|it", "say `pauses that are in force`"),
    ("there|is|nothing|here", "say what was looked for"),
    ("the|request|does|not|fit", "say that it is not valid, and why"),
    ("as|things|stand", "say `in the present state`"),
    ("strands|any|of|it", "say `leaves any of it stuck`"),
    ("accounts|of|the|pipeline", "say `numbered accounts`"),
];

/// What may stand between the words where a phrase is broken over two lines.
const MARKS: [&str; 6] = ["//", "///", "//!", "*", ">", "\\"];

/// A fault for each phrase in a file, at the line in which it begins.
pub(in crate::tidy) fn check(path: &str, text: &str) -> Vec<Fault> {
    let words: Vec<(usize, &str)> = (1..)
        .zip(text.lines())
        .flat_map(|(line, text)| words_of(text).map(move |word| (line, word)))
        .collect();
    let pairs = words.windows(2).filter_map(|pair| match pair {
        [(line, first), (_, second)] => Some((*line, phrase(first, second)?)),
        _ => None,
    });
    let pairs =
        pairs.map(|(line, word)| Fault::at(path, line, format!("`{FIRST} {word}`: {INSTEAD}")));
    pairs.chain(riddles(path, &words)).collect()
}

/// A fault for each riddle among the words of a file.
fn riddles(path: &str, words: &[(usize, &str)]) -> Vec<Fault> {
    let sign = |c: char| !c.is_alphanumeric();
    let plain: Vec<(usize, String)> = words
        .iter()
        .map(|(line, word)| (*line, word.trim_matches(sign).to_ascii_lowercase()))
        .filter(|(_, word)| !word.is_empty())
        .collect();
    let mut faults = Vec::new();
    for (riddle, instead) in RIDDLES {
        let wanted: Vec<&str> = riddle.split('|').collect();
        for found in plain.windows(wanted.len()) {
            if found.iter().zip(&wanted).all(|((_, word), wanted)| word == wanted)
                && let Some((line, _)) = found.first()
            {
                let text = riddle.replace('|', " ");
                faults.push(Fault::at(path, *line, format!("`{text}`: {instead}")));
            }
        }
    }
    faults
}

/// The words of a line with the signs around them, without the marks of comments.
fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().filter(|word| !MARKS.contains(word))
}

/// The second word of the phrase, where these two words are one. A sign between them parts them.
fn phrase(first: &str, second: &str) -> Option<&'static str> {
    let sign = |c: char| !c.is_alphanumeric();
    let begins = first.rsplit(sign).next()?.eq_ignore_ascii_case(FIRST);
    let second = second.split(sign).next()?;
    SECOND.into_iter().find(|word| begins && word.eq_ignore_ascii_case(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the faults in a text that has `FIRST` for each `@`.
    fn lines(text: &str) -> Vec<usize> {
        check("a.rs", &text.replace('@', FIRST)).iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn each_phrase_is_found_in_comments_strings_and_pages() {
        for word in SECOND {
            let text = format!(
                "/// For @ {word}.\nlet a = \"(@ {word})\"; // @ {word}\n| **@ {word}** |\n"
            );
            assert_eq!(lines(&text), [1, 2, 2, 3], "{word}");
        }
        assert_eq!(lines(&"One\n@ Many-th.\n".replace('@', &FIRST.to_uppercase())), [2]);
        let fault = check("a.md", &format!("It waits {FIRST} long.\n")).remove(0).to_string();
        assert_eq!(fault, format!("a.md:1: `{FIRST} long`: {INSTEAD}"));
    }

    #[test]
    fn a_phrase_over_two_lines_is_found_where_it_begins() {
        assert_eq!(lines("//! A page.\n    /// Waits @\n    /// long.\n"), [2]);
        assert_eq!(lines("let a = \"it waits @ \\\n    long\";\n"), [1]);
        assert_eq!(lines("> It waits @\n> long.\n"), [1]);
    }

    #[test]
    fn each_riddle_is_found_also_over_two_lines() {
        for (riddle, _) in RIDDLES {
            let text = riddle.replace('|', " ");
            assert_eq!(check("a.md", &format!("One.\n{text}, two.\n")).len(), 1, "{riddle}");
            let broken = text.replacen(' ', "\n    /// ", 1);
            assert_eq!(check("a.rs", &format!("/// \"{broken}\"")).len(), 1, "{riddle}");
        }
        assert_eq!(lines("/// There is something here.\n"), [0; 0]);
    }

    #[test]
    fn other_words_and_sentences_pass() {
        let text = "/// As long as it is @. Many do @, often.\nlet also = [\"also many\", \"@\", \"long\"];\n\
                    /// How often, how long and @ that.\nlet @_far = @me_many;\n";
        assert_eq!(lines(text), [0; 0]);
    }
}
