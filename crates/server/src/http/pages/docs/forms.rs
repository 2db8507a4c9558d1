//! Renders the forms of bodies: their fields, and a schema in a word or two.

use super::markdown::escaped;
use super::operation::{required_mark, text};
use super::sentence;
use serde_json::Value;

/// The section of all forms.
pub(super) fn section(api: &Value) -> String {
    let mut html = "<section id=\"forms\">\n<h2>Forms</h2>\n".to_owned();
    let forms = api.pointer("/components/schemas").and_then(Value::as_object);
    for (name, schema) in forms.into_iter().flatten() {
        html.push_str(&format!("<h3 id=\"{0}\">{0}</h3>\n", escaped(name)));
        html.push_str(&format!("<p>{}</p>\n{}", sentence(&schema["description"]), fields(schema)));
    }
    html.push_str("</section>\n");
    html
}

/// The fields of a form.
fn fields(schema: &Value) -> String {
    let Some(all) = schema["properties"].as_object() else { return variants(schema) };
    let needed = schema["required"].as_array();
    let row = |(name, field): (&String, &Value)| {
        let required = needed.is_some_and(|needed| needed.iter().any(|one| one == name));
        format!(
            "<tr><td><code>{}</code></td><td>{}</td><td>{}{}</td></tr>",
            escaped(name),
            kind(field),
            required_mark(required),
            sentence(&field["description"]),
        )
    };
    let rows: String = all.iter().map(row).collect();
    format!("<table><tr><th>field</th><th>is</th><th></th></tr>{rows}</table>\n")
}

fn variants(schema: &Value) -> String {
    let all = schema["oneOf"].as_array().into_iter().flatten().map(kind);
    let all: Vec<String> = all.collect();
    if all.is_empty() { String::new() } else { format!("<p>{}</p>\n", all.join(" or ")) }
}

/// A schema in a word or two, with a link to its form.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(form) = schema["$ref"].as_str().and_then(|to| to.rsplit('/').next()) {
        return format!("<a href=\"#{0}\">{0}</a>", escaped(form));
    }
    if let Some(all) = schema["oneOf"].as_array() {
        let all = all.iter().filter(|one| one["type"] != "null").map(kind);
        return all.collect::<Vec<_>>().join(" or ");
    }
    let name = match &schema["type"] {
        Value::Array(names) => names.iter().find(|name| *name != "null").cloned(),
        Value::String(name) => Some(Value::from(name.as_str())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let name = text(&name.unwrap_or_default());
    if name == "array" { format!("list of {}", kind(&schema["items"])) } else { name }
}
