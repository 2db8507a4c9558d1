//! Names in which a word of the dictionary may stand: users or stored data have them, so they cannot change.

/// A name that cannot change, and the files in which it stands.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Allowed {
    /// The word of the dictionary that the name contains.
    pub(super) word: String,
    /// The whole name, or the text.
    pub(super) name: String,
    pub(super) files: Vec<String>,
    /// What keeps the name from being changed.
    pub(super) why: String,
}

impl Allowed {
    /// A text without the name. A longer name that contains it stays.
    pub(super) fn without(&self, text: &str) -> String {
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut kept = String::with_capacity(text.len());
        let mut from = 0;
        for (at, name) in text.match_indices(&self.name) {
            let end = at + name.len();
            if text[..at].ends_with(part_of_name) || text[end..].starts_with(part_of_name) {
                continue;
            }
            kept.push_str(&text[from..at]);
            kept.push(' ');
            from = end;
        }
        kept.push_str(&text[from..]);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_goes() {
        let allowed = Allowed {
            word: "lifted".into(),
            name: "lifted_at".into(),
            files: Vec::new(),
            why: "a column".into(),
        };
        let text = "a.lifted_at = lifted_at_noon; // lifted_at\nlet lifted = not_lifted_at;\n";
        let kept = "a.  = lifted_at_noon; //  \nlet lifted = not_lifted_at;\n";
        assert_eq!(allowed.without(text), kept);
    }
}
