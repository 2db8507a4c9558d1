//! How an account transfer is shown.

use super::request::description;
use crate::http::transfers::response::{entry, message};
use crate::http::{App, format};
use api::transfers::HistoryEntry;
use kernel::ports::journal::Linked;
use kernel::record::{Account, Party, Record};
use serde::Serialize;
use utoipa::ToSchema;

/// A transfer whose opening is durable.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedAccountTransfer {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    pub transfer_id: String,
    /// `PENDING`; of a replay, where the transfer stands now.
    #[schema(example = "PENDING")]
    pub status: &'static str,
    /// When it was opened, RFC 3339 in UTC.
    pub created_at: String,
}

/// A transfer with everything that happened to it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountTransfer {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    pub transfer_id: String,
    /// `PENDING`, `VALIDATING`, `VALIDATED`, `EXECUTING`, `COMPLETED` or `FAILED`.
    #[schema(example = "COMPLETED")]
    pub status: &'static str,
    /// The number of the account that pays.
    #[schema(example = "DE-4001-USD")]
    pub from_account_number: String,
    /// The number of the account that receives.
    #[schema(example = "DE-4002-USD")]
    pub to_account_number: String,
    /// In the currency's unit, always with all decimals that it has.
    #[schema(example = "100.00")]
    pub amount: String,
    /// The symbol of the asset that moves.
    #[schema(example = "USD")]
    pub currency: String,
    /// The client's own words, where some were given.
    #[schema(example = "invoice 12")]
    pub description: Option<String>,
    /// Of a transfer that FAILED the code that it was refused with; before an end the cause of the last
    /// unclear answer, where there was one.
    #[schema(example = json!(null))]
    pub reason: Option<String>,
    /// Where it stands, as a sentence.
    pub message: String,
    /// When it was opened, RFC 3339 in UTC.
    pub created_at: String,
    /// When it last moved on, RFC 3339 in UTC.
    pub updated_at: String,
    /// Everything that happened to it, the oldest first.
    pub history: Vec<HistoryEntry>,
}

fn status(app: &App, record: &Record) -> &'static str {
    app.engine.flows().table(record.flow).state(record.head.state).name
}

pub(super) fn opened(app: &App, record: &Record) -> OpenedAccountTransfer {
    OpenedAccountTransfer {
        transfer_id: record.id.uuid_text(),
        status: status(app, record),
        created_at: format::time(record.created_at),
    }
}

pub(super) fn story(app: &App, record: &Record, history: Vec<Linked>) -> AccountTransfer {
    let terms = &record.terms;
    let (currency, precision) = format::asset(&app.engine.assets(), terms.source.asset);
    let table = app.engine.flows().table(record.flow);
    AccountTransfer {
        transfer_id: record.id.uuid_text(),
        status: status(app, record),
        from_account_number: number(&terms.source),
        to_account_number: number(&terms.target),
        amount: terms.source.amount.decimal(precision),
        currency,
        description: description(record),
        reason: record.error.as_ref().map(|error| error.code.to_string()),
        message: message(app, record),
        created_at: format::time(record.created_at),
        updated_at: format::time(record.updated_at),
        history: history.into_iter().map(|linked| entry(table, linked)).collect(),
    }
}

fn number(party: &Party) -> String {
    match &party.account {
        Account::Named(number) => number.to_string(),
        Account::User(_) | Account::Unnamed => String::new(),
    }
}
