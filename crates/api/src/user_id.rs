//! Reads and writes the id of a user: a JSON string, in which every client keeps all digits.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOf, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The largest integer that a client whose numbers are IEEE 754 doubles keeps exact (RFC 8259, section 6).
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The id of a user. Written as a string of digits; read as one, or as an integer up to 2^53 - 1: what a client
/// sends above that may have become another number on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserIdText(pub u64);

/// The description of an id in a request, where an integer is taken too; the value itself is a [`UserIdText`].
#[derive(Debug)]
pub struct UserIdInput;

impl PartialSchema for UserIdInput {
    fn schema() -> RefOr<Schema> {
        let integer = ObjectBuilder::new()
            .schema_type(SchemaType::Type(Type::Integer))
            .minimum(Some(1))
            .maximum(Some(MAX_EXACT));
        let either = OneOf::builder()
            .description(Some("The id of a user: a string of digits, or an integer up to 2^53 - 1"))
            .examples(["4001"])
            .item(text_schema())
            .item(integer)
            .build();
        Schema::from(either).into()
    }
}

impl ToSchema for UserIdInput {}

fn text_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .pattern(Some("^[1-9][0-9]{0,18}$"))
        .description(Some("The id of a user, as a string of digits"))
        .examples(["4001"])
        .build()
}

impl PartialSchema for UserIdText {
    fn schema() -> RefOr<Schema> {
        text_schema().into()
    }
}

impl ToSchema for UserIdText {}

impl fmt::Display for UserIdText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Why a text is no user's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidUserId;

impl FromStr for UserIdText {
    type Err = InvalidUserId;

    fn from_str(text: &str) -> Result<Self, InvalidUserId> {
        let number: u64 = text.parse().map_err(|_: ParseIntError| InvalidUserId)?;
        if number.to_string() == text { Ok(Self(number)) } else { Err(InvalidUserId) }
    }
}

impl Serialize for UserIdText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UserIdText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOrInteger)
    }
}

struct TextOrInteger;

impl Visitor<'_> for TextOrInteger {
    type Value = UserIdText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a user's id, as a string of digits")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<UserIdText, E> {
        if number > MAX_EXACT {
            return Err(E::custom(
                "an integer above 2^53 - 1 loses digits in many clients: send it as a string",
            ));
        }
        Ok(UserIdText(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<UserIdText, E> {
        text.parse().map_err(|InvalidUserId| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_EXACT, UserIdText};

    /// Turns red where an integer that a double does not hold is a user (run: no bound: the first of the bad).
    #[test]
    fn an_id_keeps_its_digits() {
        let read = |text: &str| serde_json::from_str::<UserIdText>(text).map_err(|e| e.to_string());
        for (text, id) in [
            ("4001", 4001),
            ("\"4001\"", 4001),
            ("9007199254740991", MAX_EXACT),
            ("\"9007199254740993\"", 9_007_199_254_740_993),
            ("\"9223372036854775807\"", 9_223_372_036_854_775_807),
        ] {
            assert_eq!(read(text), Ok(UserIdText(id)), "{text}");
            assert_eq!(serde_json::to_string(&UserIdText(id)).unwrap(), format!("\"{id}\""));
        }
        for (text, says) in [
            ("9007199254740992", "send it as a string"),
            ("18446744073709551616", "floating point"),
            ("4001.0", "floating point"),
            ("-1", "integer `-1`"),
            ("\"04001\"", "digits"),
            ("\"+4001\"", "digits"),
            ("\"4001 \"", "digits"),
            ("\"\"", "digits"),
            ("null", "null"),
            ("[1]", "sequence"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
