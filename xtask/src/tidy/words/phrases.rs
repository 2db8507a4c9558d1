//! Phrases that a reader who learns English does not understand. They may stand in no line of a file: neither in
//! comments and strings of Rust nor in Markdown pages.

use super::super::Fault;

/// The first word of such a phrase.
const FIRST: &str = "so";
/// The words that make a phrase of it.
const SECOND: [&str; 4] = ["many", "much", "long", "often"];

const INSTEAD: &str = "say the number, `maximum number of …`, `how long …`, `as long as`";

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
    pairs
        .map(|(line, word)| Fault::at(path, line, format!("`{FIRST} {word}`: {INSTEAD}")))
        .collect()
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
    fn other_words_and_sentences_pass() {
        let text = "/// As long as it is @. Many do @, often.\nlet also = [\"also many\", \"@\", \"long\"];\n\
                    /// How often, how long and @ that.\nlet @_far = @me_many;\n";
        assert_eq!(lines(text), [0; 0]);
    }
}
