//! Describes the events that endpoints of webhooks receive, for the `webhooks` section of the OpenAPI description.

use crate::webhooks::event::{TestData, TransferData};
use crate::webhooks::message::CaseData;
use kernel::webhooks::{TEST_EVENT, event_types};
use serde_json::{Value, json};
use utoipa::PartialSchema;

/// Every message that is sent to endpoints, by what it is about.
pub(super) fn described() -> Value {
    let all = event_types();
    let of = |about: &str| -> Vec<String> {
        all.iter().filter(|kind| kind.starts_with(about)).cloned().collect()
    };
    json!({
        "transfer": message("send_transfer_event", "A transfer ended", &of("transfer."), &data::<TransferData<'_>>()),
        "case": message("send_case_event", "A case opened, or was closed", &of("case."), &data::<CaseData<'_>>()),
        "test": message(
            "send_test_event",
            "An operator tests an endpoint",
            &[TEST_EVENT.to_owned()],
            &data::<TestData<'_>>(),
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

/// The form of what an event carries, from the type that is sent.
fn data<D: PartialSchema>() -> Value {
    // made of plain texts and numbers, so it can be written
    serde_json::to_value(D::schema()).unwrap_or_default()
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
