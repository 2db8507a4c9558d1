//! Reads what one final transaction did to the vault's money: who paid in by which instruction, and whom its memo names.
//! What counts is the change of the vault's own balance; instructions only say who it came from. Pure.

use super::super::rpc::SeenTransaction;
use super::super::settings::SolanaSettings;
use super::super::tx::{SignedTransaction, Vault, spelled};
use super::DepositSettings;
use flows::swap_in::rules::destination;
use flows::swaps::fees::SwapQuote;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::deposits::VaultMovement;
use kernel::record::{Account, Origin, Party, System, Terms};
use solana_address::Address;
use spl_token_interface::instruction::TokenInstruction;
use std::sync::Arc;

/// The prefix of a memo that names the receiver of a swap.
const NAMES: &str = "nexus";

/// One payment into the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaymentIn {
    /// The place of its instruction: `2`, or `2.1` for one that another program called.
    path: String,
    /// The token account that paid; `None`: it is not known.
    from: Option<Address>,
    amount: u64,
}

/// What one transaction changed of the vault's balance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct BalanceChange {
    /// The signature of the transaction.
    pub signature: String,
    /// Its bytes, as the forms of attempts have them for their names.
    pub name: Vec<u8>,
    /// The vault's balance before it, and after it.
    pub before: u64,
    pub after: u64,
    /// What came in, where something did.
    pub payments: Vec<PaymentIn>,
    /// The one memo that names a receiver.
    pub memo: Option<String>,
}

/// The change of the vault's balance; `None`: it left it as it was.
///
/// # Errors
/// The transaction is not understood.
pub(super) fn change_of(
    vault: &Vault,
    signature: &str,
    seen: &SeenTransaction,
) -> Result<Option<BalanceChange>, Cause> {
    let bad = || Cause::because("BAD_REPLY", format!("the bytes of {signature}"));
    let found = SignedTransaction::read(&seen.bytes, &seen.loaded).ok_or_else(bad)?;
    let name = found.name().ok_or_else(bad)?;
    if crate::base58::base58(&name) != signature {
        return Err(bad());
    }
    let Some(place) = found.place(&vault.account) else { return Ok(None) };
    let balance = |balances: &std::collections::BTreeMap<u64, super::super::rpc::TokenBalance>| {
        let own = balances.get(&place).filter(|one| one.mint == vault.mint);
        own.map_or(0, |one| one.amount)
    };
    let (before, after) = (balance(&seen.before), balance(&seen.after));
    if before == after {
        return Ok(None);
    }
    let payments = match after.checked_sub(before) {
        Some(came) => payments(vault, &found, seen, came),
        None => Vec::new(),
    };
    let memo = receiver_memo(&found, seen);
    let (signature, name) = (signature.to_owned(), name.to_vec());
    Ok(Some(BalanceChange { signature, name, before, after, payments, memo }))
}

/// What came in, by instruction. Where instructions do not say all of it (a token program has more of them than are read
/// here, and a program may pay out and in at once), it is one payment, from the only account that paid.
fn payments(
    vault: &Vault,
    found: &SignedTransaction,
    seen: &SeenTransaction,
    came: u64,
) -> Vec<PaymentIn> {
    let all = found.instructions_with_inner(&seen.inner);
    let payments: Vec<PaymentIn> =
        all.filter_map(|one| payment(vault, found, &one)).filter(|one| one.amount > 0).collect();
    let sum = payments.iter().fold(0_u64, |sum, one| sum.saturating_add(one.amount));
    if sum == came && payments.iter().all(|one| one.from != Some(vault.account)) {
        return payments;
    }
    let less = seen.before.iter().filter(|(place, before)| {
        let after = seen.after.get(place).map_or(0, |after| after.amount);
        before.mint == vault.mint && before.amount > after
    });
    let mut payers = less.filter_map(|(place, _)| found.at_place(*place)).copied();
    let from = payers.next().filter(|_| payers.next().is_none());
    vec![PaymentIn { path: "balance".to_owned(), from, amount: came }]
}

