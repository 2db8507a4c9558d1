//! Checks a create request once more, for callers that bypass the API, and answers the dry run: what a
//! create would answer now.

use crate::chains::Chains;
use crate::state::in_flight::InFlight;
use crate::state::limits::CreateLimits;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{FlowId, LedgerId};
use kernel::money::{Amount, Asset};
use kernel::operators::Scope;
use kernel::ports::ledger::{Holding, LedgerForm, Reply, Whose};
use kernel::record::{Account, Party, System, Terms};
use std::sync::Arc;

/// Checks what keeps a transfer from being opened here.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct CreateChecks {
    shared: Arc<SharedState>,
    in_flight: Arc<InFlight>,
    chains: Arc<Chains>,
    limits: Arc<CreateLimits>,
}

impl CreateChecks {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        in_flight: &Arc<InFlight>,
        chains: &Arc<Chains>,
        limits: &Arc<CreateLimits>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            in_flight: in_flight.clone(),
            chains: chains.clone(),
            limits: limits.clone(),
        })
    }

    /// A dry run: the result that a transfer of these terms would get now. Nothing is written and nothing
    /// counted. `Ok` names the ledgers that show no accounts: what they would refuse is not known.
    ///
    /// # Errors
    /// The code that it would be refused with, or fail with; `SYSTEM_ERROR` where the journal or a
    /// ledger does not answer, so that it is not known.
    pub async fn would(&self, flow: FlowId, terms: &Terms) -> Result<Vec<LedgerId>, Code> {
        match self.foreseen(flow, terms).await {
            Ok(None) => {
                let both = [&terms.source.system, &terms.target.system];
                Ok(both.into_iter().filter_map(|system| self.shows_none(system)).collect())
            }
            Ok(Some(code)) => Err(code),
            Err(cause) => {
                tracing::warn!(%cause, "what would become of a transfer cannot be said");
                Err(Code::SystemError)
            }
        }
    }

    async fn foreseen(&self, flow: FlowId, terms: &Terms) -> Result<Option<Code>, Cause> {
        if let Some(code) = self.objection(flow, terms) {
            return Ok(Some(code));
        }
        if let Some(code) = self.limits.used_up(flow, terms).await? {
            return Ok(Some(code));
        }
        match self.payer_refusal(terms).await? {
            Some(code) => Ok(Some(code)),
            None => self.receives(terms).await,
        }
    }

    /// The code with which the source would refuse, by the account as it is now (`ledgers.md` §1).
    async fn payer_refusal(&self, terms: &Terms) -> Result<Option<Code>, Cause> {
        if self.shows_none(&terms.source.system).is_some() {
            return Ok(None);
        }
        let holdings = self.holdings(&terms.source).await?;
        let Some(first) = holdings.first() else { return Ok(Some(Code::SourceAccountNotFound)) };
        let has = holdings.iter().find(|holding| holding.asset == terms.source.asset);
        let available = has.map_or(Amount::ZERO, |holding| holding.available);
        let short = (available < terms.source.amount).then_some(Code::InsufficientBalance);
        Ok(first.status.bars_withdraw().or(short))
    }

    /// The code with which the target would refuse. Only a ledger in the journal's database lacks accounts;
    /// other ledgers create them on demand.
    async fn receives(&self, terms: &Terms) -> Result<Option<Code>, Cause> {
        if self.shows_none(&terms.target.system).is_some() {
            return Ok(None);
        }
        let holdings = self.holdings(&terms.target).await?;
        let System::Ledger(ledger) = terms.target.system else { return Ok(None) };
        match holdings.first() {
            Some(first) => Ok(first.status.bars_deposit()),
            None => Ok(self.shared.plan.enlisted(ledger).then_some(Code::TargetAccountNotFound)),
        }
    }

    /// The ledger's id, where it has the simple form, whose contract has no accounts.
    fn shows_none(&self, system: &System) -> Option<LedgerId> {
        let System::Ledger(id) = system else { return None };
        self.shared.ledger(*id).filter(|port| port.form() == LedgerForm::Simple).map(|_| *id)
    }

    async fn holdings(&self, party: &Party) -> Result<Vec<Holding>, Cause> {
        let (System::Ledger(ledger), Account::User(user)) = (party.system, &party.account) else {
            return Err(Cause::of("NO_LEDGER"));
        };
        let port = self.shared.ledger(ledger).ok_or(Cause::of("NO_LEDGER"))?;
        match port.accounts(Whose::User(*user)).await {
            Reply::Answered(_, holdings) => Ok(holdings),
            Reply::OtherLedger(_) => Err(Cause::of("WRONG_LEDGER")),
            Reply::NoAnswer(cause) => Err(cause),
        }
    }

    /// Why the intake refuses everything now, where it does: `HALTED` or `OVERLOADED`.
    pub fn shut(&self, flow: FlowId) -> Option<Code> {
        if self.shared.controls.halted().is_some() {
            return Some(Code::Halted);
        }
        let over = self.shared.controls.draining()
            || !self.shared.controls.takes(flow)
            || self.in_flight.crowded();
        over.then_some(Code::Overloaded)
    }

    /// The scope that a person must unpause before the intake takes a transfer of this flow and these
    /// terms; without terms, before it takes any of the flow.
    pub fn paused_for(&self, flow: FlowId, terms: Option<&Terms>) -> Option<Scope> {
        self.shared.controls.paused(flow, terms)
    }

    /// Repeats steps 4 to 6 of the order of checks, for callers that bypass the API. Existence, status and
    /// balance are checked by the ledgers alone.
    pub(crate) fn objection(&self, flow: FlowId, terms: &Terms) -> Option<Code> {
        if !self.shared.offers(flow) {
            return Some(Code::UnsupportedAccountType);
        }
        if let Some(code) = self.shut(flow) {
            return Some(code);
        }
        if self.paused_for(flow, Some(terms)).is_some() {
            return Some(Code::Overloaded);
        }
        if let Some(code) = self.party_objection(flow, terms) {
            return Some(code);
        }
        let (source, target) = (&terms.source, &terms.target);
        let assets = self.shared.assets();
        let found = assets.iter().find(|asset| asset.id == source.asset);
        let Some(asset) = found.filter(|_| target.asset == source.asset) else {
            return Some(Code::InvalidAsset);
        };
        let mut ledgers = [source, target].into_iter().filter_map(|party| match party.system {
            System::Ledger(ledger) => Some(ledger),
            System::Chain(_) => None,
        });
        if ledgers.any(|ledger| !self.holds(ledger, asset)) {
            return Some(Code::TransferNotAllowed);
        }
        if source.amount.minus(terms.fee) != Some(target.amount) {
            return Some(Code::InvalidAmount);
        }
        let limits = asset.usable().and_then(|()| asset.limits(source.amount));
        limits.err().or_else(|| self.limits.above_most(flow, terms).then_some(Code::AmountTooLarge))
    }

    /// False where the settings, or the ledger itself, say that it does not hold the asset as it is known here.
    pub fn holds(&self, ledger: LedgerId, asset: &Asset) -> bool {
        let named = self.shared.parts.settings.ledger_assets.get(&ledger);
        named.is_none_or(|symbols| symbols.contains(&asset.symbol))
            && self.shared.ledger(ledger).is_none_or(|port| port.holds(asset))
    }

    /// Why the two accounts cannot be the ends of a transfer of this flow.
    fn party_objection(&self, flow: FlowId, terms: &Terms) -> Option<Code> {
        let (table, [source, target]) = (self.shared.plan.table(flow), terms.parties());
        let inside = table.moves_inside();
        let one_system = source.system == target.system;
        if source.account == target.account && one_system || one_system != inside {
            return Some(Code::SameAccount);
        }
        let user = terms.owner.user().filter(|user| user.is_valid());
        let sends = table.all().any(|state| table.sends(state));
        let accepts = table.all().any(|state| table.accepts(state));
        for (party, named_later) in [(source, false), (target, accepts)] {
            let ledger = match party.system {
                System::Ledger(ledger) => ledger,
                System::Chain(chain) if sends && self.chains.pool(chain).is_some() => {
                    match &party.account {
                        Account::Named(name) if !name.is_empty() => continue,
                        Account::Unnamed if named_later => continue,
                        Account::Named(_) | Account::User(_) | Account::Unnamed => {
                            return Some(Code::Forbidden);
                        }
                    }
                }
                System::Chain(_) => return Some(Code::InvalidAccountType),
            };
            if self.shared.ledger(ledger).is_none() || inside && !self.shared.plan.enlisted(ledger)
            {
                return Some(Code::UnsupportedAccountType);
            }
            // whose an account with a number is, its ledger says
            let allowed = match &party.account {
                Account::User(account) => !inside && user == Some(*account),
                Account::Named(_) => inside && user.is_some(),
                Account::Unnamed => named_later,
            };
            if !allowed {
                return Some(Code::Forbidden);
            }
        }
        None
    }
}
