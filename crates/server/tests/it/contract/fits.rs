//! Whether a value has the form that a schema asks for: as much of JSON Schema as our own forms use.

use serde_json::{Value, json};

/// Where and how a value does not fit its schema; `schemas` are those that it may name.
///
/// # Errors
/// The first field that does not fit.
pub(super) fn fits(value: &Value, schema: &Value, schemas: &Value) -> Result<(), String> {
    check(value, resolved(schemas, schema), schemas, "")
}

fn resolved<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|to| to.rsplit('/').next());
    name.map_or(schema, |name| &schemas[name])
}

fn check(value: &Value, schema: &Value, schemas: &Value, at: &str) -> Result<(), String> {
    let fault = |what: &str| Err(format!("{at}: {what}: {value}"));
    if schema.is_null() {
        return fault("no schema");
    }
    if let Some(all) = schema["oneOf"].as_array() {
        let one = |one: &&Value| check(value, resolved(schemas, one), schemas, at).is_ok();
        return match all.iter().filter(one).count() {
            1 => Ok(()),
            n => fault(&format!("fits {n} of the forms, not one")),
        };
    }
    if schema["type"].is_null() {
        return Ok(());
    }
    if !kinds(schema).iter().any(|kind| is(value, kind)) {
        return fault(&format!("not {}", schema["type"]));
    }
    if value.is_null() {
        return Ok(());
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return fault("none of the listed");
    }
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        check(item, resolved(schemas, &schema["items"]), schemas, &format!("{at}[{n}]"))?;
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if value.get(name).is_none() {
            return fault(&format!("`{name}` is missing"));
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => return fault(&format!("`{name}` is not listed")),
            (Value::Null, Value::Null | Value::Bool(true)) => (),
            (Value::Null, rest) => check(field, resolved(schemas, rest), schemas, &at)?,
            (listed, _) => check(field, resolved(schemas, listed), schemas, &at)?,
        }
    }
    Ok(())
}

fn kinds(schema: &Value) -> Vec<&str> {
    let kind = &schema["type"];
    let several = kind.as_array().into_iter().flatten().filter_map(Value::as_str);
    kind.as_str().into_iter().chain(several).collect()
}

fn is(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => kind == "number" || (kind == "integer" && !number.is_f64()),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let schemas = json!({
        "A": {
            "type": "object", "required": ["x"], "additionalProperties": false,
            "properties": {
                "x": {"type": ["integer", "null"]},
                "y": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            },
        },
    });
    let schema = json!({"$ref": "#/components/schemas/A"});
    let fault = |value| fits(&value, &schema, &schemas).unwrap_err();
    assert_eq!(fits(&json!({"x": null, "y": ["a"]}), &schema, &schemas), Ok(()));
    assert!(fault(json!({"y": []})).contains("`x` is missing"));
    assert!(fault(json!({"x": 1, "z": 1})).contains("`z` is not listed"));
    assert!(fault(json!({"x": 1.5})).starts_with(".x: not"));
    assert!(fault(json!({"x": 1, "y": ["a", "c"]})).starts_with(".y[1]: none of the listed"));
    assert!(fault(json!([])).contains("not \"object\""));
    let either = json!({"oneOf": [{"$ref": "#/components/schemas/A"}, {"type": "object"}]});
    assert!(fits(&json!({"x": 1}), &either, &schemas).unwrap_err().contains("fits 2"));
    assert_eq!(fits(&json!({}), &either, &schemas), Ok(()));
}
