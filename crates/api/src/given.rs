//! Fields of which `null` says something else than none at all.

use serde::{Deserialize, Deserializer};

/// Reads a field that is there, be it `null`.
pub(crate) fn given<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}
