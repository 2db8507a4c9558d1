//! A setting whose value is masked wherever settings are printed or logged.

use super::section::{Setting, Shape};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A text that is never shown.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

/// What is shown for it.
const MASK: &str = "********";

impl Secret {
    /// A secret of that text.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// True where none is set.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { MASK })
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(if self.0.is_empty() { "" } else { MASK })
    }
}

impl Setting for Secret {
    const KIND: &'static str = "a text";
    const SHAPE: Shape = Shape::Secret;
}
