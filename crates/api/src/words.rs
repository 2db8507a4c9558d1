//! Checks a client's own texts while it parses them: the reference and the metadata of a transfer.

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;

/// The most characters of a reference.
const REFERENCE: usize = 64;
/// The most names in the metadata.
const NAMES: usize = 8;
/// The most characters of a name.
const NAME: usize = 32;
/// The most characters of a value.
const VALUE: usize = 128;

/// Reads a reference, where one is given.
pub(crate) fn reference<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let read = Option::<Reference>::deserialize(from)?;
    Ok(read.map(|Reference(text)| text))
}

/// Reads metadata, where some is given.
pub(crate) fn metadata<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let read = Option::<Metadata>::deserialize(from)?;
    Ok(read.map(|Metadata(words)| words))
}

/// A client's own reference.
#[derive(Debug)]
struct Reference(String);

/// A client's own words.
#[derive(Debug)]
struct Metadata(BTreeMap<String, String>);

fn printable(text: &str, most: usize) -> bool {
    text.chars().count() <= most && !text.chars().any(char::is_control)
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.is_empty() || !printable(&text, REFERENCE) {
            return Err(D::Error::custom("1 to 64 characters, none of them a control"));
        }
        Ok(Self(text))
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Words)
    }
}

/// Reads metadata. A map of the library's would take the last of two equal names in silence.
struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of short strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
        let mut words = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, String>()? {
            let visible = name.bytes().all(|byte| byte.is_ascii_graphic());
            if name.is_empty() || name.len() > NAME || !visible {
                return Err(A::Error::custom("a name has 1 to 32 visible ASCII characters"));
            }
            if !printable(&value, VALUE) {
                return Err(A::Error::custom("a value has up to 128 characters, no controls"));
            }
            if words.insert(name, value).is_some() {
                return Err(A::Error::custom("a name that stands twice"));
            }
            if words.len() > NAMES {
                return Err(A::Error::custom("at most 8 names"));
            }
        }
        Ok(Metadata(words))
    }
}

#[cfg(test)]
mod tests {
    use super::{Metadata, Reference};

    #[test]
    fn a_reference_is_short_and_printable() {
        let read = |text: &str| serde_json::from_value::<Reference>(text.into()).is_ok();
        for good in ["x", "Rechnung 12 – März", &"é".repeat(64)] {
            assert!(read(good), "{good}");
        }
        for bad in ["", "a\nb", "\u{7f}", "\u{0}", &"x".repeat(65)] {
            assert!(!read(bad), "{bad:?}");
        }
    }

    #[test]
    fn metadata_is_few_short_strings() {
        let read = |text: &str| serde_json::from_str::<Metadata>(text).map_err(|e| e.to_string());
        let names = |n: usize| {
            let all: Vec<_> = (0..n).map(|name| format!("\"{name}\":\"\"")).collect();
            format!("{{{}}}", all.join(","))
        };
        let long = |name: usize, value: usize| {
            format!("{{\"{}\":\"{}\"}}", "n".repeat(name), "é".repeat(value))
        };
        for good in ["{}", &names(8), &long(32, 128), r#"{"a.b-c":"x y"}"#] {
            assert!(read(good).is_ok(), "{good}: {:?}", read(good));
        }
        for (bad, says) in [
            (r#"{"a":"1","a":"1"}"#, "twice"),
            (&names(9), "at most 8"),
            (&long(33, 1), "1 to 32"),
            (&long(1, 129), "up to 128"),
            (r#"{"":"x"}"#, "1 to 32"),
            (r#"{"a b":"x"}"#, "1 to 32"),
            (r#"{"é":"x"}"#, "1 to 32"),
            (r#"{"a":"x\u0000"}"#, "controls"),
            (r#"{"a":1}"#, "string"),
            (r#"{"a":null}"#, "string"),
            (r#"{"a":{}}"#, "string"),
            (r#"[["a","b"]]"#, "object"),
            (r#""a""#, "object"),
        ] {
            let why = read(bad).unwrap_err();
            assert!(why.contains(says), "{bad}: {why}");
        }
    }
}
