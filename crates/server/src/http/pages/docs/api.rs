//! Renders the OpenAPI description as an HTML page.

use super::errors::page_of;
use super::markdown::{escaped, inline};
use serde_json::Value;

/// Everything between the page's head and its end.
pub(super) fn page(api: &Value) -> String {
    let info = &api["info"];
    let mut html = format!(
        "<p class=\"faint\"><a href=\"/openapi.json\">OpenAPI</a> · <a href=\"/docs/errors\">Error codes</a></p>\n\
         <h1>{} {}</h1>\n<p>{}</p>\n",
        said(&info["title"]),
        said(&info["version"]),
        plain(&info["description"]),
    );
    let all = operations(api);
    let tags: Vec<&Value> = api["tags"].as_array().into_iter().flatten().collect();
    html.push_str("<nav>\n");
    for tag in &tags {
        html.push_str(&format!("<h3>{}</h3>\n<ul>", plain(&tag["description"])));
        for op in all.iter().filter(|op| op.is_of(tag)) {
            html.push_str(&format!("<li>{}</li>", op.link()));
        }
        html.push_str("</ul>\n");
    }
    html.push_str("</nav>\n");
    for tag in &tags {
        html.push_str(&format!("<h2>{}</h2>\n", plain(&tag["description"])));
        for op in all.iter().filter(|op| op.is_of(tag)) {
            html.push_str(&op.shown());
        }
    }
    html.push_str("<h2>Forms</h2>\n");
    let forms = api.pointer("/components/schemas").and_then(Value::as_object);
    for (name, schema) in forms.into_iter().flatten() {
        html.push_str(&format!("<h3 id=\"{0}\">{0}</h3>\n", escaped(name)));
        html.push_str(&format!("<p>{}</p>\n{}", plain(&schema["description"]), fields(schema)));
    }
    html
}

/// One method of one path.
struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    about: &'a Value,
}

fn operations(api: &Value) -> Vec<Operation<'_>> {
    let paths = api["paths"].as_object().into_iter().flatten();
    let methods = paths.flat_map(|(path, methods)| {
        methods.as_object().into_iter().flatten().map(move |found| (path, found))
    });
    methods.map(|(path, (method, about))| Operation { path, method, about }).collect()
}

impl Operation<'_> {
    fn is_of(&self, tag: &Value) -> bool {
        self.about["tags"].as_array().is_some_and(|tags| tags.contains(&tag["name"]))
    }

    fn link(&self) -> String {
        format!(
            "<span class=\"verb {0}\">{1}</span> <a href=\"#{2}\"><code>{3}</code></a>",
            self.method,
            self.method.to_uppercase(),
            said(&self.about["operationId"]),
            escaped(self.path),
        )
    }

    fn shown(&self) -> String {
        let about = self.about;
        let mut html = format!(
            "<section class=\"op\" id=\"{}\">\n<h3>{}</h3>\n\
             <p class=\"path\"><span class=\"verb {}\">{}</span> {}</p>\n",
            said(&about["operationId"]),
            plain(&about["summary"]),
            self.method,
            self.method.to_uppercase(),
            escaped(self.path),
        );
        if about["description"].is_string() {
            html.push_str(&format!("<p>{}</p>\n", plain(&about["description"])));
        }
        html.push_str(&format!("<p class=\"faint\">{}</p>\n", needs(&about["security"])));
        html.push_str(&parameters(&about["parameters"]));
        if let Some(body) = about.pointer("/requestBody/content/application~1json") {
            let form = kind(&body["schema"]);
            html.push_str(&format!("<h4>Request: {form}</h4>\n{}", example(&body["example"])));
        }
        html.push_str("<h4>Answers</h4>\n");
        for (status, response) in about["responses"].as_object().into_iter().flatten() {
            html.push_str(&answer(status, response));
        }
        html.push_str("</section>\n");
        html
    }
}

/// Which token the route takes.
fn needs(security: &Value) -> String {
    let ways = security.as_array().map(Vec::as_slice).unwrap_or_default();
    let scopes = ways.iter().find_map(|way| way["token"].as_array());
    let scopes: Vec<String> =
        scopes.into_iter().flatten().map(|scope| format!("<code>{}</code>", said(scope))).collect();
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
            said(&one["name"]),
            said(&one["in"]),
            kind(&one["schema"]),
            must(one["required"] == true),
            plain(&one["description"]),
        )
    };
    let rows: String = all.iter().map(row).collect();
    format!("<table><tr><th>parameter</th><th>in</th><th>is</th><th></th></tr>{rows}</table>\n")
}

fn answer(status: &str, response: &Value) -> String {
    let content = response["content"].as_object().and_then(|content| content.iter().next());
    let head = format!(
        "<span class=\"status\">{}</span>{}",
        escaped(status),
        plain(&response["description"])
    );
    let Some((media, body)) = content else { return format!("<p>{head}</p>\n") };
    let mut inner =
        format!("<p class=\"faint\">{} {}</p>\n", escaped(media), kind(&body["schema"]));
    inner.push_str(&example(&body["example"]));
    for one in body["examples"].as_object().into_iter().flatten() {
        inner.push_str(&example(&one.1["value"]));
    }
    format!("<details><summary>{head}</summary>\n{inner}</details>\n")
}

fn example(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => format!("<pre>{}</pre>\n", escaped(text)),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            format!("<pre>{}</pre>\n", escaped(&text))
        }
    }
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
            must(required),
            plain(&field["description"]),
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

const fn must(required: bool) -> &'static str {
    if required { "<span class=\"must\">required</span> " } else { "" }
}

/// A schema in a word or two, with a link to its form.
fn kind(schema: &Value) -> String {
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
    let name = said(&name.unwrap_or_default());
    if name == "array" { format!("list of {}", kind(&schema["items"])) } else { name }
}

fn said(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

/// A sentence of the description, with its `code`; an error's code leads to its page.
fn plain(value: &Value) -> String {
    let html = inline(value.as_str().unwrap_or_default(), &|_| None);
    let linked = html.split("<code>").map(|part| match part.split_once("</code>") {
        Some((word, rest)) if page_of(word).is_some() => {
            format!("<a href=\"/docs/errors/{word}\"><code>{word}</code></a>{rest}")
        }
        Some((word, rest)) => format!("<code>{word}</code>{rest}"),
        None => part.to_owned(),
    });
    linked.collect()
}
