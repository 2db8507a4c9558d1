//! Writes a form: the advance of its lane's nonce, and behind it the payment with its fee and its memo.

use super::{Content, TokenPayment, Vault};
use kernel::answer::Cause;
use solana_address::Address;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_message::{Message, VersionedMessage};
use solana_signature::Signature;
use solana_system_interface::instruction::advance_nonce_account;
use solana_transaction::versioned::VersionedTransaction;
use spl_associated_token_account_interface::instruction::create_associated_token_account_idempotent;
use spl_memo_interface::instruction::build_memo;

/// What a form is made of.
#[derive(Debug)]
pub(in crate::solana) struct FormDraft<'a> {
    pub vault: &'a Vault,
    /// The nonce account of the lane, and its value.
    pub lane: Address,
    pub lock: Hash,
    pub content: &'a Content,
}

fn unwritten(what: &str) -> Cause {
    Cause::because("NOT_WRITTEN", what)
}

/// The message of a form, as its key signs it.
///
/// # Errors
/// The settings' accounts make no instruction.
pub(in crate::solana) fn message(draft: &FormDraft<'_>) -> Result<Message, Cause> {
    let FormDraft { vault, lane, lock, content } = draft;
    let mut instructions = vec![advance_nonce_account(lane, &vault.key)];
    if let Content::Pay(payment) = content {
        instructions.extend(payment_instructions(vault, payment)?);
    }
    Ok(Message::new_with_blockhash(&instructions, Some(&vault.key), lock))
}

fn payment_instructions(vault: &Vault, payment: &TokenPayment) -> Result<Vec<Instruction>, Cause> {
    let TokenPayment { destination, creates, amount, memo, units, price } = payment;
    let program = spl_token_interface::ID;
    let transfer = spl_token_interface::instruction::transfer_checked(
        &program,
        &vault.account,
        &vault.mint,
        destination,
        &vault.key,
        &[],
        *amount,
        vault.decimals,
    );
    let mut all = vec![
        ComputeBudgetInstruction::set_compute_unit_limit(*units),
        ComputeBudgetInstruction::set_compute_unit_price(*price),
    ];
    // where another transaction created it meanwhile this changes nothing
    all.extend(creates.map(|wallet| {
        create_associated_token_account_idempotent(&vault.key, &wallet, &vault.mint, &program)
    }));
    all.push(transfer.map_err(|_| unwritten("a transfer"))?);
    all.push(build_memo(&spl_memo_interface::v3::ID, memo.as_bytes(), &[]));
    Ok(all)
}

/// The signed bytes of a form, as they are sent.
///
/// # Errors
/// They cannot be encoded.
pub(in crate::solana) fn with_signature(
    message: Message,
    signature: [u8; 64],
) -> Result<Vec<u8>, Cause> {
    let transaction = VersionedTransaction {
        signatures: vec![Signature::from(signature)],
        message: VersionedMessage::Legacy(message),
    };
    bincode::serialize(&transaction).map_err(|_| unwritten("a transaction"))
}
