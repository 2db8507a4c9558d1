//! Principals are callers, written `issuer|subject`. This module says when two of them are one person, for
//! the four-eyes rule, the checks of tokens, and the scopes of clients' keys.
//!
//! The issuer holds no `|` (the settings refuse one), so the first `|` parts both. A subject may hold any
//! number of them, as those of some identity providers do (`auth0|5f7c`).

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, WhiteSpace};
use icu_properties::{CodePointMapData, CodePointSetData};
use std::sync::Arc;

/// The longest subject, in bytes (OpenID Connect Core §2: 255 ASCII characters).
const LONGEST: usize = 255;

/// The subject of a principal; of one without an issuer, the whole.
pub fn subject(principal: &str) -> &str {
    principal.split_once('|').map_or(principal, |(_, subject)| subject)
}

/// Why a subject names no principal: it goes into logs, keys and the audit, where two that look alike must
/// be one.
///
/// # Errors
/// A sentence for the log.
pub fn fit_subject(subject: &str) -> Result<(), &'static str> {
    let white = CodePointSetData::new::<WhiteSpace>();
    let outer = |end: Option<char>| end.is_some_and(|end| white.contains(end));
    if !(1..=LONGEST).contains(&subject.len()) {
        Err("sub is empty or above 255 bytes")
    } else if outer(subject.chars().next()) || outer(subject.chars().next_back()) {
        Err("sub begins or ends with a space")
    } else if subject.chars().any(unseen) {
        Err("sub holds a character that cannot be seen (control, format, ignorable, unassigned)")
    } else {
        Ok(())
    }
}

/// True for what shows nothing, or nothing that stays the same: control (Cc), format (Cf), line and
/// paragraph separators, code points without a meaning yet, for private use, or to be ignored.
fn unseen(one: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(one);
    matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::Unassigned
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(one)
}

