//! Changes single places of an endpoint's own answer: a lie that is otherwise the truth.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One place of an answer, and its change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The place in the result, as `/keys/*/access_key/nonce`: a field, an index, or `*` for each. An answer without
    /// it stays as it is.
    pub at: String,
    #[serde(flatten)]
    pub change: Change,
}

/// What becomes of one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is this value.
    Set(Value),
    /// The number is higher by this value, or lower where the value is negative.
    Add(i64),
}

impl Edit {
    pub fn set(at: &str, value: Value) -> Self {
        Self { at: at.to_owned(), change: Change::Set(value) }
    }

    pub fn add(at: &str, amount: i64) -> Self {
        Self { at: at.to_owned(), change: Change::Add(amount) }
    }

    pub(crate) fn apply(&self, answer: &mut Value) {
        let steps: Vec<&str> = self.at.split('/').skip(1).collect();
        change(answer, &steps, &self.change);
    }
}

fn change(value: &mut Value, steps: &[&str], to: &Change) {
    let Some((step, rest)) = steps.split_first() else {
        match to {
            Change::Set(other) => *value = other.clone(),
            Change::Add(amount) => {
                if let Some(number) = value.as_u64() {
                    *value = number.saturating_add_signed(*amount).into();
                }
            }
        }
        return;
    };
    match value {
        Value::Object(fields) if *step == "*" => {
            fields.values_mut().for_each(|field| change(field, rest, to));
        }
        Value::Array(list) if *step == "*" => {
            list.iter_mut().for_each(|item| change(item, rest, to));
        }
        Value::Object(fields) => {
            if let Some(field) = fields.get_mut(*step) {
                change(field, rest, to);
            }
        }
        Value::Array(list) => {
            let item = step.parse().ok().and_then(|at: usize| list.get_mut(at));
            if let Some(item) = item {
                change(item, rest, to);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Turns red where a place is missed, or made where there was none.
    #[test]
    fn places_that_are_there_are_changed() {
        let mut answer = json!({"keys": [{"nonce": 7}, {"nonce": 9}], "height": 3});
        Edit::add("/keys/*/nonce", 2).apply(&mut answer);
        Edit::set("/keys/1/key", json!("k")).apply(&mut answer);
        let written = json!({"at": "/height", "set": "high"});
        serde_json::from_value::<Edit>(written).unwrap().apply(&mut answer);
        Edit::add("/none/0", 1).apply(&mut answer);
        assert_eq!(answer, json!({"keys": [{"nonce": 9}, {"nonce": 11}], "height": "high"}));
    }
}
