//! The macro that declares a section of the settings: keys with a kind, a default and a sentence. It generates the
//! struct, its defaults and the reference page from one declaration.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A text in quotes: `"…"`.
    Text,
    /// A text in quotes that is never shown: `"…"`.
    Secret,
    /// A number without quotes: `7`.
    Number,
    /// A word without quotes: `true` or `false`.
    Flag,
    /// `["…"]`; in a variable with commas.
    List,
    /// Keys of its own.
    Table,
}

/// One key of a section.
#[derive(Debug, Clone, Copy)]
pub struct SettingKey {
    /// The name as a file spells it, without its section.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What a value must be.
    pub kind: &'static str,
    /// How a value is written.
    pub shape: Shape,
    /// The keys below it, where it is a table.
    pub inner: &'static [SettingKey],
    /// It is a table with names of the operator's own choice above those keys.
    pub named: bool,
}

/// A type that a setting may have.
pub trait Setting {
    /// What a value must be, for a person.
    const KIND: &'static str;
    /// How a value is written.
    const SHAPE: Shape;
    /// The keys of a table.
    const KEYS: &'static [SettingKey] = &[];
    /// The names in this table are the operator's own.
    const NAMED: bool = false;
}

macro_rules! kinds {
    ($($kind:ty: $shape:ident = $text:literal),* $(,)?) => {
        $(impl Setting for $kind {
            const KIND: &'static str = $text;
            const SHAPE: Shape = Shape::$shape;
        })*
    };
}

kinds! {
    bool: Flag = "`true` or `false`",
    u16: Number = "a whole number from 0 to 65535",
    u32: Number = "a whole number from 0 to 4294967295",
    u64: Number = "a whole number from 0",
    usize: Number = "a whole number from 0",
    String: Text = "a text",
    PathBuf: Text = "a path",
    SocketAddr: Text = "an address with a port",
    Vec<String>: List = "a list of texts",
}

impl<T: Setting> Setting for Option<T> {
    const KIND: &'static str = T::KIND;
    const SHAPE: Shape = T::SHAPE;
    const KEYS: &'static [SettingKey] = T::KEYS;
    const NAMED: bool = T::NAMED;
}

impl<T: Setting> Setting for BTreeMap<String, T> {
    const KIND: &'static str = T::KIND;
    const SHAPE: Shape = T::SHAPE;
    const KEYS: &'static [SettingKey] = T::KEYS;
    const NAMED: bool = true;
}

/// A struct of settings: for each key its doc comment, its type, its default. Unknown keys are
/// refused when it is read.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $($(#[doc = $doc:literal])+ $key:ident: $kind:ty = $default:expr),* $(,)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $key: $kind),*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default),* }
            }
        }

        impl $crate::config::section::Setting for $name {
            const KIND: &'static str = "a table";
            const SHAPE: $crate::config::section::Shape = $crate::config::section::Shape::Table;
            const KEYS: &'static [$crate::config::section::SettingKey] = &[
                $($crate::config::section::SettingKey {
                    name: stringify!($key),
                    about: concat!($($doc),+),
                    kind: <$kind as $crate::config::section::Setting>::KIND,
                    shape: <$kind as $crate::config::section::Setting>::SHAPE,
                    inner: <$kind as $crate::config::section::Setting>::KEYS,
                    named: <$kind as $crate::config::section::Setting>::NAMED,
                }),*
            ];
        }
    };
}
pub(super) use section;

/// What the settings' types cannot say: collects each rule that does not hold.
#[derive(Debug, Default)]
pub struct SettingRules(Vec<Broken>);

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The key, with its section: `auth.issuer`.
    pub key: String,
    /// What the value would have to be.
    pub rule: String,
}

impl SettingRules {
    /// `key` keeps to the rule, where `holds`.
    pub fn need(&mut self, key: impl Into<String>, holds: bool, rule: &str) {
        if !holds {
            self.0.push(Broken { key: key.into(), rule: rule.to_owned() });
        }
    }

    /// What does not hold.
    pub fn broken(self) -> Vec<Broken> {
        self.0
    }
}
