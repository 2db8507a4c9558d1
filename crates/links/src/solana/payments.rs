//! Says what an act of the swaps pays at this chain for a transfer: to which account and how much, by the flow's own
//! table. Pure.

use super::tx::{Content, TokenPayment, address_of, spelled};
use super::{SolanaLink, tx::Vault};
use flows::{swap_in, swap_out};
use kernel::answer::Cause;
use kernel::flow::life::{Leg, Life, Meta, Side, Word};
use kernel::ids::AssetId;
use kernel::money::Amount;
use kernel::ports::chain::Payment;
use kernel::record::{Account, Record, System};
use solana_address::Address;
use spl_associated_token_account_interface::address::get_associated_token_address;

/// What is expected of a form for one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedPayment {
    /// The account as the transfer names it: a token account, or a wallet that stands for its associated one.
    pub named: Address,
    /// As the transfer spells it.
    pub account: Account,
    pub asset: AssetId,
    /// Base units of the token.
    pub amount: u64,
}

impl ExpectedPayment {
    /// The token accounts that the named account may stand for.
    pub(super) fn destinations(&self, vault: &Vault) -> [Address; 2] {
        [self.named, get_associated_token_address(&self.named, &vault.mint)]
    }

    /// Whether a payment is this one, whatever its fee and its memo. One that creates an account pays that one.
    pub(super) fn is_paid_by(&self, vault: &Vault, payment: &TokenPayment) -> bool {
        let [named, associated] = self.destinations(vault);
        let is_right = match payment.creates {
            Some(wallet) => wallet == named && payment.destination == associated,
            None => [named, associated].contains(&payment.destination),
        };
        self.amount == payment.amount && is_right
    }

    /// What a form that is this one pays, for the engine.
    pub(super) fn payment(&self) -> Payment {
        let (account, asset) = (self.account.clone(), self.asset);
        Payment { account, asset, amount: Amount(u128::from(self.amount)) }
    }
}

/// What an act does to the money of a transfer, where it is one that is made on a chain and moves any.
fn once<L: Life>(act: L::Act) -> Option<OnceAct> {
    let Meta { leg: Some(leg), side, share: Some(share), .. } = L::act(act) else { return None };
    Some(OnceAct { name: act.name(), leg, side, share })
}

/// One act that moves money on a chain.
struct OnceAct {
    name: &'static str,
    leg: Leg,
    side: Side,
    share: kernel::flow::life::Share,
}

fn acts() -> impl Iterator<Item = OnceAct> {
    let deposits = swap_in::Act::ALL.iter().filter_map(|act| once::<swap_in::State>(*act));
    let payouts = swap_out::Act::ALL.iter().filter_map(|act| once::<swap_out::State>(*act));
    deposits.chain(payouts)
}

impl SolanaLink {
    /// What the act of this name pays for a transfer.
    ///
    /// # Errors
    /// It is no act of this chain, or the transfer names no account of it.
    pub(super) fn expected(&self, act: &str, record: &Record) -> Result<ExpectedPayment, Cause> {
        let act = acts().find(|one| one.name == act).ok_or(Cause::of("NO_SUCH_ACT"))?;
        self.expected_of(&act, record)
    }

    fn expected_of(&self, act: &OnceAct, record: &Record) -> Result<ExpectedPayment, Cause> {
        let party = match act.side {
            Side::Source => record.source(),
            Side::Target => record.target(),
        };
        if party.system != System::Chain(self.settings.chain) {
            return Err(Cause::of("OTHER_CHAIN"));
        }
        let (asset, amount) = record.share(act.share).ok_or(Cause::of("NO_AMOUNT"))?;
        if asset != self.settings.asset {
            return Err(Cause::of("OTHER_ASSET"));
        }
        let account = match act.leg {
            Leg::Quarantine => {
                let ours = self.vault.quarantine.ok_or(Cause::of("NO_QUARANTINE_ACCOUNT"))?;
                Account::Named(spelled(&ours).into())
            }
            Leg::Withdraw | Leg::Deposit | Leg::Settle | Leg::Refund | Leg::Move | Leg::Cost => {
                party.account.clone()
            }
        };
        let Account::Named(name) = &account else { return Err(Cause::of("NO_ACCOUNT")) };
        let named = address_of(name).ok_or(Cause::of("NO_ACCOUNT"))?;
        let own = [self.vault.account, self.vault.key];
        if own.contains(&named) {
            return Err(Cause::of("OWN_ACCOUNT"));
        }
        let amount = u64::try_from(amount.0).ok().filter(|amount| *amount > 0);
        Ok(ExpectedPayment { named, account, asset, amount: amount.ok_or(Cause::of("NO_AMOUNT"))? })
    }

    /// What a form pays to its member: `None` where no act of the member's flow pays that.
    pub(super) fn served(&self, content: &Content, member: &Record) -> Option<ExpectedPayment> {
        let Content::Pay(payment) = content else { return None };
        let all = acts().filter_map(|act| self.expected_of(&act, member).ok());
        all.into_iter().find(|expected| expected.is_paid_by(&self.vault, payment))
    }
}

/// The memo of a payment: where the money came from as the swap service's own tools look for it, and the transfer's id.
/// It is for people: nothing is proven by it.
pub(super) fn memo(act: &str, record: &Record) -> String {
    let word = match act {
        name if name == swap_out::Act::Pay.name() => "nexus_txid",
        name if name == swap_in::Act::Refund.name() => "refundSig",
        name if name == swap_in::Act::Quarantine.name() => "quarantinedSig",
        _ => "",
    };
    match &record.terms.origin {
        Some(origin) if !word.is_empty() => format!("{word}:{} {}", origin.key, record.id),
        Some(_) | None => record.id.to_string(),
    }
}
