//! Completes the OpenAPI description: adds the answers that all routes of a kind share, and an example to each, so
//! that routes need not repeat them.

use super::{examples, webhooks};
use crate::http::middleware::error::{sentence, status};
use kernel::code::Code;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Completes a description: closed forms, every status, a code and an example for each, the server and the events
/// that it sends.
pub(super) fn complete(api: &mut Value) {
    let mut schemas = api.pointer_mut("/components/schemas").map(Value::take).unwrap_or_default();
    flatten(&mut schemas);
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.values_mut().for_each(close);
        codes(schemas);
    }
    let paths = api.get_mut("paths").and_then(Value::as_object_mut);
    for methods in paths.into_iter().flat_map(Map::values_mut) {
        for operation in methods.as_object_mut().into_iter().flat_map(Map::values_mut) {
            common(operation);
            operation.get_mut("parameters").into_iter().for_each(unsigned);
            described(operation, &schemas);
        }
    }
    if let Some(place) = api.pointer_mut("/components/schemas") {
        *place = schemas;
    }
    prune(api);
    if let Some(api) = api.as_object_mut() {
        let about = "The server that this description is read from";
        api.insert("servers".to_owned(), json!([{ "url": "/", "description": about }]));
        api.insert("webhooks".to_owned(), webhooks::described());
    }
}

/// The form of every error, and the one where a transfer comes with it.
const PROBLEM: &str = "#/components/schemas/Problem";

/// Where forms are listed, as a reference names one.
const FORMS: &str = "#/components/schemas/";

/// Forms that are made of others become one, or one of several that have names of their own: only a whole form can
/// be closed, and generators of clients make broken code of alternatives without names.
fn flatten(schemas: &mut Value) {
    let all = schemas.clone();
    let Some(schemas) = schemas.as_object_mut() else { return };
    let mut variants = Map::new();
    for (form, schema) in schemas.iter_mut() {
        if schema.get("allOf").is_none() {
            continue;
        }
        let about = schema["description"].clone();
        let mut wholes = wholes(&all, schema);
        let whole = if wholes.len() == 1 {
            wholes.remove(0).whole
        } else {
            let mut either = Vec::new();
            for Variant { name, whole } in wholes {
                either.push(json!({ "$ref": format!("{FORMS}{form}{name}") }));
                variants.insert(format!("{form}{name}"), whole);
            }
            json!({ "oneOf": either })
        };
        *schema = with_description(whole, about);
    }
    schemas.extend(variants);
}

/// A form that a schema may come to, with the names of the alternatives that were taken on the way.
struct Variant {
    name: String,
    whole: Value,
}

/// Every form that a schema may come to, whole.
fn wholes(all: &Value, schema: &Value) -> Vec<Variant> {
    let schema = resolved(all, schema);
    if let Some(either) = schema["oneOf"].as_array() {
        return either.iter().enumerate().flat_map(|(n, one)| alternative(all, n, one)).collect();
    }
    let Some(parts) = schema["allOf"].as_array() else {
        return vec![Variant { name: String::new(), whole: schema.clone() }];
    };
    let whole = json!({ "type": "object", "required": [], "properties": {} });
    let empty = vec![Variant { name: String::new(), whole }];
    parts.iter().fold(empty, |found, part| {
        let parts = wholes(all, part);
        let mut longer = Vec::new();
        for Variant { name, whole } in &found {
            for part in &parts {
                let name = format!("{name}{}", part.name);
                longer.push(Variant { name, whole: merged(whole, &part.whole) });
            }
        }
        longer
    })
}

/// The forms that one of several alternatives may come to; an alternative without a name or a title goes by its place.
fn alternative(all: &Value, place: usize, one: &Value) -> Vec<Variant> {
    let name = reference(one).or_else(|| one["title"].as_str());
    let name = name.map_or_else(|| place.to_string(), str::to_owned);
    let about = &resolved(all, one)["description"];
    let named = |found: Variant| Variant {
        name: format!("{name}{}", found.name),
        whole: with_description(found.whole, about.clone()),
    };
    wholes(all, one).into_iter().map(named).collect()
}

