//! What a side shows of a transaction: how it ended, and what it did to accounts.

use crate::cases::Ends;
use crate::world::Parties;
use devnet::solana::Address;
use solana_account::Account;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The accounts that exist, by their address.
pub(crate) type Accounts = BTreeMap<Address, Account>;

/// Where a nonce account's data has its value.
const NONCE: Range<usize> = 40..72;
/// Where a token account's data has its amount.
const AMOUNT: Range<usize> = 64..72;

/// How a transaction ended, with the chain's own error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Failed(String),
    Refused(String),
}

impl End {
    pub(crate) fn is(&self, ends: Ends) -> bool {
        match self {
            Self::Done => ends == Ends::Done,
            Self::Failed(_) => ends == Ends::Failed,
            Self::Refused(_) => ends == Ends::Refused,
        }
    }
}

/// What a transaction did on one side.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) end: End,
    /// The lamports that the vault's key lost.
    fee: u64,
    spent: bool,
    /// Base units of the vault and of the receiver, after it.
    vault: u64,
    receiver: u64,
}

impl Seen {
    pub(crate) fn of(end: End, parties: &Parties, before: &Accounts, after: &Accounts) -> Self {
        let lamports =
            |accounts: &Accounts| accounts.get(&parties.key).map_or(0, |account| account.lamports);
        let nonce = |accounts: &Accounts| bytes(accounts, &parties.lane, NONCE);
        Self {
            end,
            fee: lamports(before).saturating_sub(lamports(after)),
            spent: nonce(before) != nonce(after),
            vault: amount(after, &parties.vault),
            receiver: amount(after, &parties.receiver),
        }
    }

    pub(crate) fn text(&self) -> String {
        let end = match &self.end {
            End::Done => "done".to_owned(),
            End::Failed(error) => format!("failed: {error}"),
            End::Refused(error) => format!("refused: {error}"),
        };
        let nonce = if self.spent { "spent" } else { "kept" };
        let Self { fee, vault, receiver, .. } = self;
        format!("{end}; fee {fee}, nonce {nonce}, vault {vault}, receiver {receiver}")
    }
}

fn bytes(accounts: &Accounts, address: &Address, range: Range<usize>) -> Option<Vec<u8>> {
    Some(accounts.get(address)?.data.get(range)?.to_vec())
}

fn amount(accounts: &Accounts, address: &Address) -> u64 {
    let amount = bytes(accounts, address, AMOUNT).and_then(|bytes| bytes.try_into().ok());
    amount.map_or(0, u64::from_le_bytes)
}

/// The accounts in which both sides differ. The value of the lane's nonce follows from a side's own blockhashes: of it only
/// [`Seen`] says whether it is another than before.
pub(crate) fn differences(lane: &Address, bank: &Accounts, local: &Accounts) -> Vec<String> {
    let fields = |accounts: &Accounts, address: &Address| {
        let Account { lamports, mut data, owner, executable, rent_epoch: _ } =
            accounts.get(address).cloned().unwrap_or_default();
        if let Some(nonce) = data.get_mut(NONCE).filter(|_| address == lane) {
            nonce.fill(0);
        }
        let data = data.iter().map(|byte| format!("{byte:02x}")).collect();
        let [lamports, owner] = [lamports.to_string(), owner.to_string()];
        [
            ("lamports", lamports),
            ("owner", owner),
            ("program", executable.to_string()),
            ("data", data),
        ]
    };
    let addresses: BTreeSet<_> = bank.keys().chain(local.keys()).collect();
    let differ = addresses.into_iter().flat_map(|address| {
        let both = fields(bank, address).into_iter().zip(fields(local, address));
        both.filter(|(bank, local)| bank != local).map(move |((field, bank), (_, local))| {
            format!("{field} of {address}: Bank {bank}; local {local}")
        })
    });
    differ.collect()
}
