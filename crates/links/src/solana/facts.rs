//! Answers questions about the chain for the rules of the swaps: its time, and whether an account can be paid. A wrong
//! answer costs a fee, and pays nothing twice.

use super::SolanaLink;
use super::rpc::{block_time, slot};
use super::tx::address_of;
use crate::rpc::collect_facts;
use kernel::answer::Cause;
use kernel::ids::Millis;

impl SolanaLink {
    /// The time of the newest final block, in milliseconds since 1970: the earliest that as many providers as are needed
    /// show, so that a deadline has passed for all of them.
    ///
    /// # Errors
    /// Too few answer.
    pub(super) async fn time(&self) -> Result<Millis, Cause> {
        let newest = collect_facts(self.rpc.needed(), self.rpc.each(&slot()).await)?;
        let of =
            |by: &str| newest.iter().find(|one| *one.by == *by).map(|one| block_time(one.fact));
        let times = collect_facts(self.rpc.needed(), self.rpc.each_by(of).await)?;
        times.iter().map(|one| one.fact).min().ok_or(Cause::of("NO_PROVIDER"))
    }

    /// Whether an account can be paid: a token account of the vault's token, a wallet whose associated account is one, or
    /// one without any where the settings have it created.
    ///
    /// # Errors
    /// The providers do not agree, or too few answer.
    pub(super) async fn takes_money(&self, account: &str) -> Result<bool, Cause> {
        let Some(named) = address_of(account) else { return Ok(false) };
        if [self.vault.key, self.vault.account].contains(&named) {
            return Ok(false);
        }
        self.receiver(&named, |view| view.takes).await
    }
}
