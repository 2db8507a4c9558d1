//! What carries the flow `relay` in this process: the chain's port, and what the flow learns of the chain.
//! [`open`] is the one place that knows of the adapter.

use crate::cli::exit::{Exit, Fault};
use crate::config::Relay;
use kernel::answer::{Answer, Cause};
use kernel::attempt::{Attempt, Lock};
use kernel::ids::ChainId;
use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::chain::{Chain, Proof, SignRequest, Signed, Unsigned};
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Facts, Record};
use std::future::ready;
use std::sync::Arc;

/// The chain of a relay, and what its rules learn of it.
pub(crate) struct RelayLink {
    pub chain: Arc<dyn Chain>,
    pub facts: Arc<dyn FactSource>,
}

/// Opens what carries the relay by its settings. Without keys nothing is sent from this process: transfers
/// are taken in, and stay where they are until a process with keys carries them.
///
/// # Errors
/// 78: the settings cannot be used.
pub(crate) fn open(settings: &Relay) -> Result<RelayLink, Fault> {
    if settings.has_keys() {
        let what = "relay.keystore, relay.access_keys: this release takes transfers of the relay in and \
                    does not send them yet; unset both";
        return Err(Fault::new(Exit::Config, what));
    }
    tracing::warn!("relay: no keys: transfers are taken in here and not sent");
    let link = Arc::new(IntakeOnly);
    Ok(RelayLink { chain: link.clone(), facts: link })
}

/// That the token's asset is known here.
///
/// # Errors
/// 78: it is not.
pub(crate) fn asset(settings: &Relay, assets: &[Asset]) -> Result<(), Fault> {
    let known = assets.iter().any(|asset| asset.symbol == settings.asset);
    if known || !settings.is_set() {
        return Ok(());
    }
    let what = format!(
        "relay.asset: there is no asset {}; add it while relay.account_id is unset (`portage ops assets`), \
         with the decimals of its contract",
        settings.asset
    );
    Err(Fault::new(Exit::Config, what))
}

/// NEAR for a process without keys: it has no lane, so nothing is claimed or signed, and it learns nothing,
/// so that no rule decides anything here.
#[derive(Debug)]
struct IntakeOnly;

/// Why a process without keys does none of it.
const NO_KEYS: Cause = Cause::of("NO_KEYS");

impl Chain for IntakeOnly {
    fn id(&self) -> ChainId {
        ChainId::NEAR
    }

    fn cap(&self, _: &str) -> usize {
        1
    }

    fn lanes(&self, _: &str) -> Vec<Arc<str>> {
        Vec::new()
    }

    fn next_lock<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Lock>,
        _: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn sign<'a>(&'a self, _: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(ready(Err(NO_KEYS.into())))
    }

    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(ready(attempts.iter().map(|_| Err(NO_KEYS)).collect()))
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Proof>> {
        Box::pin(ready(attempts.iter().map(|_| Proof::NotYet(NO_KEYS)).collect()))
    }
}

impl FactSource for IntakeOnly {
    fn facts<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(ready(records.iter().map(|_| Gathered::Facts(Facts::new())).collect()))
    }

    fn ask<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(ready(records.iter().map(|_| Answer::Unknown(NO_KEYS)).collect()))
    }
}
