//! Describes the events that endpoints of webhooks receive, for the `webhooks` section of the OpenAPI description.

use kernel::webhooks::{TEST_EVENT, event_types};
use serde_json::{Map, Value, json};

/// Every message that is sent to endpoints, by what it is about.
pub(super) fn described() -> Value {
    let all = event_types();
    let of = |about: &str| -> Vec<String> {
        all.iter().filter(|kind| kind.starts_with(about)).cloned().collect()
    };
    json!({
        "transfer": message("send_transfer_event", "A transfer ended", &of("transfer."), &transfer()),
        "case": message("send_case_event", "A case opened, or was closed", &of("case."), &case()),
        "test": message(
            "send_test_event",
            "An operator tests an endpoint",
            &[TEST_EVENT.to_owned()],
            &endpoint(),
        ),
    })
}

fn message(name: &str, summary: &str, kinds: &[String], data: &Value) -> Value {
    let header = |name: &str, about: &str| {
        json!({
            "name": name, "in": "header", "required": true, "description": about,
            "schema": { "type": "string" },
        })
    };
    json!({ "post": {
        "operationId": name,
        "summary": summary,
        "description": "Signed as Standard Webhooks says, and sent at least once, in no order.",
        "security": [],
        "parameters": [
            header("webhook-id", "The same at every try: an id that was seen before is no new event."),
            header("webhook-timestamp", "When this try was signed, in seconds since 1970. Refuse what is more than \
                five minutes away."),
            header("webhook-signature", "`v1,` and HMAC-SHA256 in base64 over `<id>.<timestamp>.<body>`; two with \
                a space between while a secret is rotated."),
        ],
        "requestBody": { "required": true, "content": { "application/json": { "schema": {
            "type": "object",
            "required": ["type", "timestamp", "data"],
            "properties": {
                "type": { "type": "string", "enum": kinds, "description": "What happened." },
                "timestamp": text("When it happened, RFC 3339 in UTC."),
                "data": data,
            },
        } } } },
        "responses": {
            "2XX": { "description": "Taken. Every other status but 410 is tried again." },
            "410": { "description": "The endpoint is gone: it is disabled." },
        },
    } })
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

fn optional(about: &str) -> Value {
    json!({ "type": ["string", "null"], "description": about })
}

/// An object of these fields, all of which are always there.
fn object(about: &str, properties: &Value) -> Value {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "description": about, "required": names, "properties": properties })
}

fn transfer() -> Value {
    object(
        "The transfer in the state in which it ended.",
        &json!({
            "req_id": text("The transfer's id."),
            "uuid": text("The same id as UUID text."),
            "flow": text("The flow, such as `internal`."),
            "state": text("The last state of the flow."),
            "outcome": text("How it ended: `completed`, `failed`, `rolled_back`, `kept` or `held`."),
            "owner": text("Whose transfer it is, such as `user:4001`."),
            "source": party("Where the money came from."),
            "target": party("Where the money went, or was to go."),
            "fee": text("In the unit of the source's asset."),
            "reference": optional("The client's own reference."),
            "error": optional("Of a transfer that moved nothing: why, as a code."),
            "created_at": text("When it was opened, RFC 3339 in UTC."),
            "ended_at": text("When it ended, RFC 3339 in UTC."),
        }),
    )
}

fn party(about: &str) -> Value {
    object(
        about,
        &json!({
            "system": text("The ledger or chain."),
            "account": text("The account there."),
            "asset": text("The symbol of the asset."),
            "amount": text("In the asset's unit."),
        }),
    )
}

fn case() -> Value {
    object(
        "The case at that moment.",
        &json!({
            "id": { "type": "integer", "format": "int64", "minimum": 0, "description": "The number of the case." },
            "kind": text("Which page of the runbook is about it."),
            "severity": text("`CRITICAL` or `WARNING`."),
            "subject": text("What it is about, such as `ledger/SPOT`."),
            "facts": text("What was found."),
            "status": text("`OPEN` or `CLOSED`."),
            "opened_at": text("When it opened, RFC 3339 in UTC."),
            "closed_at": optional("When it was closed, RFC 3339 in UTC."),
            "closed_by": optional("What closed it."),
        }),
    )
}

fn endpoint() -> Value {
    object(
        "The endpoint that is tested.",
        &json!({
            "endpoint": text("The id of the endpoint."),
            "description": text("What its operator wrote about it."),
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::described;
    use kernel::webhooks::{TEST_EVENT, event_types};
    use std::collections::BTreeSet;

    #[test]
    fn every_event_is_described_once() {
        let described = described();
        let messages = described.as_object().unwrap().values();
        let body = "/post/requestBody/content/application~1json/schema/properties/type/enum";
        let kinds = messages.flat_map(|message| message.pointer(body).unwrap().as_array().unwrap());
        let kinds: Vec<String> = kinds.map(|kind| kind.as_str().unwrap().to_owned()).collect();
        let all: BTreeSet<String> =
            event_types().into_iter().chain([TEST_EVENT.to_owned()]).collect();
        assert_eq!(kinds.len(), all.len());
        assert_eq!(kinds.into_iter().collect::<BTreeSet<_>>(), all);
    }
}
