//! The export for compliance: every event of the transfers that messages carry, with its place in the
//! chain of hashes and whether the audit had its message.

use super::{none_offered, time};
use crate::http::admin::cursor;
use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::problem::Problem;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use engine::messaging::AuditRow;
use kernel::audit::hex;
use kernel::ids::Serial;
use kernel::ports::admin_queries::Search;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The transfers of a page.
const PAGE: usize = 100;
/// The header that has the cursor of the next page.
const NEXT: HeaderName = HeaderName::from_static("portage-next");

/// Which transfers are exported, and how.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    /// Opened at or after this time, RFC 3339.
    from: String,
    /// Opened before this time, RFC 3339.
    to: String,
    /// `jsonl` or `csv`; `jsonl` where nothing is said. The first page of `csv` has the names of the columns.
    format: Option<String>,
    /// The header `portage-next` of the page before.
    cursor: Option<String>,
}

/// A line of the export.
#[derive(Debug, Serialize)]
struct ExportLine {
    transfer_id: String,
    sequence: u32,
    at: String,
    from_state: Option<String>,
    to_state: String,
    event: String,
    caller: Option<String>,
    detail: Option<String>,
    from_account: String,
    to_account: String,
    amount: String,
    currency: String,
    prev_hash: String,
    hash: String,
    message_id: Option<String>,
    topic: Option<String>,
    audited: Option<bool>,
}

const COLUMNS: &str = "transfer_id,sequence,at,from_state,to_state,event,caller,detail,from_account,\
to_account,amount,currency,prev_hash,hash,message_id,topic,audited";

/// The route, for the description and the server.
pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(export))
}

/// The events of transfers that messages carry, newest transfers first, a page of them: as JSON Lines or
/// CSV. `audited` is null where no message reports the event, and where the journal has forgotten whether it came. The header `portage-next` has the cursor of the next page, where there may be one.
#[utoipa::path(
    get, path = "/api/v1/ops/pipeline/export", tag = "ops", params(ExportQuery),
    operation_id = "export_pipeline", security(("token" = ["ops:read"])),
    responses(
        (status = 200, content_type = "application/x-ndjson", body = String, description = "A page; `text/csv` where that is asked for", example = "{\"transfer_id\":\"018f3c1e-0000-8000-8000-000000000007\",\"sequence\":0}\n"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No flow that messages carry is offered here: `NOT_FOUND`"),
    )
)]
async fn export(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<ExportQuery>,
) -> Result<Response, Refusal> {
    let csv = match query.format.as_deref() {
        None | Some("jsonl") => false,
        Some("csv") => true,
        Some(_) => return Err(Refusal::bad("`format`: `jsonl` or `csv`")),
    };
    let flow = app.engine.messaging.audited_flow().ok_or_else(none_offered)?;
    let search = Search {
        flow: Some(flow),
        since: Some(time("from", &query.from)?),
        until: Some(time("to", &query.to)?),
        before: cursor(query.cursor.as_deref())?.map(Serial),
        limit: PAGE,
        ..Search::default()
    };
    let records = app.admin_queries.transfers(search).await.map_err(no_answer("export"))?;
    let last = records.last().filter(|_| records.len() == PAGE).and_then(|last| last.serial);
    let rows = app.engine.messaging.audit_rows(&records).await.map_err(no_answer("export"))?;
    let mut text = String::new();
    if csv && query.cursor.is_none() {
        text.push_str(COLUMNS);
        text.push('\n');
    }
    for row in &rows {
        let line = line(&app, row);
        // texts and numbers: it can be written
        let line = if csv {
            comma_separated(&line)
        } else {
            serde_json::to_string(&line).unwrap_or_default()
        };
        text.push_str(&line);
        text.push('\n');
    }
    let kind = if csv { "text/csv; charset=utf-8" } else { "application/x-ndjson" };
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    if let Some(value) = last.and_then(|last| last.to_string().parse().ok()) {
        response.headers_mut().insert(NEXT, value);
    }
    Ok(response)
}

fn line(app: &App, row: &AuditRow<'_>) -> ExportLine {
    let table = app.engine.flows().table(row.record.flow);
    let state = |code: i16| {
        table.coded(code).map_or_else(|| code.to_string(), |s| table.state(s).name.to_owned())
    };
    let (entry, terms) = (&row.linked.entry, &row.record.terms);
    let (currency, precision) = format::asset(&app.engine.assets(), terms.source.asset);
    ExportLine {
        transfer_id: format::uuid(row.record.id),
        sequence: entry.seq,
        at: format::time(entry.at),
        from_state: entry.from.map(state),
        to_state: state(entry.to),
        event: entry.event.clone(),
        caller: entry.caller.clone(),
        detail: entry.detail.clone(),
        from_account: terms.source.account.to_string(),
        to_account: terms.target.account.to_string(),
        amount: terms.source.amount.decimal(precision),
        currency,
        prev_hash: hex(&row.linked.prev),
        hash: hex(&row.linked.hash),
        message_id: row.message.map(|message| format::uuid(kernel::ids::Id(message.number))),
        topic: row.message.map(|message| message.topic.to_owned()),
        audited: row.message.and_then(|message| message.audited),
    }
}

/// A line of CSV (RFC 4180). A cell that a spreadsheet would take for a formula begins with a quote.
fn comma_separated(line: &ExportLine) -> String {
    let value = serde_json::to_value(line).unwrap_or_default();
    let cell = |name: &str| {
        let text = match value.get(name) {
            None | Some(serde_json::Value::Null) => String::new(),
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let text = if formula { format!("'{text}") } else { text };
        let plain = !text.contains([',', '"', '\n', '\r']);
        if plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
    };
    COLUMNS.split(',').map(cell).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, ExportLine, comma_separated};

    /// Turns red where a comma, a quote or the end of a line in a text moves the columns behind it.
    #[test]
    fn a_text_stays_in_its_column() {
        let line = ExportLine {
            transfer_id: "id".into(),
            sequence: 1,
            at: "now".into(),
            from_state: None,
            to_state: "FAILED".into(),
            event: "OPERATOR".into(),
            caller: Some("=cmd|calc".into()),
            detail: Some("a \"b\", c\nd".into()),
            from_account: "A".into(),
            to_account: "B".into(),
            amount: "1.00".into(),
            currency: "USD".into(),
            prev_hash: "00".into(),
            hash: "01".into(),
            message_id: None,
            topic: None,
            audited: Some(false),
        };
        let should =
            "id,1,now,,FAILED,OPERATOR,'=cmd|calc,\"a \"\"b\"\", c\nd\",A,B,1.00,USD,00,01,,,false";
        assert_eq!(comma_separated(&line), should);
        let value = serde_json::to_value(&line).unwrap_or_default();
        let fields = value.as_object().map_or(0, serde_json::Map::len);
        assert_eq!(COLUMNS.split(',').count(), fields, "each field has its column");
    }
}
