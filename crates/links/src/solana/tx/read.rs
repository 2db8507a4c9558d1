//! Reads transactions back out of their bytes: a form of ours exactly, and of any other one what it does to a lane.

use super::write::{FormDraft, message};
use super::{Content, TokenPayment, Vault};
use crate::solana::rpc::InnerInstruction;
use ed25519_dalek::{Signature, VerifyingKey};
use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::ports::chain::FOREIGN_FORM;
use solana_address::Address;
use solana_hash::Hash;
use solana_message::VersionedMessage;
use solana_message::compiled_instruction::CompiledInstruction;
use solana_system_interface::instruction::SystemInstruction;
use solana_transaction::versioned::VersionedTransaction;
use spl_token_interface::instruction::TokenInstruction;

/// A signed transaction, with every address that it names.
#[derive(Debug, Clone)]
pub(in crate::solana) struct SignedTransaction {
    transaction: VersionedTransaction,
    /// The message's own keys, then those that it loads.
    keys: Vec<Address>,
}

/// An instruction of a transaction, one of its own or one that a program called.
#[derive(Debug, Clone)]
pub(in crate::solana) struct PlacedInstruction<'a> {
    /// Its place: `2`, or `2.1` for one that the program of the third called as its second.
    pub path: String,
    /// Its program and its accounts, by their places among the addresses that the transaction names.
    pub program: u8,
    pub accounts: &'a [u8],
    /// What the program reads.
    pub data: &'a [u8],
}

/// A form of ours, as its bytes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solana) struct ReadForm {
    /// The signature, which names it.
    pub signature: [u8; 64],
    /// The nonce account that it advances.
    pub lane: Address,
    /// The nonce that it spends.
    pub lock: Hash,
    pub content: Content,
}

/// What a transaction that the vault signed does to a lane's nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solana) enum LaneStep {
    /// The lane begins with it: there was no such account before.
    Begins,
    /// It spends the nonce that it names, whether it succeeds or fails.
    Spends,
    /// It advances the nonce where it succeeds, and does not name it.
    Advances,
}

fn foreign(what: &str) -> Cause {
    Cause::because(FOREIGN_FORM, what)
}

impl SignedTransaction {
    /// Reads signed bytes; `loaded`: the addresses that the message loads from tables. `None`: they are none.
    pub(in crate::solana) fn read(bytes: &[u8], loaded: &[Address]) -> Option<Self> {
        let transaction: VersionedTransaction = bincode::deserialize(bytes).ok()?;
        // the library skips what follows
        let same = bincode::serialize(&transaction).ok().filter(|again| again == bytes);
        same.filter(|_| transaction.sanitize().is_ok())?;
        let keys = transaction.message.static_account_keys().iter().chain(loaded).copied();
        Some(Self { keys: keys.collect(), transaction })
    }

    /// The signature that names it.
    pub(in crate::solana) fn name(&self) -> Option<[u8; 64]> {
        self.transaction.signatures.first()?.as_ref().try_into().ok()
    }

    /// The blockhash or the nonce that it was signed under.
    pub(in crate::solana) fn lock(&self) -> &Hash {
        self.transaction.message.recent_blockhash()
    }

    /// True where this key signed it: no other key can make such bytes, whatever a provider shows.
    pub(in crate::solana) fn is_signed_by(&self, key: &Address) -> bool {
        let message = &self.transaction.message;
        let place = message.static_account_keys().iter().position(|one| one == key);
        let signature = place.and_then(|place| self.transaction.signatures.get(place));
        let signature = signature.and_then(|one| Signature::from_slice(one.as_ref()).ok());
        let verifying = VerifyingKey::from_bytes(&key.to_bytes()).ok();
        let (Some(signature), Some(verifying)) = (signature, verifying) else { return false };
        verifying.verify_strict(&message.serialize(), &signature).is_ok()
    }

    /// The place of an address among those that it names.
    pub(in crate::solana) fn place(&self, address: &Address) -> Option<u64> {
        let place = self.keys.iter().position(|key| key == address)?;
        u64::try_from(place).ok()
    }

    fn instructions(&self) -> &[CompiledInstruction] {
        self.transaction.message.instructions()
    }

