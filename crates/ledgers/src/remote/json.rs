//! Reads JSON as strictly as money needs it: no key stands twice, nothing follows the end, and a number
//! counts only where it is a whole one.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value. The depth is bounded by the reader (128).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Whole(u64),
    /// A number that is below zero, not whole, or too large.
    Odd,
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Json {
    /// Reads a whole body; `None` for anything that is not exactly one value.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// The value under a name of a map.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// The text under a name.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        if let Self::Text(text) = self.get(name)? { Some(text) } else { None }
    }

    /// The whole number under a name.
    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        if let Self::Whole(number) = self.get(name)? { Some(*number) } else { None }
    }

    /// The list under a name.
    pub(crate) fn list(&self, name: &str) -> Option<&[Self]> {
        if let Self::List(list) = self.get(name)? { Some(list) } else { None }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value without a key that stands twice")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Whole(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        Ok(u64::try_from(number).map_or(Json::Odd, Json::Whole))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Odd)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields: Vec<(String, Json)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Json>()? {
            // objects on this wire have about ten fields: a search from the front is the fastest,
            // and a body with many more is none of ours
            if fields.len() >= MOST_FIELDS || fields.iter().any(|(field, _)| *field == name) {
                return Err(Error::custom("a key stands twice, or there are too many"));
            }
            fields.push((name, value));
        }
        Ok(Json::Map(fields))
    }
}

/// More fields than any object of the contract has, with room for additions.
const MOST_FIELDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::Json;
    use serde::Deserialize;
    use serde::de::value::{BytesDeserializer, Error};

    /// What a reader of something else than JSON is told.
    #[test]
    fn bytes_are_no_value() {
        let said = Json::deserialize(BytesDeserializer::<Error>::new(b"x")).unwrap_err();
        assert!(said.to_string().contains("expected a JSON value"), "{said}");
    }

    #[test]
    fn a_value_is_read_exactly() {
        let json =
            Json::read(b" {\"a\":1,\"b\":\"x\",\"c\":[true,null],\"d\":-1,\"e\":1.0} ").unwrap();
        assert_eq!((json.whole("a"), json.text("b")), (Some(1), Some("x")));
        assert_eq!(json.list("c"), Some(&[Json::Flag(true), Json::Null][..]));
        assert_eq!((json.get("d"), json.get("e")), (Some(&Json::Odd), Some(&Json::Odd)));
        assert_eq!((json.whole("b"), json.text("a"), json.get("z")), (None, None, None));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_read() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let wide: Vec<_> = (0..65).map(|n| format!("\"f{n}\":0")).collect();
        let wide = format!("{{{}}}", wide.join(","));
        let bad = [
            "{\"success\":true,\"success\":false}",
            "{\"a\":{\"b\":1,\"b\":1}}",
            "{\"a\":1} {",
            "{\"a\":1}x",
            "{\"a\":01}",
            "{'a':1}",
            "{\"a\":NaN}",
            "{\"a\":1,}",
            "{\"a\":\"\\ud800\"}",
            "",
            &deep,
            &wide,
        ];
        for text in bad {
            assert_eq!(Json::read(text.as_bytes()), None, "{text:.60}");
        }
        assert_eq!(Json::read(b"{\"a\":\"\xff\"}"), None);
        // an escaped key is the same key
        assert_eq!(Json::read(b"{\"a\":1,\"\\u0061\":2}"), None);
    }
}
