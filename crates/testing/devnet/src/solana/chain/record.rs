//! What the chain keeps of a transaction that a block holds: all that a node shows of it.

use super::{Accounts, block::Block, vm::Executed};
use solana_account::ReadableAccount;
use solana_account_decoder_client_types::token::{UiTokenAmount, real_number_string_trimmed};
use solana_address::Address;
use solana_message::{
    VersionedMessage, compiled_instruction::CompiledInstruction, v0::LoadedAddresses,
};
use solana_program_pack::Pack;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_status_client_types::{
    InnerInstruction, InnerInstructions, TransactionStatusMeta, TransactionTokenBalance,
};
use spl_token_interface::state::{Account as TokenAccount, Mint};

const TOKEN_2022: Address = Address::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
const COMPUTE_BUDGET: Address =
    Address::from_str_const("ComputeBudget111111111111111111111111111111");
/// Where the addresses of a lookup table begin.
const TABLE_HEADER: usize = 56;
const ADDRESS_BYTES: usize = 32;
/// The tag of `SetComputeUnitPrice` in the compute-budget program.
const SET_PRICE: u8 = 3;

#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) transaction: VersionedTransaction,
    pub(crate) height: u64,
    pub(crate) slot: u64,
    /// Its place in the block.
    pub(crate) index: u32,
    /// The message's own keys, then those that it loads for writing and for reading.
    pub(crate) keys: Vec<Address>,
    pub(crate) writable: Vec<Address>,
    pub(crate) meta: TransactionStatusMeta,
    pub(crate) memos: Vec<String>,
    /// Micro-lamports for a compute unit.
    pub(crate) price: u64,
}

impl Record {
    pub(super) fn new(
        transaction: VersionedTransaction,
        before: &Accounts,
        executed: Executed,
        block: &Block,
        fixed_lamports: impl Fn(&Address) -> u64,
    ) -> Self {
        let message = &transaction.message;
        let loaded = loaded(before, message).unwrap_or_default();
        let keys: Vec<Address> = message
            .static_account_keys()
            .iter()
            .chain(&loaded.writable)
            .chain(&loaded.readonly)
            .copied()
            .collect();
        let writable = writable(message, &loaded);
        let lamports = |accounts: &Accounts| {
            let of =
                |key| accounts.get(key).map_or_else(|| fixed_lamports(key), |held| held.lamports());
            keys.iter().map(of).collect()
        };
        let Executed { result, meta, accounts: after } = executed;
        let meta = TransactionStatusMeta {
            status: result,
            fee: meta.fee,
            pre_balances: lamports(before),
            post_balances: lamports(&after),
            inner_instructions: Some(inner(meta.inner_instructions)),
            log_messages: Some(meta.logs),
            pre_token_balances: Some(token_balances(before, &keys)),
            post_token_balances: Some(token_balances(&after, &keys)),
            rewards: Some(Vec::new()),
            loaded_addresses: loaded,
            return_data: Some(meta.return_data).filter(|data| !data.data.is_empty()),
            compute_units_consumed: Some(meta.compute_units_consumed),
            cost_units: None,
        };
        let memos = memos(message, &keys);
        let price = price(message, &keys);
        let index = u32::try_from(block.transactions.len()).unwrap_or(u32::MAX);
        let (height, slot) = (block.height, block.slot);
        Self { height, slot, index, keys, writable, meta, memos, price, transaction }
    }
}

/// The addresses that a message loads from lookup tables; none if a table lacks one.
pub(crate) fn loaded(accounts: &Accounts, message: &VersionedMessage) -> Option<LoadedAddresses> {
    let mut loaded = LoadedAddresses::default();
    for lookup in message.address_table_lookups().unwrap_or_default() {
        let table = accounts.get(&lookup.account_key)?.data().get(TABLE_HEADER..)?;
        let at = |index: &u8| {
            let entry = table.chunks_exact(ADDRESS_BYTES).nth(usize::from(*index))?;
            Address::try_from(entry).ok()
        };
        for index in &lookup.writable_indexes {
            loaded.writable.push(at(index)?);
        }
        for index in &lookup.readonly_indexes {
            loaded.readonly.push(at(index)?);
        }
    }
    Some(loaded)
}