    /// All instructions; `inner`: those that programs called.
    pub(in crate::solana) fn instructions_with_inner<'a>(
        &'a self,
        inner: &'a [InnerInstruction],
    ) -> impl Iterator<Item = PlacedInstruction<'a>> {
        let own = self.instructions().iter().enumerate().map(|(place, one)| PlacedInstruction {
            path: place.to_string(),
            program: one.program_id_index,
            accounts: &one.accounts,
            data: &one.data,
        });
        let called = inner.iter().map(|one| PlacedInstruction {
            path: format!("{}.{}", one.outer, one.place),
            program: one.program,
            accounts: &one.accounts,
            data: &one.data,
        });
        own.chain(called)
    }

    /// The texts of its memos, by either memo program.
    pub(in crate::solana) fn memos(&self, inner: &[InnerInstruction]) -> Vec<String> {
        let programs = [spl_memo_interface::v1::ID, spl_memo_interface::v3::ID];
        let is_memo = |one: &PlacedInstruction<'_>| {
            self.key(one.program).is_some_and(|program| programs.contains(program))
        };
        let texts = self.instructions_with_inner(inner).filter(is_memo);
        texts.filter_map(|one| String::from_utf8(one.data.to_vec()).ok()).collect()
    }

    /// The address at a place among those that it names.
    pub(in crate::solana) fn at_place(&self, place: u64) -> Option<&Address> {
        self.keys.get(usize::try_from(place).ok()?)
    }

    /// The same of the place in an instruction.
    pub(in crate::solana) fn key(&self, index: u8) -> Option<&Address> {
        self.keys.get(usize::from(index))
    }

    /// The account at a place of an instruction.
    fn account(&self, instruction: &CompiledInstruction, place: usize) -> Option<&Address> {
        self.key(*instruction.accounts.get(place)?)
    }

    /// The instruction of the system program, where it is one.
    fn system(&self, instruction: &CompiledInstruction) -> Option<SystemInstruction> {
        let program = self.key(instruction.program_id_index)?;
        let own = *program == solana_system_interface::program::ID;
        own.then(|| bincode::deserialize(&instruction.data).ok()).flatten()
    }
}

/// What a transaction does to the nonce of a lane; `None`: nothing, or the vault did not sign it and it can do nothing.
pub(in crate::solana) fn step_of(
    found: &SignedTransaction,
    vault: &Address,
    lane: &Address,
) -> Option<LaneStep> {
    let steps = found.instructions().iter().enumerate().filter_map(|(place, instruction)| {
        // every instruction about a nonce account names it first
        let system = found.system(instruction)?;
        found.account(instruction, 0).filter(|account| *account == lane)?;
        let advances = matches!(system, SystemInstruction::AdvanceNonceAccount);
        let begins = matches!(system, SystemInstruction::InitializeNonceAccount(_));
        match (advances, begins) {
            (true, _) if place == 0 => Some(LaneStep::Spends),
            (true, _) => Some(LaneStep::Advances),
            (false, true) => Some(LaneStep::Begins),
            (false, false) => None,
        }
    });
    let step = steps.into_iter().next()?;
    found.is_signed_by(vault).then_some(step)
}

/// Reads a form of ours, and holds the bytes to what they should be: written again they are the same.
///
/// # Errors
/// `FOREIGN_FORM`: it is none.
pub(in crate::solana) fn read_form(vault: &Vault, bytes: &[u8]) -> Result<ReadForm, Cause> {
    let found = SignedTransaction::read(bytes, &[]).ok_or_else(|| foreign("no transaction"))?;
    let lane = found.instructions().first().and_then(|first| found.account(first, 0));
    let lane = *lane.ok_or_else(|| foreign("a form advances no nonce"))?;
    let content = content(&found).ok_or_else(|| foreign("a form is no payment of ours"))?;
    let lock = *found.lock();
    let draft = FormDraft { vault, lane, lock, content: &content };
    if VersionedMessage::Legacy(message(&draft)?) != found.transaction.message {
        return Err(foreign("a form does more, or another thing, than it should"));
    }
    let signed = found.transaction.signatures.len() == 1 && found.is_signed_by(&vault.key);
    let signature = found.name().filter(|_| signed);
    let signature = signature.ok_or_else(|| foreign("another key signed a form"))?;
    Ok(ReadForm { signature, lane, lock, content })
}

/// The content that the instructions may be of: whether they are all of it is seen by writing it again.
fn content(found: &SignedTransaction) -> Option<Content> {
    let [_, rest @ ..] = found.instructions() else { return None };
    let (units, price, creates, transfer, memo) = match rest {
        [] => return Some(Content::Void),
        [units, price, transfer, memo] => (units, price, None, transfer, memo),
        [units, price, creates, transfer, memo] => {
            // it names who pays, the account, and its wallet
            (units, price, Some(*found.account(creates, 2)?), transfer, memo)
        }
        _ => return None,
    };
    let (_tag, units) = units.data.split_first()?;
    let units = u32::from_le_bytes(units.try_into().ok()?);
    let (_tag, price) = price.data.split_first()?;
    let price = u64::from_le_bytes(price.try_into().ok()?);
    let TokenInstruction::TransferChecked { amount, .. } =
        TokenInstruction::unpack(&transfer.data).ok()?
    else {
        return None;
    };
    let destination = *found.account(transfer, 2)?;
    let memo = String::from_utf8(memo.data.clone()).ok()?;
    Some(Content::Pay(TokenPayment { destination, creates, amount, memo, units, price }))
}

/// The transfer that a word names, spelled as this product spells it.
pub(in crate::solana) fn is_transfer_id(word: &str) -> Option<Id> {
    word.parse().ok().filter(|id: &Id| id.to_string() == word)
}
