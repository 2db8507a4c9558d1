//! The port to the account of a chain that takes deposits, the vault: what moved its money, page by page, in the order
//! of the chain.

use super::Fut;
use crate::answer::Cause;
use crate::ids::{AssetId, ChainId, FlowId, Millis};
use crate::money::Amount;
use crate::record::Terms;
use std::sync::Arc;

/// One final movement of a vault's money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VaultMovement {
    /// A deposit that is in the vault: it opens a transfer of its source amount.
    Deposited(Terms),
    /// A deposit that waits at its sender until the service takes it in: it opens a transfer, and moves nothing yet. No
    /// balance shows that one is left out: the port has to prove that there is none.
    Offered(Terms),
    /// Money of the service's own, from an account that the settings name: it raises the inventory.
    Funded(Amount),
    /// What an act of the service took in: a deposit that was offered is in the vault.
    TakenIn(Amount),
    /// Money that left the vault.
    Left {
        /// The name of the transaction, as the forms of attempts have theirs.
        form: Arc<[u8]>,
        /// How much of the vault's asset left.
        amount: Amount,
        /// What the transaction did, as text for operators.
        facts: Arc<str>,
    },
}

/// The next movements of a vault, without a gap behind a place of its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultPage {
    /// What moved the money, oldest first.
    pub movements: Vec<VaultMovement>,
    /// The vault's balance before the first of them.
    pub before: Amount,
    /// The vault's balance after the last of them.
    pub after: Amount,
    /// The place behind the last of them, from which the next page goes on. Only the port reads it.
    pub place: Arc<str>,
    /// The chain's time up to which every movement is in this page or in an earlier one.
    pub read_to: Millis,
    /// True where the chain already shows more behind this page.
    pub more: bool,
}

/// The class of a cause: the vault's balance before a page is not the one after the page before, so a movement was left
/// out. Nothing of the page is stored.
pub const VAULT_GAP: &str = "VAULT_GAP";

/// A vault of a chain, as the engine watches it. Only final blocks count.
pub trait DepositSource: Send + Sync {
    /// The chain of the vault.
    fn chain(&self) -> ChainId;
    /// The flow that a deposit opens a transfer of.
    fn flow(&self) -> FlowId;
    /// The asset that the vault keeps.
    fn asset(&self) -> AssetId;
    /// What tells this vault from another one of the chain: its account and the asset's contract, as the chain spells
    /// them.
    fn vault(&self) -> Arc<str>;
    /// How long to wait before the chain is asked for more, where it has shown all.
    fn interval(&self) -> Millis;
    /// How long the newest final movement may take to be shown, by the chain's time: a watcher that has not read for
    /// longer is behind.
    fn normal_lag(&self) -> Millis;
    /// The movements behind a place, about `limit` of them: a block that has more comes whole. Without a place it gives where the settings say that the watch
    /// begins, and no movement.
    ///
    /// # Errors
    /// Why they are not known now: providers that do not answer, that do not agree, or that show a gap
    /// ([`VAULT_GAP`]).
    fn movements<'a>(
        &'a self,
        behind: Option<&'a str>,
        limit: usize,
    ) -> Fut<'a, Result<VaultPage, Cause>>;
}
