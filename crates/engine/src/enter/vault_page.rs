//! What a page of a vault's movements means for the journal: which deposits it opens, and what the unit of the cursor
//! writes beside them.

use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Purpose};
use kernel::books::ChainBook;
use kernel::books::vault::Withdrawal;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, FlowId};
use kernel::money::Amount;
use kernel::ports::deposits::{VaultMovement, VaultPage};
use kernel::record::Terms;
use kernel::unit::Put;
use std::sync::Arc;

/// The vault whose page is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageVault {
    pub chain: ChainId,
    pub flow: FlowId,
    pub asset: AssetId,
    /// No page of it was stored before.
    pub begins: bool,
}

/// A deposit that opens a transfer.
pub(super) struct FoundDeposit {
    pub terms: Terms,
    /// What the vault's balance has of it already.
    pub paid_in: Amount,
}

/// What these deposits paid in.
pub(super) fn paid_in(deposits: &[FoundDeposit]) -> Amount {
    Amount(deposits.iter().fold(0, |sum, deposit| sum.saturating_add(deposit.paid_in.0)))
}

/// What a page means for the journal.
#[derive(Default)]
pub(super) struct PageContent {
    pub deposits: Vec<FoundDeposit>,
    /// What the unit of the cursor writes beside the openings.
    pub beside: Vec<Put>,
    /// Why the chain stops.
    pub objections: Vec<String>,
}

impl PageContent {
    /// Reads a page.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(super) async fn of(
        shared: &SharedState,
        vault: PageVault,
        page: VaultPage,
    ) -> Result<Self, Cause> {
        let mut content = Self::default();
        if vault.begins {
            // what is there when the watch begins is the service's own
            content.add(vault, ChainBook::Inventory, page.before);
        }
        for movement in page.movements {
            match movement {
                VaultMovement::Deposited(terms) => {
                    let paid_in = terms.source.amount;
                    content.deposits.push(FoundDeposit { terms, paid_in });
                }
                VaultMovement::Offered(terms) => {
                    content.deposits.push(FoundDeposit { terms, paid_in: Amount::ZERO });
                }
                VaultMovement::Funded(amount) => content.add(vault, ChainBook::Inventory, amount),
                VaultMovement::TakenIn(amount) => content.add(vault, ChainBook::ReadIn, amount),
                VaultMovement::Left { form, amount, facts } => {
                    let found =
                        shared.parts.journal.attempt_of_form(vault.chain, form.clone()).await?;
                    let flows = &shared.plan.flows;
                    let paid = found.map(|found| paid_by(flows, &found, &form, vault.asset));
                    if paid == Some(amount) {
                        content.add(vault, ChainBook::ReadOut, amount);
                    } else {
                        content.object(vault, Left { form, amount, facts }, paid);
                    }
                }
            }
        }
        Ok(content)
    }

    /// Raises a book of the vault.
    fn add(&mut self, vault: PageVault, book: ChainBook, Amount(n): Amount) {
        if n > 0 {
            let counter = book.counter(vault.chain, vault.asset);
            self.beside.push(Put::Add { counter, n });
        }
    }

    /// Stores a payment that no attempt explains, for two persons to accept.
    fn object(&mut self, vault: PageVault, left: Left, paid: Option<Amount>) {
        let Left { form, amount, facts } = left;
        let explained = match paid {
            None => "no attempt has that".to_owned(),
            Some(paid) => format!("its attempt pays {paid}"),
        };
        self.objections.push(format!("{amount} left the vault, and {explained}: {facts}"));
        let PageVault { chain, flow, asset, .. } = vault;
        let withdrawal = Withdrawal { chain, flow, asset, amount, facts, accepted_by: None };
        let (name, value) = (Withdrawal::name(chain, &form), withdrawal.value());
        self.beside.push(Put::Resource { name, value });
    }
}

/// Money that left a vault.
struct Left {
    form: Arc<[u8]>,
    amount: Amount,
    facts: Arc<str>,
}

/// How much of an asset a form of an attempt pays. One that only takes the lock pays nothing.
fn paid_by(flows: &Flows, attempt: &Attempt, form: &[u8], asset: AssetId) -> Amount {
    let form = attempt.forms.iter().find(|one| *one.name == *form);
    let pays = form.is_some_and(|form| form.purpose == Purpose::Pay);
    let act = flows.table(attempt.flow).makes(attempt.state).filter(|_| pays);
    let shares = act.into_iter().flat_map(|act| {
        attempt.members.iter().filter_map(move |member| {
            let share = flows.table(member.flow).act(act).share?;
            member.share(share).filter(|(paid, _)| *paid == asset)
        })
    });
    Amount(shares.fold(0, |sum, (_, Amount(share))| sum.saturating_add(share)))
}
