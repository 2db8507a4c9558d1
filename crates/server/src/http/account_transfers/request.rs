//! Validates the body of an account transfer's create, and turns it into the terms of a transfer.

use crate::http::middleware::error::Refusal;
use crate::http::transfers::create::RequestedTransfer;
use crate::http::transfers::validate::{AccountNames, plain, taken_in, validated_amount};
use crate::http::{App, format, name_errors};
use api::account_transfers::CreateAccountTransfer;
use flows::account::State;
use kernel::accounts::is_account_number;
use kernel::code::Code;
use kernel::flow::life::Life as _;
use kernel::ids::{FlowId, LedgerId, UserId};
use kernel::owner::TransferOwner;
use kernel::record::{Account, Binding, Party, Record, System, Terms};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most characters of a description.
const DESCRIPTION: usize = 128;
/// Under this name the terms keep it.
const KEPT_AS: &str = "description";

/// That the numbers and the words of a create have their form.
///
/// # Errors
/// 400 with the field that does not fit.
pub(super) fn fits(form: &CreateAccountTransfer) -> Result<(), Refusal> {
    let numbers = [
        ("fromAccountNumber", &form.from_account_number),
        ("toAccountNumber", &form.to_account_number),
    ];
    if let Some((name, _)) = numbers.iter().find(|(_, number)| !is_account_number(number)) {
        return Err(Refusal::bad(format!("field `{name}`: not the number of an account")));
    }
    let printable = |text: &String| {
        let length = text.chars().count();
        (1..=DESCRIPTION).contains(&length) && !text.chars().any(char::is_control)
    };
    if form.description.as_ref().is_some_and(|text| !printable(text)) {
        return Err(Refusal::bad(
            "field `description`: 1 to 128 characters, none of them a control",
        ));
    }
    Ok(())
}

/// The flow of these routes.
pub(super) fn flow(app: &App) -> Option<FlowId> {
    app.engine.flows().named(State::FLOW)
}

/// A well-formed create of an account transfer.
#[derive(Debug)]
pub struct AccountTransferRequest {
    /// The principal who asks: `issuer|sub`.
    pub principal: Arc<str>,
    /// The owner of the account that pays.
    pub user: UserId,
    /// The idempotency key that the client gave.
    pub key: Option<Arc<str>>,
    /// The number of the flow `account`.
    pub flow: FlowId,
    /// The request's body, in its form.
    pub body: CreateAccountTransfer,
}

impl AccountTransferRequest {
    fn words(&self) -> BTreeMap<String, String> {
        let words = self.body.description.iter();
        words.map(|text| (KEPT_AS.to_owned(), text.clone())).collect()
    }
}

/// The description that a transfer was made with.
pub(super) fn description(record: &Record) -> Option<String> {
    record.terms.metadata.get(KEPT_AS).cloned()
}

impl RequestedTransfer for AccountTransferRequest {
    fn flow(&self, _: &App) -> FlowId {
        self.flow
    }

    fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    fn owner(&self) -> TransferOwner {
        self.user.into()
    }

    fn key_name(&self) -> &'static str {
        "Idempotency-Key"
    }

    fn key(&self) -> Option<&Arc<str>> {
        self.key.as_ref()
    }

    fn terms(&self, app: &App) -> Result<Terms, Code> {
        taken_in(app, self.flow)?;
        let body = &self.body;
        if body.from_account_number == body.to_account_number {
            return Err(Code::SameAccount);
        }
        let asset = app.engine.asset(&body.currency).ok_or(Code::InvalidAsset)?;
        let amount = validated_amount(&asset, &body.amount)?;
        let at = |number: &str| Party {
            system: System::Ledger(LedgerId::ACCOUNT),
            account: Account::Named(number.into()),
            asset: asset.id,
            amount,
        };
        let (source, target) = (at(&body.from_account_number), at(&body.to_account_number));
        let owner = TransferOwner::User(self.user);
        let plain = Terms::between(Arc::clone(&self.principal), owner, source, target);
        let mut terms = Terms { metadata: self.words(), ..plain };
        terms.binding = self.key.clone().map(|key| Binding {
            scope: Arc::clone(&self.principal),
            key,
            fingerprint: terms.fingerprint(),
        });
        Ok(terms)
    }

    fn mismatched(&self, app: &App, bound: &Record) -> Vec<String> {
        let (body, terms) = (&self.body, &bound.terms);
        let at = |party: &Party, number: &str| party.account == Account::Named(number.into());
        let (symbol, precision) = format::asset(&app.engine.assets(), terms.source.asset);
        let amount = plain(&terms.source.amount.decimal(precision));
        let same = [
            ("fromAccountNumber", at(&terms.source, &body.from_account_number)),
            ("toAccountNumber", at(&terms.target, &body.to_account_number)),
            ("amount", amount.is_some() && amount == plain(&body.amount)),
            ("currency", symbol == body.currency),
            ("description", terms.metadata == self.words()),
        ];
        let differs = same.into_iter().filter(|(_, same)| !same);
        differs.map(|(name, _)| name.to_owned()).collect()
    }

    fn refusal(&self, app: &App, code: Code) -> Refusal {
        match app.engine.asset(&self.body.currency) {
            Some(asset) => name_errors::of_asset(&asset, code),
            None => name_errors::refusal(app, AccountNames::Plain, code),
        }
    }
}
