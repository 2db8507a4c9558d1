//! What can be seen of a transaction from a height: how far it is, and its outcome.

use super::{
    Chain,
    receipt::{Executed, ReceiptRecord},
};
use near_crypto::PublicKey;
use near_primitives::{
    hash::CryptoHash,
    transaction::SignedTransaction,
    types::AccountId,
    views::{
        ExecutionOutcomeWithIdView, ExecutionStatusView, FinalExecutionOutcomeView,
        FinalExecutionOutcomeViewEnum, FinalExecutionOutcomeWithReceiptView, FinalExecutionStatus,
        TxExecutionStatus, TxStatusView,
    },
};

#[derive(Debug)]
pub(crate) struct TransactionRecord {
    pub(crate) signed: SignedTransaction,
    /// The transaction's own outcome: that it became a receipt.
    pub(crate) executed: Executed,
}

/// What a test asks of a transaction: where it stands, and what came of it if that is known.
#[derive(Debug, Clone)]
pub struct Observed {
    pub status: TxExecutionStatus,
    pub outcome: FinalExecutionOutcomeView,
}

/// A nonce that a final block spent, and the transaction that did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentNonce {
    pub key: PublicKey,
    pub nonce: u64,
    pub hash: CryptoHash,
    pub height: u64,
}

/// All receipts of a transaction that exist at a height, with what is known of each.
struct Tree<'a> {
    records: Vec<&'a ReceiptRecord>,
}

impl<'a> Tree<'a> {
    fn of(chain: &'a Chain, record: &TransactionRecord, seen: u64) -> Self {
        let mut records: Vec<&ReceiptRecord> = Vec::new();
        let mut open: Vec<CryptoHash> = record.executed.receipts.iter().rev().copied().collect();
        while let Some(id) = open.pop() {
            let Some(found) = chain.receipts.get(&id) else { continue };
            records.push(found);
            if let Some(executed) = executed_by(found, seen) {
                open.extend(executed.receipts.iter().rev().copied());
            }
        }
        Self { records }
    }

    fn all(&self, which: impl Fn(&ReceiptRecord) -> bool, seen: u64) -> bool {
        self.records.iter().all(|record| !which(record) || executed_by(record, seen).is_some())
    }
}

fn executed_by(record: &ReceiptRecord, seen: u64) -> Option<&Executed> {
    record.executed.as_ref().filter(|executed| executed.height <= seen)
}

impl Chain {
    pub(crate) fn transaction(&self, hash: &CryptoHash, seen: u64) -> Option<&TransactionRecord> {
        self.transactions.get(hash).filter(|record| record.executed.height <= seen)
    }

    /// The transactions of an account in blocks up to a height, in their order.
    pub(crate) fn spent_nonces(&self, account: &AccountId, up_to: u64) -> Vec<SpentNonce> {
        let blocks = self.blocks.iter().take_while(|block| block.height <= up_to);
        let records = blocks.flat_map(|block| &block.transactions);
        let records = records.filter_map(|hash| self.transactions.get(hash));
        let own = records.filter(|record| record.signed.transaction.signer_id() == account);
        own.map(|record| SpentNonce {
            key: record.signed.transaction.public_key().clone(),
            nonce: record.signed.transaction.nonce().nonce(),
            hash: record.signed.get_hash(),
            height: record.executed.height,
        })
        .collect()
    }

    /// What a node with this head answers, or nothing if no block that it has holds the transaction.
    pub(crate) fn observe(
        &self,
        hash: &CryptoHash,
        seen: u64,
        with_receipts: bool,
    ) -> Option<TxStatusView> {
        let record = self.transaction(hash, seen)?;
        let tree = Tree::of(self, record, seen);
        let outcome = self.outcome(record, &tree, seen);
        let execution_outcome = if with_receipts {
            let receipts = tree.records.iter().map(|record| record.receipt.view()).collect();
            let outcome = FinalExecutionOutcomeWithReceiptView { final_outcome: outcome, receipts };
            FinalExecutionOutcomeViewEnum::FinalExecutionOutcomeWithReceipt(outcome)
        } else {
            FinalExecutionOutcomeViewEnum::FinalExecutionOutcome(outcome)
        };
        let status = self.execution_status(record, &tree, seen);
        Some(TxStatusView { execution_outcome: Some(execution_outcome), status })
    }

    fn execution_status(
        &self,
        record: &TransactionRecord,
        tree: &Tree<'_>,
        seen: u64,
    ) -> TxExecutionStatus {
        let last_final = self.final_height(seen);
        let included_final = record.executed.height <= last_final;
        let executed = tree.all(|record| !record.receipt.is_refund(), seen);
        let all_final = Tree::of(self, record, last_final).all(|_| true, last_final);
        match (executed, included_final) {
            (false, false) => TxExecutionStatus::Included,
            (false, true) => TxExecutionStatus::IncludedFinal,
            (true, false) => TxExecutionStatus::ExecutedOptimistic,
            (true, true) if all_final => TxExecutionStatus::Final,
            (true, true) => TxExecutionStatus::Executed,
        }
    }

    fn outcome(
        &self,
        record: &TransactionRecord,
        tree: &Tree<'_>,
        seen: u64,
    ) -> FinalExecutionOutcomeView {
        let receipts = tree.records.iter().filter_map(|record| {
            let executed = executed_by(record, seen)?;
            Some(self.with_block(executed, record.receipt.id))
        });
        FinalExecutionOutcomeView {
            status: self.final_status(&record.executed.status, seen),
            transaction: record.signed.clone().into(),
            transaction_outcome: self.with_block(&record.executed, record.signed.get_hash()),
            receipts_outcome: receipts.collect(),
        }
    }

    fn with_block(&self, executed: &Executed, id: CryptoHash) -> ExecutionOutcomeWithIdView {
        let block = self.block(executed.height).map(|block| block.hash);
        executed.view(id, block.unwrap_or_default())
    }

    /// The result of the receipt that the first one's result leads to.
    fn final_status(&self, status: &ExecutionStatusView, seen: u64) -> FinalExecutionStatus {
        let mut status = status;
        loop {
            match status {
                ExecutionStatusView::Unknown => return FinalExecutionStatus::Started,
                ExecutionStatusView::Failure(error) => {
                    return FinalExecutionStatus::Failure(error.clone());
                }
                ExecutionStatusView::SuccessValue(value) => {
                    return FinalExecutionStatus::SuccessValue(value.clone());
                }
                ExecutionStatusView::SuccessReceiptId(id) => {
                    let record = self.receipts.get(id);
                    match record.and_then(|record| executed_by(record, seen)) {
                        Some(executed) => status = &executed.status,
                        None => return FinalExecutionStatus::Started,
                    }
                }
            }
        }
    }
}

/// Whether a transaction is as far as the caller waits for.
pub(crate) fn reached(expected: &TxExecutionStatus, actual: &TxExecutionStatus) -> bool {
    use TxExecutionStatus::{
        Executed, ExecutedOptimistic, Final, Included, IncludedFinal, None as Nowhere,
    };
    match expected {
        Nowhere => true,
        Included => *actual != Nowhere,
        ExecutedOptimistic => matches!(actual, ExecutedOptimistic | Executed | Final),
        IncludedFinal => matches!(actual, IncludedFinal | Executed | Final),
        Executed => matches!(actual, Executed | Final),
        Final => *actual == Final,
    }
}