/// The addresses that a message may write.
pub(crate) fn writable(message: &VersionedMessage, loaded: &LoadedAddresses) -> Vec<Address> {
    let own = message.static_account_keys().iter().enumerate();
    let own = own.filter(|(index, _)| message.is_maybe_writable(*index, None));
    own.map(|(_, key)| *key).chain(loaded.writable.iter().copied()).collect()
}

fn inner(
    list: Vec<Vec<solana_message::inner_instruction::InnerInstruction>>,
) -> Vec<InnerInstructions> {
    let numbered = list.into_iter().zip(0..=u8::MAX).filter(|(inner, _)| !inner.is_empty());
    numbered
        .map(|(inner, index)| InnerInstructions {
            index,
            instructions: inner
                .into_iter()
                .map(|inner| InnerInstruction {
                    instruction: inner.instruction,
                    stack_height: Some(u32::from(inner.stack_height)),
                })
                .collect(),
        })
        .collect()
}

/// The balance of a token account, and the program, mint and owner of it.
pub(crate) fn token_account(
    accounts: &Accounts,
    address: &Address,
) -> Option<(Address, TokenAccount)> {
    let account = accounts.get(address)?;
    let program = *account.owner();
    if program != spl_token_interface::ID && program != TOKEN_2022 {
        return None;
    }
    let data = account.data().get(..TokenAccount::LEN)?;
    Some((program, TokenAccount::unpack(data).ok()?))
}

/// An amount as a node shows it; the decimals are those of its mint.
pub(crate) fn shown_amount(
    accounts: &Accounts,
    mint: &Address,
    amount: u64,
) -> Option<UiTokenAmount> {
    let decimals = Mint::unpack(accounts.get(mint)?.data().get(..Mint::LEN)?).ok()?.decimals;
    let text = real_number_string_trimmed(amount, decimals);
    Some(UiTokenAmount {
        ui_amount: text.parse().ok(),
        decimals,
        amount: amount.to_string(),
        ui_amount_string: text,
    })
}

fn token_balances(accounts: &Accounts, keys: &[Address]) -> Vec<TransactionTokenBalance> {
    let shown = |(key, account_index): (&Address, u8)| {
        let (program, held) = token_account(accounts, key)?;
        Some(TransactionTokenBalance {
            account_index,
            mint: held.mint.to_string(),
            ui_token_amount: shown_amount(accounts, &held.mint, held.amount)?,
            owner: held.owner.to_string(),
            program_id: program.to_string(),
        })
    };
    keys.iter().zip(0..=u8::MAX).filter_map(shown).collect()
}

/// The outer instructions of one of these programs.
fn of_program<'a>(
    message: &'a VersionedMessage,
    keys: &'a [Address],
    programs: &'a [Address],
) -> impl Iterator<Item = &'a CompiledInstruction> {
    message.instructions().iter().filter(move |instruction| {
        let program = keys.get(usize::from(instruction.program_id_index));
        program.is_some_and(|program| programs.contains(program))
    })
}

fn memos(message: &VersionedMessage, keys: &[Address]) -> Vec<String> {
    let programs = [spl_memo_interface::v1::ID, spl_memo_interface::v3::ID];
    let memos = of_program(message, keys, &programs);
    memos.map(|memo| String::from_utf8_lossy(&memo.data).into_owned()).collect()
}

fn price(message: &VersionedMessage, keys: &[Address]) -> u64 {
    let set = of_program(message, keys, &[COMPUTE_BUDGET])
        .filter_map(|instruction| instruction.data.split_first())
        .find(|(tag, _)| **tag == SET_PRICE)
        .and_then(|(_, bytes)| bytes.try_into().ok());
    set.map_or(0, u64::from_le_bytes)
}
