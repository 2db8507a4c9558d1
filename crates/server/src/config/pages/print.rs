//! Prints the effective settings as TOML, in the order of their declaration.

use crate::config::section::SettingKey;
use crate::config::sources::Origin;
use serde_json::Value;

/// The settings as TOML that can be read again, but for its masked secrets. `origin` says for a
/// path who gave it; it becomes a comment.
pub fn toml(
    config: &Value,
    keys: &[SettingKey],
    origin: &dyn Fn(&str) -> Option<Origin>,
) -> String {
    let mut text = String::new();
    table(config, keys, "", origin, &mut text);
    text
}

fn table(
    value: &Value,
    keys: &[SettingKey],
    above: &str,
    origin: &dyn Fn(&str) -> Option<Origin>,
    text: &mut String,
) {
    let path =
        |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
    let (plain, tables): (Vec<&SettingKey>, Vec<&SettingKey>) =
        keys.iter().partition(|key| key.inner.is_empty() && !key.named);
    if !plain.is_empty() {
        text.push_str(&format!("[{above}]\n"));
        for key in plain {
            text.push_str(&line(key.name, value.get(key.name), origin(&path(key.name))));
        }
        text.push('\n');
    }
    for key in tables {
        let Some(inner) = value.get(key.name) else { continue };
        let path = path(key.name);
        if !key.named {
            table(inner, key.inner, &path, origin, text);
            continue;
        }
        let named = inner.as_object().into_iter().flatten();
        if key.inner.is_empty() {
            text.push_str(&format!("[{path}]\n"));
            for (name, value) in named {
                text.push_str(&line(name, Some(value), origin(&format!("{path}.{name}"))));
            }
            text.push('\n');
        } else {
            for (name, value) in named {
                table(value, key.inner, &format!("{path}.{name}"), origin, text);
            }
        }
    }
}

/// One key; one that is not set is a comment.
fn line(name: &str, value: Option<&Value>, origin: Option<Origin>) -> String {
    let said = match value {
        None | Some(Value::Null) => format!("# {name} is not set"),
        // texts, numbers and lists of them are the same in TOML as in JSON
        Some(value) => format!("{name} = {value}"),
    };
    match origin {
        Some(origin) => format!("{said}  # {origin}\n"),
        None => format!("{said}\n"),
    }
}