/// A subject as it is compared: without case, width, compatibility forms, what is not seen, and
/// spaces around it, and with one space where there are more (Unicode §3.13, `toNFKC_Casefold`). Stored for a
/// day at most: a later release of Unicode may fold more.
fn folded(subject: &str) -> String {
    let (apart, together) =
        (DecomposingNormalizerBorrowed::new_nfkd(), ComposingNormalizerBorrowed::new_nfkc());
    let white = CodePointSetData::new::<WhiteSpace>();
    let fold = |text: &str| {
        let seen = |one: &char| white.contains(*one) || !unseen(*one);
        let seen: String = apart.normalize(text).chars().filter(seen).collect();
        together.normalize(&CaseMapper::new().fold_string(&seen)).into_owned()
    };
    // what was folded may have other compatibility forms; a second round ends it
    let twice = fold(&fold(subject));
    let words = twice.split(|one| white.contains(one)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The person behind a principal, as two of them are compared: the same text for all that are one. Only
/// for what lives as short as a day.
pub fn person(principal: &str) -> String {
    folded(subject(principal))
}

/// True where two principals are one person: the same subject, under whatever issuer, as
/// `toNFKC_Casefold` compares them.
pub fn same_person(one: &str, other: &str) -> bool {
    one == other || person(one) == person(other)
}

/// A person's key of an action where one text has to hold both: no two (principal, key) share it.
/// `|` and `%` of the subject are written as in a URL; for a subject without them it is
/// `issuer|subject|key`.
pub fn action_key(principal: &str, key: &str) -> String {
    let issuer = principal.split_once('|').map_or("", |(issuer, _)| issuer);
    let subject = subject(principal).replace('%', "%25").replace('|', "%7C");
    format!("{issuer}|{subject}|{key}")
}

/// The scopes under which a principal's keys may be bound: new ones under the first. `issuers` are
/// all that the service ever took, the oldest first; a principal of another issuer has its own name
/// alone.
pub fn key_scopes(principal: &Arc<str>, issuers: &[Arc<str>]) -> Vec<Arc<str>> {
    let known =
        principal.split_once('|').filter(|(issuer, _)| issuers.iter().any(|i| **i == **issuer));
    match known {
        Some((_, subject)) => {
            issuers.iter().map(|issuer| format!("{issuer}|{subject}").into()).collect()
        }
        None => vec![Arc::clone(principal)],
    }
}

#[cfg(test)]
mod tests {
    use super::{action_key, fit_subject, key_scopes, same_person, subject};

    #[test]
    fn the_first_bar_parts_issuer_and_subject() {
        assert_eq!(subject("portage|ada"), "ada");
        assert_eq!(subject("https://login|auth0|5f7c"), "auth0|5f7c");
        assert_eq!(subject("engine"), "engine");
    }

    #[test]
    fn what_looks_alike_is_one_person() {
        let alike = [
            "portage|mallory",
            "other|mallory",
            "portage|mallory\u{200b}",
            "portage|\u{feff}mal\u{ad}lory",
            "portage|mallory\u{fe0f}",
            "portage|mallo\u{34f}ry\u{3164}",
            "portage|Mallory",
            "portage|ＭＡＬＬＯＲＹ",
            "portage| mallory\u{a0}",
        ];
        for other in alike {
            assert!(same_person(alike[0], other) && same_person(other, alike[0]), "{other:?}");
        }
        for (one, other) in
            [("straße", "STRASSE"), ("é", "e\u{301}"), ("ﬁ", "FI"), ("ΌΣΟΣ", "όσος")]
        {
            assert!(same_person(&format!("a|{one}"), &format!("b|{other}")), "{one} {other}");
        }
        for other in ["portage|mallory2", "mallory|portage", "portage|auth0|mallory", "portage|"] {
            assert!(!same_person(alike[0], other), "{other}");
        }
        // a reader does not count the spaces between two words
        for other in ["x|bob  smith", "x|bob\u{a0} smith", "x|bob\tsmith", "x| Bob \u{2009} smith "]
        {
            assert!(same_person("x|bob smith", other), "{other:?}");
        }
        assert!(!same_person("x|bob smith", "x|bobsmith"));
        // no subject is another's only because an issuer's name stands in it
        assert!(!same_person("a|b|c", "a|c"));
    }

    #[test]
    fn a_subject_is_seen_as_it_is() {
        for fit in
            ["4001", "svc-a", "auth0|5f7c", "Ada Lovelace", "straße", "日本", &"x".repeat(255)]
        {
            assert_eq!(fit_subject(fit), Ok(()), "{fit}");
        }
        let unfit = [
            "",
            " ",
            " ada",
            "ada ",
            "ada\u{a0}",
            "\u{3000}ada",
            "a\nb",
            "a\0",
            "a\u{85}",
            "a\u{200b}",
            "a\u{202e}b",
            "\u{feff}a",
            "a\u{ad}b",
            "a\u{2028}b",
            "a\u{3164}b",
            "a\u{fe0f}",
            "a\u{e0041}",
            "a\u{e000}",
            "a\u{378}",
            "a\u{ffff}",
            &"x".repeat(256),
        ];
        for unfit in unfit {
            assert!(fit_subject(unfit).is_err(), "{unfit:?}");
        }
    }

    #[test]
    fn no_two_persons_share_the_key_of_an_action() {
        assert_eq!(action_key("portage|ada", "k|1"), "portage|ada|k|1");
        let all = [
            ("p|a", "b|c"),
            ("p|a|b", "c"),
            ("p|a%7Cb", "c"),
            ("p|a%257Cb", "c"),
            ("p|", "a|b|c"),
            ("p", "a|b|c"),
        ];
        let keys: std::collections::BTreeSet<_> =
            all.iter().map(|(who, key)| action_key(who, key)).collect();
        assert_eq!(keys.len(), all.len(), "{keys:?}");
    }

    #[test]
    fn a_key_of_a_former_issuer_is_found_and_new_ones_stay_where_they_were() {
        let issuers = ["a".into(), "b".into(), "c".into()];
        let scopes = |who: &str| key_scopes(&who.into(), &issuers);
        for who in ["a|x|1", "b|x|1", "c|x|1"] {
            let found: Vec<String> = scopes(who).iter().map(|scope| (**scope).to_owned()).collect();
            assert_eq!(found, ["a|x|1", "b|x|1", "c|x|1"], "{who}");
        }
        assert_eq!(scopes("d|x"), ["d|x".into()]);
        assert_eq!(scopes("chain"), ["chain".into()]);
        assert_eq!(key_scopes(&"a|x".into(), &[]), ["a|x".into()]);
    }
}
