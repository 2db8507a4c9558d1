//! Reads settings from `portage.toml`, with the line of every key.

use super::tree::{Origin, Tree};
use crate::config::ConfigError;
use serde_json::{Map, Value};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Reads the file into the tree.
///
/// # Errors
/// It cannot be read, or it is not TOML: the line.
pub(super) fn read(file: &Path, tree: &mut Tree) -> Result<(), ConfigError> {
    let text = std::fs::read_to_string(file)
        .map_err(|fault| ConfigError::Bad(format!("{}: {fault}", file.display())))?;
    let table = DeTable::parse(&text).map_err(|fault| {
        let line = line(&text, fault.span().map_or(0, |span| span.start));
        ConfigError::Bad(format!("{}:{line}: not TOML: {}", file.display(), fault.message()))
    })?;
    let place = |at: usize| Origin::line(file, line(&text, at));
    lay(table.get_ref(), &mut Vec::new(), tree, &place);
    Ok(())
}

/// The line of a place in a text, from 1.
fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn lay(
    table: &DeTable<'_>,
    path: &mut Vec<String>,
    tree: &mut Tree,
    place: &dyn Fn(usize) -> Origin,
) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        let origin = place(key.span().start);
        if let DeValue::Table(inner) = value.get_ref() {
            tree.set(path, Value::Object(Map::new()), origin);
            lay(inner, path, tree, place);
        } else {
            tree.set(path, json(value.get_ref()), origin);
        }
        path.pop();
    }
}

/// A TOML value as the settings take it. No setting is a date: it becomes what every kind refuses.
fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => whole(number.as_str(), number.radix()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Float(number) => Value::from(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(time) => serde_json::json!({ "a date": time.to_string() }),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let pairs = table.iter();
            let pairs =
                pairs.map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
            Value::Object(pairs.collect())
        }
    }
}

fn whole(digits: &str, radix: u32) -> Value {
    u64::from_str_radix(digits, radix)
        .map(Value::from)
        .or_else(|_| i64::from_str_radix(digits, radix).map(Value::from))
        .unwrap_or_else(|_| Value::from(digits.parse().unwrap_or(f64::MAX)))
}
