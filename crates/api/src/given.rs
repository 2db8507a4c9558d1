//! Parses optional fields of which `null` means something else than a missing field.

use serde::{Deserialize, Deserializer};

/// Reads a field that is there, be it `null`.
pub(crate) fn given<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}
