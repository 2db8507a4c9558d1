//! Renders one route: what it does and needs, its answers, a curl line, and the fields to try it with.

use super::forms::kind;
use super::markdown::escaped;
use super::sentence;
use serde_json::Value;
use std::collections::BTreeMap;

/// One method of one path.
pub(super) struct Operation<'a> {
    pub path: &'a str,
    method: &'a str,
    about: &'a Value,
}

/// Every operation of a description, by path.
pub(super) fn all(api: &Value) -> Vec<Operation<'_>> {
    let paths = api["paths"].as_object().into_iter().flatten();
    let methods = paths.flat_map(|(path, methods)| {
        methods.as_object().into_iter().flatten().map(move |found| (path, found))
    });
    methods.map(|(path, (method, about))| Operation { path, method, about }).collect()
}

impl<'a> Operation<'a> {
    /// The name that the description gives it.
    pub(super) fn id(&self) -> &'a str {
        self.about["operationId"].as_str().unwrap_or_default()
    }

    /// The method in capitals.
    pub(super) fn verb(&self) -> String {
        self.method.to_uppercase()
    }

    /// A link to its place on the page.
    pub(super) fn link(&self) -> String {
        format!(
            "<span class=\"verb {}\">{}</span> <a href=\"#{}\"><code>{}</code></a>",
            self.method,
            self.verb(),
            escaped(self.id()),
            escaped(self.path),
        )
    }

    /// Status and sentence of each answer that is an error's.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let responses = self.about["responses"].as_object().into_iter().flatten();
        let about = |response: &'a Value| response["description"].as_str().unwrap_or_default();
        let all = responses.map(move |(status, response)| (status.as_str(), about(response)));
        all.filter(|(status, _)| !status.starts_with('2'))
    }

    /// Its section; errors that are said once for all routes are left out.
    pub(super) fn shown(&self, shared: &BTreeMap<(&str, &str), usize>) -> String {
        let about = self.about;
        let mut html = format!(
            "<section class=\"op\" id=\"{}\">\n<h3>{}</h3>\n\
             <p class=\"path\"><span class=\"verb {}\">{}</span> {}</p>\n<div class=\"sides\">\n<div>\n",
            escaped(self.id()),
            sentence(&about["summary"]),
            self.method,
            self.verb(),
            escaped(self.path),
        );
        if about["description"].is_string() {
            html.push_str(&format!("<p class=\"about\">{}</p>\n", sentence(&about["description"])));
        }
        html.push_str(&format!("<p class=\"faint\">{}</p>\n", needs(&about["security"])));
        html.push_str(&parameters(&about["parameters"]));
        if let Some(body) = self.body() {
            html.push_str(&format!("<p>Body: {}</p>\n", kind(&body["schema"])));
        }
        for (status, response) in about["responses"].as_object().into_iter().flatten() {
            if status.starts_with('2') {
                html.push_str(&answer(status, response));
            }
        }
        for (status, about) in self.errors().filter(|answer| !shared.contains_key(answer)) {
            let about = sentence(&Value::from(about));
            html.push_str(&format!("<p class=\"error\"><b>{}</b>{about}</p>\n", escaped(status)));
        }
        html.push_str("</div>\n<div>\n");
        html.push_str(&format!("<pre class=\"curl\">{}</pre>\n", escaped(&self.curl())));
        html.push_str(&self.fields());
        html.push_str("</div>\n</div>\n</section>\n");
        html
    }

    fn body(&self) -> Option<&'a Value> {
        self.about.pointer("/requestBody/content/application~1json")
    }

    fn body_text(&self) -> Option<String> {
        self.body().map(|body| serde_json::to_string_pretty(&body["example"]).unwrap_or_default())
    }

    /// Its parameters at one place: `path`, `query` or `header`.
    fn parameters(&self) -> impl Iterator<Item = &'a Value> {
        self.about["parameters"].as_array().into_iter().flatten()
    }

    /// The header that names a create or an action. A sample without it would be done twice where it is sent twice;
    /// a body that has the key itself needs none.
    fn key_header(&self) -> &'static str {
        let required = |one: &Value| one["required"] == true && one["name"] == "X-Idempotency-Key";
        if self.body_text().is_some_and(|body| body.contains("\"cid\"")) {
            ""
        } else if self.parameters().any(required) {
            "X-Idempotency-Key"
        } else {
            "Idempotency-Key"
        }
    }

    fn takes_token(&self) -> bool {
        let mut ways = self.about["security"].as_array().into_iter().flatten();
        ways.any(|way| way.get("token").is_some())
    }

    /// A command line that sends it, with what the description has as examples.
    fn curl(&self) -> String {
        let mut path = self.path.to_owned();
        let mut query = Vec::new();
        let mut more = String::new();
        for one in self.parameters() {
            let (name, value) = (one["name"].as_str().unwrap_or_default(), value(one));
            match one["in"].as_str().unwrap_or_default() {
                "path" => path = path.replace(&format!("{{{name}}}"), &value),
                "query" if one["required"] == true => query.push(format!("{name}={value}")),
                // the key of another operation's sample would be a contradiction
                "header" if name == self.key_header() => {
                    more.push_str(&format!(" \\\n  -H '{name}: {}-1'", self.id()));
                }
                "header" if one["required"] == true => {
                    more.push_str(&format!(" \\\n  -H '{name}: {value}'"));
                }
                _ => (),
            }
        }
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let method = match (self.method, self.body()) {
            ("get", _) | ("post", Some(_)) => String::new(),
            _ => format!(" -X {}", self.verb()),
        };
        let token =
            if self.takes_token() { " \\\n  -H \"Authorization: Bearer $TOKEN\"" } else { "" };
        let body = self.body_text().map(|text| {
            let text = text.replace('\'', "'\\''");
            format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d '{text}'")
        });
        format!("curl -s{method} \"$URL{path}{query}\"{token}{more}{}", body.unwrap_or_default())
    }

    /// The fields and the button that send it from the page.
    fn fields(&self) -> String {
        let field = |one: &Value| {
            let (name, place) = (text(&one["name"]), text(&one["in"]));
            let value = if one["in"] == "path" { escaped(&value(one)) } else { String::new() };
            let mark =
                if one["required"] == true { "" } else { " <span class=\"faint\">optional</span>" };
            let of = format!("data-in=\"{place}\" data-name=\"{name}\"");
            let field = if kind(&one["schema"]) == "boolean" {
                format!(
                    "<select {of}><option value=\"\">not sent</option><option>true</option>\
                     <option>false</option></select>"
                )
            } else {
                format!("<input {of} value=\"{value}\" autocomplete=\"off\" spellcheck=\"false\">")
            };
            format!("<label>{name}{mark}{field}</label>\n")
        };
        let fields: String = self.parameters().map(field).collect();
        let body = self.body_text().map(|text| {
            let rows = text.lines().count().clamp(3, 16);
            format!(
                "<label>Body<textarea data-in=\"body\" rows=\"{rows}\" spellcheck=\"false\">{}</textarea></label>\n",
                escaped(&text),
            )
        });
        let note = if self.method == "get" {
            ""
        } else {
            " <span class=\"faint\">This is no rehearsal: the server does it.</span>"
        };
        format!(
            "<details class=\"try scripted\" data-method=\"{}\" data-path=\"{}\">\n<summary>Try it</summary>\n\
             {fields}{}<p><button type=\"button\">Send</button>{note}</p>\n<output></output>\n</details>\n",
            self.verb(),
            escaped(self.path),
            body.unwrap_or_default(),
        )
    }
}