fn with_description(mut schema: Value, about: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), about);
    }
    schema
}

/// Leaves out the forms that nothing names: they were parts of forms that are whole now.
fn prune(api: &mut Value) {
    loop {
        let text = api.to_string();
        let named = text.split(FORMS).skip(1).filter_map(|rest| rest.split('"').next());
        let named: BTreeSet<&str> = named.collect();
        let schemas = api.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
        let Some(schemas) = schemas else { return };
        let before = schemas.len();
        schemas.retain(|name, _| named.contains(name.as_str()));
        if schemas.len() == before {
            return;
        }
    }
}

fn merged(whole: &Value, part: &Value) -> Value {
    let mut whole = whole.clone();
    if part["description"].is_string() {
        whole = with_description(whole, part["description"].clone());
    }
    let required = part["required"].as_array().into_iter().flatten().cloned();
    if let Some(all) = whole.get_mut("required").and_then(Value::as_array_mut) {
        all.extend(required);
    }
    let properties = part["properties"].as_object().into_iter().flatten();
    if let Some(all) = whole.get_mut("properties").and_then(Value::as_object_mut) {
        all.extend(properties.map(|(name, field)| (name.clone(), field.clone())));
    }
    whole
}

/// The form that a schema names, or itself.
pub(super) fn resolved<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
    reference(schema).map_or(schema, |name| &schemas[name])
}

/// The name of the form that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|to| to.rsplit('/').next())
}

/// No object has fields that are not listed.
fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.get("type").is_some_and(|kind| kind == "object")
            && object.contains_key("properties")
        {
            object.entry("additionalProperties").or_insert(Value::Bool(false));
        }
        object.values_mut().for_each(close);
    } else if let Some(all) = schema.as_array_mut() {
        all.iter_mut().for_each(close);
    }
}

/// A parameter that is never below zero goes up to twice the highest of its signed format.
fn unsigned(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        let wide = match object.get("format").and_then(Value::as_str) {
            Some("int32") => Some("uint32"),
            Some("int64") => Some("uint64"),
            _ => None,
        };
        let least = object.get("minimum").and_then(Value::as_f64);
        if let Some(wide) = wide.filter(|_| least.is_some_and(|least| least >= 0.0)) {
            object.insert("format".to_owned(), wide.into());
        }
        object.values_mut().for_each(unsigned);
    } else if let Some(all) = schema.as_array_mut() {
        all.iter_mut().for_each(unsigned);
    }
}

/// An error's code is one of the contract's; a transfer that failed carries its ledger's own word.
fn codes(schemas: &mut Map<String, Value>) {
    let all: Vec<Value> = Code::ALL.iter().map(|code| code.name().into()).collect();
    let problem = schemas.get_mut("Problem");
    let code = problem.and_then(|problem| problem.pointer_mut("/properties/code"));
    if let Some(code) = code.and_then(Value::as_object_mut) {
        code.insert("enum".to_owned(), Value::Array(all));
    }
}

/// The answers of every route that has a body, a path parameter, a token.
fn common(operation: &mut Value) {
    let has_body = operation["requestBody"].is_object();
    let has_place = operation["parameters"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["in"] == "path"));
    let guarded = operation["security"]
        .as_array()
        .is_some_and(|all| all.iter().any(|way| way.get("token").is_some()));
    let kinds = [
        (true, &["500"][..]),
        (has_body, &["400", "413", "415"]),
        (has_place, &["404"]),
        (guarded, &["400", "401", "403"]),
    ];
    let problem = json!({ "content": { "application/json": { "schema": { "$ref": PROBLEM } } } });
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    let Some(responses) = responses else { return };
    for status in kinds.into_iter().filter(|(has, _)| *has).flat_map(|(_, all)| all) {
        responses.entry(*status).or_insert_with(|| problem.clone());
    }
    if guarded {
        let about = "Tokens cannot be checked, nothing was begun: `OVERLOADED`";
        let mut stale = problem;
        if let Some(fields) = stale.as_object_mut() {
            fields.insert("description".to_owned(), about.into());
        }
        responses.entry("503").or_insert(stale);
    }
}

