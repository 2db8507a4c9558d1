//! Names as rows of words: `OpenDesk` and `open_desk` are both *open desk*.

/// The words of a line or a name, in lower case.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in text.chars() {
        let begins = c.is_uppercase() && after_lower;
        if (begins || !c.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The names that a line of code gives to modules and types.
pub(super) fn titles(code: &str) -> impl Iterator<Item = &str> {
    let tokens: Vec<&str> = code
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|token| !token.is_empty())
        .collect();
    let names = tokens.windows(2).filter_map(|pair| match pair {
        ["mod" | "struct" | "enum" | "trait" | "type", name] => Some(*name),
        _ => None,
    });
    names.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_rows_of_words() {
        assert_eq!(words_of("OpenDesk::let_go(HTTP2)"), ["open", "desk", "let", "go", "http2"]);
        assert_eq!(words_of("DESKS, in_flight"), ["desks", "in", "flight"]);
    }

    #[test]
    fn titles_are_what_modules_and_types_are_called() {
        let found: Vec<&str> = titles("pub(crate) struct Told<T: Said>(T);").collect();
        assert_eq!(found, ["Told"]);
        assert_eq!(titles("let made = shown;").count(), 0);
    }
}