/// An example of a parameter, as text; its name in capitals where the description has none.
fn value(parameter: &Value) -> String {
    let given = [parameter.pointer("/example"), parameter.pointer("/schema/example")];
    match given.into_iter().flatten().find(|value| !value.is_null()) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => {
            let name = parameter.get("name").and_then(Value::as_str);
            name.unwrap_or_default().to_uppercase()
        }
    }
}

/// Which token the route takes.
fn needs(security: &Value) -> String {
    let ways = security.as_array().map(Vec::as_slice).unwrap_or_default();
    let scopes = ways.iter().find_map(|way| way["token"].as_array());
    let scopes: Vec<String> =
        scopes.into_iter().flatten().map(|scope| format!("<code>{}</code>", text(scope))).collect();
    let open = ways.iter().any(|way| way.as_object().is_some_and(serde_json::Map::is_empty));
    match (open, scopes.is_empty()) {
        (true, true) => "Open to all".to_owned(),
        (true, false) => format!("Scope {}, unless these pages are open", scopes.join(" or ")),
        (false, _) => format!("Scope {}", scopes.join(" or ")),
    }
}

fn parameters(all: &Value) -> String {
    let Some(all) = all.as_array() else { return String::new() };
    let row = |one: &Value| {
        format!(
            "<tr><td><code>{}</code></td><td class=\"faint\">{}</td><td>{}</td><td>{}{}</td></tr>",
            text(&one["name"]),
            text(&one["in"]),
            kind(&one["schema"]),
            required_mark(one["required"] == true),
            sentence(&one["description"]),
        )
    };
    let rows: String = all.iter().map(row).collect();
    format!("<table><tr><th>parameter</th><th>in</th><th>is</th><th></th></tr>{rows}</table>\n")
}

