//! Checks JSON texts from outside before they are parsed: no object has a name twice, and nothing is nested too
//! deep.

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// The deepest nesting of lists and objects.
pub const DEEPEST: usize = 16;
/// A name that is repeated back must not make the sentence long.
const SHOWN: usize = 64;

/// Checks that no object has a name twice and nothing lies deeper than [`DEEPEST`]. Readers differ
/// in which of two equal names they take, so a text with both means two things.
///
/// # Errors
/// The library's own, or one that names what is wrong.
pub fn plain(text: &[u8]) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    Plain(0).deserialize(&mut reader)?;
    reader.end()
}

/// A value with its nesting depth.
#[derive(Clone, Copy)]
struct Plain(usize);

impl Plain {
    fn below<E: Error>(self) -> Result<Self, E> {
        if self.0 < DEEPEST {
            return Ok(Self(self.0.saturating_add(1)));
        }
        Err(E::custom(format_args!("nested deeper than {DEEPEST}")))
    }
}

impl<'de> DeserializeSeed<'de> for Plain {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Plain {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        let inner = self.below()?;
        while all.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        let inner = self.below()?;
        let mut names = BTreeSet::new();
        while let Some(Name(name)) = all.next_key::<Name<'de>>()? {
            if let Some(twice) = names.replace(name) {
                let shown: String = twice.chars().take(SHOWN).collect();
                return Err(A::Error::custom(format_args!("duplicate field `{shown}`")));
            }
            all.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// A name, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::{DEEPEST, plain};

    fn fault(text: &str) -> String {
        plain(text.as_bytes()).map_or_else(|fault| fault.to_string(), |()| String::new())
    }

    #[test]
    fn a_name_stands_once_at_every_level() {
        for good in [r#"{"a":1,"b":{"a":[{"a":null},{"a":-1.5}]},"c":"x","d":true}"#, "[]", "1"] {
            assert_eq!(fault(good), "", "{good}");
        }
        for bad in [
            r#"{"a":1,"a":1}"#,
            r#"{"x":{"a":1,"b":2,"a":3}}"#,
            r#"[{"a":1},{"a":1,"\u0061":1}]"#,
            r#"{"a":{},"\u0061":{}}"#,
        ] {
            assert!(fault(bad).starts_with("duplicate field `a`"), "{bad}: {}", fault(bad));
        }
        let long = "n".repeat(5000);
        assert!(fault(&format!("{{\"{long}\":1,\"{long}\":1}}")).len() < 120);
        assert!(!fault("{\"a\":1} {}").is_empty() && !fault("").is_empty());
    }

    #[test]
    fn nothing_lies_deeper_than_sixteen() {
        let lists = |deep: usize| format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        let objects = |deep: usize| format!("{}1{}", "{\"a\":".repeat(deep), "}".repeat(deep));
        assert_eq!(fault(&lists(DEEPEST)), "");
        assert_eq!(fault(&objects(DEEPEST)), "");
        for deep in [DEEPEST + 1, 100, 7000] {
            assert!(fault(&lists(deep)).starts_with("nested deeper than 16"));
            assert!(fault(&objects(deep)).starts_with("nested deeper than 16"));
        }
    }
}
