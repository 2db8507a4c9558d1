//! Making a block, and taking blocks back.

use super::{
    Base, Chain, Pooled, Refusal, WITHHELD,
    block::{Block, hash},
    record::Record,
    vm::Executed,
};
use crate::Outcome;
use solana_account::ReadableAccount;
use solana_address::Address;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;

impl Chain {
    /// Puts a transaction into the pool, to be included once the head has this height. Of bytes that are there already,
    /// also withheld ones, the earlier height counts: another node has passed them on.
    pub(crate) fn pool(&mut self, transaction: VersionedTransaction, not_before: u64) {
        let same = |pooled: &&mut Pooled| pooled.transaction.signatures == transaction.signatures;
        match self.pool.iter_mut().find(same) {
            Some(pooled) if pooled.not_before <= not_before => {}
            Some(pooled) => pooled.not_before = not_before,
            None => self.pool.push(Pooled { transaction, not_before }),
        }
    }

    /// Number of transactions that wait for a block.
    pub(crate) fn pooled(&self) -> usize {
        self.pool.iter().filter(|pooled| pooled.not_before != WITHHELD).count()
    }

    pub(crate) fn withheld(&self) -> Vec<Signature> {
        let withheld = self.pool.iter().filter(|pooled| pooled.not_before == WITHHELD);
        withheld.filter_map(|pooled| pooled.transaction.signatures.first().copied()).collect()
    }

    /// Lets withheld transactions reach the chain; the number of them.
    pub(crate) fn release(&mut self) -> usize {
        let withheld = self.pool.iter_mut().filter(|pooled| pooled.not_before == WITHHELD);
        withheld.map(|pooled| pooled.not_before = 0).count()
    }

    /// Makes the next block, with this time or a later one.
    pub(crate) fn produce(&mut self, time: u64) {
        let Some(last) = self.blocks.last() else { return };
        let slot = self.next_slot;
        let earliest = last.time.saturating_add(1);
        let mut draft = Block {
            height: last.height.saturating_add(1),
            slot,
            blockhash: hash(&[b"block", last.blockhash.as_ref(), &slot.to_le_bytes()]),
            time: if time < earliest { earliest } else { time },
            accounts: last.accounts.clone(),
            transactions: Vec::new(),
            final_height: self.final_height,
        };
        let base =
            Base { height: last.height, blockhash: last.blockhash, slot, time: draft.seconds() };
        for pooled in std::mem::take(&mut self.pool) {
            if pooled.not_before > draft.height {
                self.pool.push(pooled);
                continue;
            }
            match self.apply(&pooled.transaction, &draft.accounts, &base) {
                Ok(executed) => self.include(&mut draft, pooled.transaction, executed),
                Err(Refusal::NotYet) => self.pool.push(pooled),
                // what is no longer valid is dropped without a trace, as by a leader
                Err(Refusal::Error(_)) => {}
            }
        }
        self.close(draft);
    }

    fn include(
        &mut self,
        draft: &mut Block,
        transaction: VersionedTransaction,
        executed: Executed,
    ) {
        let Some(signature) = transaction.signatures.first().copied() else { return };
        let before = std::mem::replace(&mut draft.accounts, executed.accounts.clone());
        let fixed = |key: &Address| self.vm.fixed_account(key).map_or(0, |held| held.lamports());
        let record = Record::new(transaction, &before, executed, draft, fixed);
        for address in &record.keys {
            self.addresses.entry(*address).or_default().push(signature);
        }
        self.records.insert(signature, record);
        draft.transactions.push(signature);
    }

    fn close(&mut self, mut block: Block) {
        let last_final = block.height.saturating_sub(self.options.finality_lag);
        if last_final > self.final_height {
            self.final_height = last_final;
        }
        block.final_height = self.final_height;
        self.next_slot = block.slot.saturating_add(1);
        self.heights.insert(block.blockhash, block.height);
        self.blocks.push(block);
    }

    /// Takes this number of blocks back, as a fork that lost: their slots are skipped. Their transactions wait for a
    /// block again, or are lost.
    ///
    /// # Errors
    ///
    /// If one of the blocks is final.
    pub(crate) fn roll_back(&mut self, blocks: u64, again: bool) -> Outcome<Vec<Signature>> {
        let to = self.height().saturating_sub(blocks);
        if to < self.final_height {
            return Err(format!("block {} is final", self.final_height));
        }
        let mut lost = Vec::new();
        while self.height() > to {
            let Some(block) = self.blocks.pop() else { break };
            self.heights.remove(&block.blockhash);
            let taken = block.transactions.iter().rev();
            lost.extend(taken.filter_map(|signature| self.forget(signature)));
        }
        lost.reverse();
        let signatures = lost.iter().filter_map(|lost| lost.signatures.first().copied()).collect();
        if again {
            for transaction in lost {
                self.pool(transaction, 0);
            }
        }
        Ok(signatures)
    }

    fn forget(&mut self, signature: &Signature) -> Option<VersionedTransaction> {
        let record = self.records.remove(signature)?;
        for address in &record.keys {
            self.forget_of(address, signature);
        }
        Some(record.transaction)
    }

    fn forget_of(&mut self, address: &Address, signature: &Signature) {
        if let Some(list) = self.addresses.get_mut(address) {
            list.retain(|known| known != signature);
        }
    }
}