/// An answer that is no error's, with its example.
fn answer(status: &str, response: &Value) -> String {
    let content = response["content"].as_object().and_then(|content| content.iter().next());
    let head = format!("<b>{}</b>{}", escaped(status), sentence(&response["description"]));
    let Some((media, body)) = content else { return format!("<p>{head}</p>\n") };
    let inner = format!(
        "<p class=\"faint\">{} {}</p>\n{}",
        escaped(media),
        kind(&body["schema"]),
        example(&body["example"])
    );
    format!("<details><summary>{head}</summary>\n{inner}</details>\n")
}

/// A value as it is sent.
pub(super) fn example(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => format!("<pre>{}</pre>\n", escaped(text)),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            format!("<pre>{}</pre>\n", escaped(&text))
        }
    }
}

/// The mark of a field that may not be left out.
pub(super) const fn required_mark(required: bool) -> &'static str {
    if required { "<span class=\"must\">required</span> " } else { "" }
}

/// A text of the description, harmless in HTML.
pub(super) fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Operation, all};
    use serde_json::json;

    #[test]
    fn a_curl_line_has_what_the_route_needs() {
        let api = json!({ "paths": { "/a/{id}/b": { "post": {
            "operationId": "make_b",
            "security": [{ "token": ["ops:act"] }],
            "parameters": [
                { "name": "id", "in": "path", "required": true, "example": 7 },
                { "name": "day", "in": "query", "required": true },
                { "name": "limit", "in": "query" },
                { "name": "X-Key", "in": "header", "required": true, "example": "k-1" },
                { "name": "Idempotency-Key", "in": "header", "required": true },
            ],
            "requestBody": { "content": { "application/json": { "example": { "why": "it's due" } } } },
        } } } });
        let ops = all(&api);
        let [op] = ops.as_slice() else { panic!("one operation") };
        assert_eq!(
            op.curl(),
            "curl -s \"$URL/a/7/b?day=DAY\" \\\n  -H \"Authorization: Bearer $TOKEN\" \\\n  -H 'X-Key: k-1' \\\n  \
             -H 'Idempotency-Key: make_b-1' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\n  \"why\": \"it'\\''s due\"\n}'"
        );
        let about = json!({ "security": [{}] });
        let open = Operation { path: "/x", method: "delete", about: &about };
        assert_eq!(open.curl(), "curl -s -X DELETE \"$URL/x\"");
    }
}