/// The payment to the vault that an instruction is.
fn payment(
    vault: &Vault,
    found: &SignedTransaction,
    one: &super::super::tx::PlacedInstruction<'_>,
) -> Option<PaymentIn> {
    let account = |place: usize| found.key(*one.accounts.get(place)?).copied();
    found.key(one.program).filter(|program| **program == spl_token_interface::ID)?;
    let read = TokenInstruction::unpack(one.data).ok()?;
    let (from, to, amount) = if let TokenInstruction::TransferChecked { amount, .. } = read {
        (account(0), account(2), amount)
    } else if let TokenInstruction::MintTo { amount }
    | TokenInstruction::MintToChecked { amount, .. } = read
    {
        (None, account(1), amount)
    } else if let TokenInstruction::Transfer { amount } = read {
        // it does not name its mint: wallets still make it
        (account(0), account(1), amount)
    } else {
        return None;
    };
    (to == Some(vault.account)).then(|| PaymentIn { path: one.path.clone(), from, amount })
}

/// The memo that names the receiver: the only one of the transaction that begins so, or none.
fn receiver_memo(found: &SignedTransaction, seen: &SeenTransaction) -> Option<String> {
    let texts = found.memos(&seen.inner);
    let names = |text: &String| {
        text.split_once(':').is_some_and(|(word, _)| word.trim().eq_ignore_ascii_case(NAMES))
    };
    let mut named = texts.into_iter().filter(names);
    named.next().filter(|_| named.next().is_none())
}

/// What the deposits of one block open, and what is agreed with that.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenedSwaps<'a> {
    pub own: &'a SolanaSettings,
    pub settings: &'a DepositSettings,
    /// The time of the block.
    pub time: Millis,
}

impl OpenedSwaps<'_> {
    /// The movements that a change of the vault's balance is.
    pub(super) fn movements(&self, change: &BalanceChange) -> Vec<VaultMovement> {
        if let Some(left) = change.before.checked_sub(change.after).filter(|left| *left > 0) {
            let facts = format!("{} took {left} from the vault", change.signature);
            let (form, amount) = (change.name.as_slice().into(), Amount(left.into()));
            return vec![VaultMovement::Left { form, amount, facts: facts.into() }];
        }
        change.payments.iter().map(|payment| self.movement(change, payment)).collect()
    }

    fn movement(&self, change: &BalanceChange, payment: &PaymentIn) -> VaultMovement {
        let from = payment.from.map(|from| Arc::<str>::from(spelled(&from)));
        let is_own = |from: &Arc<str>| self.settings.funding_accounts.contains(from);
        if from.as_ref().is_some_and(is_own) {
            return VaultMovement::Funded(Amount(payment.amount.into()));
        }
        VaultMovement::Deposited(self.terms(change, payment, from))
    }

    /// The terms of a deposit: its swap, its fees and its deadline are agreed when it is opened.
    fn terms(&self, change: &BalanceChange, payment: &PaymentIn, from: Option<Arc<str>>) -> Terms {
        let Self { own, settings, time } = self;
        let amount = Amount(payment.amount.into());
        let SwapQuote { fee, net, refund_fee } = settings.fees.quote(amount);
        let named = change.memo.as_deref().and_then(destination);
        let named = named.map_or(Account::Unnamed, |name| Account::Named(name.into()));
        let owner = TransferOwner::ChainAccount {
            chain: own.chain,
            account: from.clone().unwrap_or_else(|| change.signature.as_str().into()),
        };
        let source = Party {
            system: System::Chain(own.chain),
            account: from.map_or(Account::Unnamed, Account::Named),
            asset: own.asset,
            amount,
        };
        let target = Party {
            system: System::Chain(settings.target_chain),
            account: named,
            asset: settings.target_asset,
            amount: net,
        };
        let key = format!("{}/{}", change.signature, payment.path).into();
        Terms {
            fee,
            refund_fee,
            origin: Some(Origin { chain: own.chain, key }),
            deadline: Some(time.saturating_add(settings.refund_timeout_ms)),
            memo: change.memo.clone(),
            ..Terms::between(settings.principal.clone(), owner, source, target)
        }
    }
}
