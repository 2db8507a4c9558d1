//! Answers questions about the chain for the rules of the swaps: its time, and whether an account can be paid. A wrong
//! answer costs a fee, and pays nothing twice.

use super::SolanaLink;
use super::rpc::{accounts, block_time, slot};
use super::snapshot::{TokenView, token};
use super::tx::address_of;
use crate::rpc::{ProviderReply, collect_facts};
use kernel::answer::Cause;
use kernel::ids::Millis;
use spl_associated_token_account_interface::address::get_associated_token_address;

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

    /// Whether an account can be paid: a token account of the vault's token, or a wallet whose associated account is one.
    ///
    /// # Errors
    /// The providers do not agree, or too few answer.
    pub(super) async fn takes_money(&self, account: &str) -> Result<bool, Cause> {
        let Some(named) = address_of(account) else { return Ok(false) };
        if [self.vault.key, self.vault.account].contains(&named) {
            return Ok(false);
        }
        let associated = get_associated_token_address(&named, &self.vault.mint);
        let replies = self.rpc.each(&accounts(&[named, associated])).await.into_iter().map(|one| {
            let usable = one.reply.map(|view| {
                let mut views = view.accounts.iter().map(Option::as_ref);
                let mut next = || token(views.next().flatten(), &self.vault.mint);
                let (named, associated) = (next(), next());
                // a wallet, or nothing at all
                let is_wallet = matches!(named, TokenView::Missing | TokenView::OtherProgram);
                if is_wallet { associated } else { named }
            });
            let reply = usable.map(|view| matches!(view, TokenView::Usable { .. }));
            ProviderReply { by: one.by, reply }
        });
        self.rpc.agree(replies.collect()).map(|agreed| agreed.fact)
    }
}