/// Each answer has a sentence and an example; an error one for every code that it may carry.
fn described(operation: &mut Value, schemas: &Value) {
    let forms = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
    let forms = forms.into_iter().flat_map(Map::values_mut);
    for content in forms.filter_map(Value::as_object_mut) {
        with_example(content, schemas);
    }
    let given = examples::given(operation);
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (number, response) in responses.into_iter().flatten() {
        let Some(response) = response.as_object_mut() else { continue };
        let about = response.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = about.to_owned();
        let named = named(&about);
        let codes = if named.is_empty() { usual(number) } else { named };
        if about.is_empty() {
            let sentence = codes.first().map_or("Done", |code| sentence(*code));
            response.insert("description".to_owned(), sentence.into());
        }
        let failed = !number.starts_with('2');
        let contents = response.get_mut("content").and_then(Value::as_object_mut);
        let contents = contents.into_iter().flat_map(Map::values_mut);
        for content in contents.filter_map(Value::as_object_mut) {
            content
                .get_mut("schema")
                .into_iter()
                .for_each(|schema| narrow(schema, &about, schemas));
            let Some(schema) = content.get("schema").cloned() else { continue };
            if failed && examples::is_problem(&schema, schemas) {
                let all = codes.iter().map(|code| {
                    let value = examples::problem(*code, &schema, schemas);
                    (code.name().to_owned(), json!({ "value": value }))
                });
                content.insert("examples".to_owned(), Value::Object(all.collect()));
            } else {
                with_example(content, schemas);
            }
            if let Some(example) = content.get_mut("example").filter(|_| !failed) {
                examples::repeat(&given, example);
                if number == "202" {
                    examples::pending(example);
                }
            }
        }
    }
}

/// Of the results of actions, those whose words the sentence names.
fn narrow(schema: &mut Value, about: &str, schemas: &Value) {
    if reference(schema) != Some("Done") {
        return;
    }
    let is_named = |one: &&Value| {
        let word = resolved(schemas, one).pointer("/properties/outcome/enum/0");
        words(about).any(|named| word.is_some_and(|word| word == named))
    };
    let results = schemas.pointer("/Done/oneOf").and_then(Value::as_array).into_iter().flatten();
    match results.filter(is_named).collect::<Vec<_>>().as_slice() {
        [] => {}
        [one] => *schema = (*one).clone(),
        several => *schema = json!({ "oneOf": several }),
    }
}

fn with_example(content: &mut Map<String, Value>, schemas: &Value) {
    let given = content.contains_key("example") || content.contains_key("examples");
    let example = content.get("schema").and_then(|schema| examples::of(schema, schemas));
    if let (false, Some(example)) = (given, example) {
        content.insert("example".to_owned(), example);
    }
}

/// The words that a sentence has in code.
fn words(about: &str) -> impl Iterator<Item = &str> {
    about.split('`').skip(1).step_by(2)
}

/// The codes that a sentence names.
fn named(about: &str) -> Vec<Code> {
    words(about).filter_map(Code::parse).collect()
}

/// The codes of a status where the route names none.
fn usual(number: &str) -> Vec<Code> {
    let usual: &[Code] = match number {
        "400" => &[Code::BadRequest],
        "404" => &[Code::NotFound],
        "503" => &[Code::Halted, Code::Overloaded],
        _ => Code::ALL,
    };
    let of = |code: &&Code| status(**code).as_str() == number;
    usual.iter().filter(of).copied().collect()
}
