//! The part of the relay's settings that its routes need to accept a transfer.

use crate::config::Relay;
use crate::http::App;
use crate::http::middleware::error::Refusal;
use flows::relay::State;
use kernel::code::Code;
use kernel::flow::life::Life as _;
use kernel::ids::FlowId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The relay's settings, as its intake reads them.
#[derive(Debug, Clone)]
pub struct RelayIntake {
    /// Our account on the chain.
    pub account: Arc<str>,
    /// The account of the token's contract.
    pub contract: Arc<str>,
    /// The symbol of the token's asset.
    pub asset: String,
    /// The only accounts that may be paid; empty: every account.
    pub receivers: BTreeSet<String>,
    /// Keys are one name space of all callers.
    pub shared_keys: bool,
}

impl RelayIntake {
    /// The intake of these settings; none where the flow is not offered.
    pub fn of(settings: &Relay) -> Option<Self> {
        settings.is_set().then(|| Self {
            account: settings.account_id.as_str().into(),
            contract: settings.token_contract.as_str().into(),
            asset: settings.asset.clone(),
            receivers: settings.receivers.iter().cloned().collect(),
            shared_keys: settings.shared_keys,
        })
    }

    /// Whether this account may be paid, as far as the settings say.
    pub(super) fn allows(&self, receiver: &str) -> bool {
        self.receivers.is_empty() || self.receivers.contains(receiver)
    }
}

/// The flow of these routes, with its settings.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct OfferedRelay<'a> {
    pub flow: FlowId,
    pub intake: &'a RelayIntake,
}

/// The relay, where it is offered.
///
/// # Errors
/// 404: it is not.
pub(in crate::http) fn offered(app: &App) -> Result<OfferedRelay<'_>, Refusal> {
    let none = || Refusal::because(Code::NotFound, "The flow `relay` is not offered here");
    let intake = app.relay.as_ref().ok_or_else(none)?;
    let flow = app.engine.flows().named(State::FLOW).filter(|flow| app.engine.offers(*flow));
    flow.map(|flow| OfferedRelay { flow, intake }).ok_or_else(none)
}
