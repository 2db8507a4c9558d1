//! Making a block: transactions first, then receipts, as far as its gas goes.

use super::{
    Chain, Head,
    block::{Block, chunk_hash},
    execute::{self, Call},
    receipt::{Executed, Receipt, ReceiptRecord, result},
    state::State,
    status::TransactionRecord,
    verify,
};
use near_primitives::{
    hash::CryptoHash, transaction::SignedTransaction, types::AccountId, views::ExecutionStatusView,
};
use std::{collections::VecDeque, sync::Arc};

/// A block while it is made.
struct Draft {
    height: u64,
    hash: CryptoHash,
    timestamp: u64,
    state: State,
    transactions: Vec<CryptoHash>,
    executed: Vec<CryptoHash>,
    gas_used: u64,
    tokens_burnt: u128,
    /// Receipts from an account to itself execute in the block that they come from.
    local: VecDeque<Receipt>,
}

impl Chain {
    /// Makes the next block, with this timestamp or a later one.
    pub(crate) fn produce(&mut self, timestamp: u64) {
        let Some(last) = self.blocks.last() else { return };
        let height = last.height.saturating_add(1);
        let (prev_hash, state) = (last.hash, last.state.clone());
        let earliest = last.timestamp.saturating_add(1);
        let mut draft = Draft {
            height,
            hash: CryptoHash::hash_borsh((prev_hash, height)),
            timestamp: if timestamp < earliest { earliest } else { timestamp },
            state,
            transactions: Vec::new(),
            executed: Vec::new(),
            gas_used: 0,
            tokens_burnt: 0,
            local: VecDeque::new(),
        };
        let mut waiting = self.queue.take(&self.receipts);
        self.include(&mut draft);
        let mut local = std::mem::take(&mut draft.local);
        local.append(&mut waiting);
        while let Some(receipt) = local.pop_front() {
            if self.full(draft.gas_used) {
                local.push_front(receipt);
                break;
            }
            self.apply(&mut draft, &receipt);
        }
        self.queue.put_back(local);
        self.close(draft, prev_hash);
    }

    fn full(&self, gas_used: u64) -> bool {
        self.options.block_gas.is_some_and(|limit| gas_used >= limit)
    }

    fn include(&mut self, draft: &mut Draft) {
        let mut taken = self.pool.take(draft.height).into_iter();
        for signed in taken.by_ref() {
            // Half of a block is left for receipts.
            if self.full(draft.gas_used.saturating_mul(2)) {
                self.pool.insert(signed, 0);
                break;
            }
            // What is no longer valid is dropped without a trace, as by a node.
            drop(self.include_one(draft, signed));
        }
        for signed in taken {
            self.pool.insert(signed, 0);
        }
    }

    fn include_one(
        &mut self,
        draft: &mut Draft,
        signed: SignedTransaction,
    ) -> Result<(), near_primitives::errors::InvalidTxError> {
        self.in_time(&signed, draft.height.saturating_sub(1))?;
        verify::statically(&self.config, &signed)?;
        let head = self.head(draft.height, draft.timestamp);
        let charge = verify::against_state(&head, &mut draft.state, &signed)?;
        let hash = signed.get_hash();
        let transaction = &signed.transaction;
        let receipt = Receipt {
            id: receipt_id(hash, 0),
            predecessor: transaction.signer_id().clone(),
            receiver: transaction.receiver_id().clone(),
            signer: transaction.signer_id().clone(),
            signer_key: transaction.public_key().clone(),
            gas_price: charge.receipt_gas_price,
            actions: transaction.actions().to_vec(),
            inputs: Vec::new(),
        };
        let executed = Executed {
            height: draft.height,
            executor: transaction.signer_id().clone(),
            status: ExecutionStatusView::SuccessReceiptId(receipt.id),
            logs: Vec::new(),
            receipts: vec![receipt.id],
            gas_burnt: charge.gas_burnt,
            tokens_burnt: charge.tokens_burnt,
        };
        draft.gas_used = draft.gas_used.saturating_add(charge.gas_burnt);
        draft.tokens_burnt = draft.tokens_burnt.saturating_add(charge.tokens_burnt);
        draft.transactions.push(hash);
        self.register(&receipt);
        if receipt.predecessor == receipt.receiver {
            draft.local.push_back(receipt);
        } else {
            self.queue.push(receipt);
        }
        self.transactions.insert(hash, TransactionRecord { signed, executed });
        Ok(())
    }

    fn apply(&mut self, draft: &mut Draft, receipt: &Receipt) {
        let results = receipt.inputs.iter().filter_map(|id| result(&self.receipts, *id)).collect();
        let executor = Arc::clone(&self.executor);
        let head: Head<'_> = self.head(draft.height, draft.timestamp);
        let call = Call { head: &head, executor: &executor, receipt, results };
        let (executed, children) = execute::receipt(call, &mut draft.state);
        draft.gas_used = draft.gas_used.saturating_add(executed.gas_burnt);
        draft.tokens_burnt = draft.tokens_burnt.saturating_add(executed.tokens_burnt);
        draft.executed.push(receipt.id);
        for child in children {
            self.register(&child);
            self.queue.push(child);
        }
        if let Some(record) = self.receipts.get_mut(&receipt.id) {
            record.executed = Some(executed);
        }
    }

    fn register(&mut self, receipt: &Receipt) {
        let record = ReceiptRecord { receipt: receipt.clone(), executed: None };
        self.receipts.insert(receipt.id, record);
    }

    fn close(&mut self, draft: Draft, prev_hash: CryptoHash) {
        let block = Block {
            height: draft.height,
            hash: draft.hash,
            prev_hash,
            chunk_hash: chunk_hash(draft.hash),
            timestamp: draft.timestamp,
            state: draft.state,
            transactions: draft.transactions,
            executed: draft.executed,
            gas_used: draft.gas_used,
            tokens_burnt: draft.tokens_burnt,
        };
        self.heights.insert(block.hash, block.height);
        self.chunks.insert(block.chunk_hash, block.height);
        self.blocks.push(block);
    }
}

/// The id of the n-th receipt that came from a transaction or another receipt.
pub(super) fn receipt_id(from: CryptoHash, n: u64) -> CryptoHash {
    CryptoHash::hash_borsh(("receipt", from, n))
}

/// The name that this chain's blocks are signed with.
pub(crate) fn author() -> Option<AccountId> {
    super::ROOT.parse().ok()
}
