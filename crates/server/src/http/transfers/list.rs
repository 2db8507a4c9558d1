//! The route that lists the caller's own transfers, newest first.

use super::response;
use crate::auth::{Caller, Scope};
use crate::http::middleware::caller::{RequireTransfersRead, own};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::{QueryParams, limit};
use crate::http::relay::SHARED_SCOPE;
use crate::http::{App, format, no_answer};
use api::problem::Problem;
use api::transfers::Page;
use axum::Json;
use axum::extract::State;
use kernel::code::Code;
use kernel::ids::{LedgerId, Millis, Serial};
use kernel::ports::admin_queries::{Search, SearchKey};
use kernel::record::Record;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// The most transfers of one page.
pub(crate) const MOST: usize = 100;
/// How many rows a page has where the caller does not say.
pub(crate) const USUAL: usize = 50;

/// Which transfers are wanted; what is not named does not matter.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TransfersQuery {
    /// In this exact state; `PENDING` is every one that has not ended.
    #[param(example = "COMMITTED")]
    state: Option<String>,
    /// Only transfers of this asset, by its symbol.
    #[param(example = "USDT")]
    asset: Option<String>,
    /// An account type: those that pay from it. A time (RFC 3339): those opened at or after it.
    #[param(example = "SPOT")]
    from: Option<String>,
    /// An account type: those that pay to it. A time (RFC 3339): those opened before it.
    #[param(example = "2026-02-01T00:00:00Z")]
    to: Option<String>,
    /// The one that was made under this key (`cid`, or the header `Idempotency-Key`).
    #[param(example = "payout-7")]
    cid: Option<String>,
    /// `next` of the page before.
    cursor: Option<String>,
    /// Maximum number of transfers.
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: Option<usize>,
}

/// The caller's own transfers: a user's, or what a service with `transfers:any` made itself. A page
/// never repeats a row; one that is committed late may appear below the newest page, so a reader
/// that synchronises overlaps by a minute.
#[utoipa::path(
    get, path = "/api/v1/internal_transfers", tag = "transfers",
    operation_id = "list_transfers", params(TransfersQuery),
    security(("token" = ["transfers:read"])),
    responses(
        (status = 200, body = Page, description = "A page, perhaps an empty one"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`, `INVALID_ASSET`"),
    )
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    RequireTransfersRead(caller): RequireTransfersRead,
    query: Result<QueryParams<TransfersQuery>, Refusal>,
) -> Result<Json<Page>, Refusal> {
    let whose = whose(&caller)?;
    let QueryParams(query) = query?;
    let limit = limit(query.limit, USUAL, 1..=MOST)?;
    let search = query.search(&app, Search { limit, ..whose })?;
    let Listed { records, next } = found(&app, search).await?;
    let transfers = records.iter().map(|record| response::exact(&app, record)).collect();
    Ok(Json(Page { transfers, next }))
}

/// A page of a list.
pub(crate) struct Listed {
    pub records: Vec<Record>,
    /// The cursor of the page behind it, where there is one.
    pub next: Option<String>,
}

/// The transfers that fit, at most `search.limit`.
///
/// # Errors
/// 500: the journal did not answer.
pub(crate) async fn found(app: &App, search: Search) -> Result<Listed, Refusal> {
    let limit = search.limit;
    // one more than is shown tells whether there are more
    let search = Search { limit: limit.saturating_add(1), ..search };
    let mut records = app.admin_queries.transfers(search).await.map_err(no_answer("list"))?;
    let more = records.len() > limit;
    records.truncate(limit);
    let last = records.last().and_then(|record| record.serial).filter(|_| more);
    Ok(Listed { records, next: last.map(cursor) })
}

/// A user sees their own, a service what its own principal made.
pub(crate) fn whose(caller: &Caller) -> Result<Search, Refusal> {
    if caller.may(Scope::TransfersAny) {
        return Ok(Search { principal: Some(Arc::clone(&caller.principal)), ..Search::default() });
    }
    Ok(Search { user: Some(own(caller)?), ..Search::default() })
}

/// A client's key, in the scopes in which its caller may have bound it: in any, where the caller is not known.
pub(crate) fn search_key(app: &App, key: &str, caller: Option<&Arc<str>>) -> SearchKey {
    let mut scopes = caller.map(|caller| app.engine.intake.key_scopes(caller)).unwrap_or_default();
    if caller.is_some() {
        scopes.push(SHARED_SCOPE.into());
    }
    SearchKey { key: key.into(), scopes }
}

impl TransfersQuery {
    fn search(&self, app: &App, whose: Search) -> Result<Search, Refusal> {
        let (source, since) = end("from", self.from.as_deref())?;
        let (target, until) = end("to", self.to.as_deref())?;
        let asset = self
            .asset
            .as_deref()
            .map(|symbol| app.engine.asset(symbol).map(|asset| asset.id).ok_or(Code::InvalidAsset));
        let mut search = Search {
            flow: Some(app.internal),
            asset: asset.transpose()?,
            source,
            target,
            since,
            until,
            key: self.cid.as_deref().map(|key| search_key(app, key, whose.principal.as_ref())),
            before: self.cursor.as_deref().map(after).transpose()?,
            ..whose
        };
        match self.state.as_deref() {
            None => {}
            Some("PENDING") => search.open = Some(true),
            Some(name) => {
                let table = app.engine.flows().table(app.internal);
                let none = || {
                    let all = format::states(table);
                    Refusal::bad(format!(
                        "`state`: one of {all}, or PENDING for all that have not ended"
                    ))
                };
                search.state = Some(table.named(name).ok_or_else(none)?);
            }
        }
        Ok(search)
    }
}

/// One name of the contract, two meanings that no text can share: an account type or a time.
pub(crate) fn end(
    name: &str,
    text: Option<&str>,
) -> Result<(Option<LedgerId>, Option<Millis>), Refusal> {
    let Some(text) = text else { return Ok((None, None)) };
    match (LedgerId::parse(text), format::instant(text)) {
        (None, None) => Err(Refusal::bad(format!(
            "`{name}`: an account type, or a time like 2026-01-31T09:00:00Z"
        ))),
        found => Ok(found),
    }
}

fn cursor(last: Serial) -> String {
    format!("{:016x}", last.0)
}

/// The number that a page begins below.
pub(crate) fn after(cursor: &str) -> Result<Serial, Refusal> {
    let ours = cursor.len() == 16 && cursor.bytes().all(|byte| byte.is_ascii_hexdigit());
    let read = u64::from_str_radix(cursor, 16).ok().filter(|_| ours);
    read.map(Serial).ok_or_else(|| Refusal::bad("`cursor`: take `next` of the page before"))
}

#[cfg(test)]
mod tests {
    use super::{Serial, after, cursor, end};
    use kernel::ids::LedgerId;

    #[test]
    fn a_cursor_is_read_back_and_nothing_else() {
        for serial in [0, 1, 77, u64::MAX] {
            assert_eq!(after(&cursor(Serial(serial))).unwrap(), Serial(serial));
        }
        for bad in ["", "1", "0x00000000000001", "+000000000000001", "00000000000000000", "x"] {
            assert!(after(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_end_is_an_account_type_or_a_time() {
        assert_eq!(end("from", Some("SPOT")).unwrap(), (Some(LedgerId::SPOT), None));
        assert_eq!(end("to", Some("1970-01-01T00:00:01Z")).unwrap(), (None, Some(1000)));
        assert_eq!(end("to", None).unwrap(), (None, None));
        for bad in ["spot", "", "X", "2026-01-31"] {
            assert!(end("from", Some(bad)).is_err(), "{bad}");
        }
    }
}
