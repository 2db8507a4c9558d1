//! Builds the responses that show an account transfer.

use super::request::description;
use crate::http::transfers::response::{entry, message};
use crate::http::{App, format};
use api::account_transfers::{AccountTransfer, OpenedAccountTransfer};
use kernel::ports::journal::Linked;
use kernel::record::{Account, Party, Record};

fn status(app: &App, record: &Record) -> String {
    app.engine.flows().table(record.flow).state(record.head.state).name.to_owned()
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
