//! Writes the transactions that create and close the nonce account of a lane. They are signed under a blockhash and expire
//! with it; whichever of them lands, and however often they are repeated, the account is created or closed once.

use super::{lane_address, lane_seed};
use solana_address::Address;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_message::Message;
use solana_nonce::state::State;
use solana_system_interface::instruction as system;

/// The compute units of such a transaction: about three times what its instructions use.
const COMPUTE_UNITS: u32 = 3_000;

/// A transaction about the lane of a number.
#[derive(Debug, Clone, Copy)]
pub(in crate::solana) struct LaneDraft<'a> {
    /// The key that the account is derived from, that advances it, and that pays.
    pub key: &'a Address,
    pub number: usize,
    /// What it is created with beside what it has, or all that it has, in lamports.
    pub lamports: u64,
    /// The priority fee, in micro-lamports for a compute unit.
    pub price: u64,
    pub blockhash: Hash,
}

impl LaneDraft<'_> {
    fn message(&self, instructions: impl IntoIterator<Item = Instruction>) -> Message {
        let budget = [
            ComputeBudgetInstruction::set_compute_unit_limit(COMPUTE_UNITS),
            ComputeBudgetInstruction::set_compute_unit_price(self.price),
        ];
        let all: Vec<Instruction> = budget.into_iter().chain(instructions).collect();
        Message::new_with_blockhash(&all, Some(self.key), &self.blockhash)
    }

    /// Creates the account. A stranger may have paid something to its address, at which the one instruction for all of it
    /// fails; so it is paid for, allocated and initialised one after the other.
    pub(in crate::solana) fn creation(&self) -> Option<Message> {
        let (key, seed) = (self.key, lane_seed(self.number));
        let lane = lane_address(key, self.number)?;
        let space = u64::try_from(State::size()).ok()?;
        let program = solana_system_interface::program::ID;
        let allocates = system::allocate_with_seed(&lane, key, &seed, space, &program);
        let both = system::create_nonce_account_with_seed(key, &lane, key, &seed, key, 0);
        let initialises = both.into_iter().next_back()?;
        let pays = (self.lamports > 0).then(|| system::transfer(key, &lane, self.lamports));
        Some(self.message(pays.into_iter().chain([allocates, initialises])))
    }

    /// Closes the account: all that it has goes to its key.
    pub(in crate::solana) fn closing(&self) -> Option<Message> {
        let lane = lane_address(self.key, self.number)?;
        let withdraws = system::withdraw_nonce_account(&lane, self.key, self.key, self.lamports);
        Some(self.message([withdraws]))
    }
}
