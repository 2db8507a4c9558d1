//! Finds out which account a payment to an address goes to: the address itself, or the associated account of the wallet
//! that it is, which a payment may create.

use super::SolanaLink;
use super::rpc::{AccountView, AccountsView, accounts};
use super::snapshot::{TokenView, token};
use crate::rpc::ProviderReply;
use ed25519_dalek::VerifyingKey;
use kernel::answer::Cause;
use solana_address::Address;
use spl_associated_token_account_interface::address::get_associated_token_address;

/// The account that a payment to an address goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PaidAccount {
    /// The address itself: the token program has it.
    Named,
    /// The associated account of the address.
    Associated,
    /// The same, which the payment creates.
    Created,
}

/// An address as final blocks show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceiverView {
    pub account: PaidAccount,
    /// Whether that account takes the vault's token.
    pub takes: bool,
}

impl SolanaLink {
    /// What final blocks show of the receiver at an address. One provider alone must not choose the account: it could name
    /// one that does not exist, so that a payment fails.
    ///
    /// # Errors
    /// The providers do not agree, or too few answer.
    pub(super) async fn receiver<T: PartialEq + std::fmt::Debug>(
        &self,
        named: &Address,
        of: impl Fn(ReceiverView) -> T,
    ) -> Result<T, Cause> {
        let associated = get_associated_token_address(named, &self.vault.mint);
        let replies = self.rpc.each(&accounts(&[*named, associated])).await.into_iter();
        let replies = replies.map(|one| {
            let reply = one.reply.map(|view| of(self.receiver_in(named, &view)));
            ProviderReply { by: one.by, reply }
        });
        self.rpc.agree(replies.collect()).map(|agreed| agreed.fact)
    }

    fn receiver_in(&self, named: &Address, view: &AccountsView) -> ReceiverView {
        let mut shown = view.accounts.iter().map(Option::as_ref);
        let mut next = || shown.next().flatten();
        let (account, associated) = (next(), next());
        let of = |account| token(account, &self.vault.mint);
        let takes = |view: TokenView| matches!(view, TokenView::Usable { .. });
        let (itself, other) = (of(account), of(associated));
        // the token program's own are accounts, whatever their state; any other one may be a wallet
        if !matches!(itself, TokenView::Missing | TokenView::OtherProgram) {
            return ReceiverView { account: PaidAccount::Named, takes: takes(itself) };
        }
        let creates = self.settings.create_token_accounts && other == TokenView::Missing;
        if creates && is_wallet(named, account) {
            return ReceiverView { account: PaidAccount::Created, takes: true };
        }
        ReceiverView { account: PaidAccount::Associated, takes: takes(other) }
    }
}

/// Whether an address is a wallet: a key can sign for it, and no program has anything there.
fn is_wallet(address: &Address, account: Option<&AccountView>) -> bool {
    let is_plain = |account: &AccountView| {
        account.owner == solana_system_interface::program::ID && account.data.is_empty()
    };
    VerifyingKey::from_bytes(&address.to_bytes()).is_ok() && account.is_none_or(is_plain)
}
