//! Receipts: what a transaction becomes, what a contract asks for, and refunds.

use crate::near::contract::session::PromiseResult;
use near_crypto::PublicKey;
use near_primitives::{
    action::Action,
    errors::TxExecutionError,
    hash::CryptoHash,
    types::{AccountId, Balance, Gas},
    views::{
        ExecutionOutcomeView, ExecutionOutcomeWithIdView, ExecutionStatusView, ReceiptEnumView,
        ReceiptView,
    },
};
use std::collections::{HashMap, VecDeque};

#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    pub(crate) id: CryptoHash,
    pub(crate) predecessor: AccountId,
    pub(crate) receiver: AccountId,
    pub(crate) signer: AccountId,
    pub(crate) signer_key: PublicKey,
    /// What its gas was bought for.
    pub(crate) gas_price: u128,
    pub(crate) actions: Vec<Action>,
    /// Receipts whose results this one waits for.
    pub(crate) inputs: Vec<CryptoHash>,
}

impl Receipt {
    pub(crate) fn is_refund(&self) -> bool {
        super::verify::is_system(&self.predecessor)
    }

    pub(crate) fn view(&self) -> ReceiptView {
        ReceiptView {
            predecessor_id: self.predecessor.clone(),
            receiver_id: self.receiver.clone(),
            receipt_id: self.id,
            receipt: ReceiptEnumView::Action {
                signer_id: self.signer.clone(),
                signer_public_key: self.signer_key.clone(),
                gas_price: Balance::from_yoctonear(self.gas_price),
                output_data_receivers: Vec::new(),
                input_data_ids: self.inputs.clone(),
                actions: self.actions.iter().cloned().map(Into::into).collect(),
                is_promise_yield: false,
                refund_to: None,
            },
            _priority: 0,
        }
    }
}

/// What executing a transaction or a receipt came to.
#[derive(Debug, Clone)]
pub(crate) struct Executed {
    pub(crate) height: u64,
    pub(crate) executor: AccountId,
    pub(crate) status: ExecutionStatusView,
    pub(crate) logs: Vec<String>,
    pub(crate) receipts: Vec<CryptoHash>,
    pub(crate) gas_burnt: u64,
    pub(crate) tokens_burnt: u128,
}

impl Executed {
    pub(crate) fn failure(&self) -> Option<&TxExecutionError> {
        match &self.status {
            ExecutionStatusView::Failure(error) => Some(error),
            ExecutionStatusView::Unknown
            | ExecutionStatusView::SuccessValue(_)
            | ExecutionStatusView::SuccessReceiptId(_) => None,
        }
    }

    pub(crate) fn view(
        &self,
        id: CryptoHash,
        block_hash: CryptoHash,
    ) -> ExecutionOutcomeWithIdView {
        ExecutionOutcomeWithIdView {
            proof: Vec::new(),
            block_hash,
            id,
            outcome: ExecutionOutcomeView {
                logs: self.logs.clone(),
                receipt_ids: self.receipts.clone(),
                gas_burnt: Gas::from_gas(self.gas_burnt),
                tokens_burnt: Balance::from_yoctonear(self.tokens_burnt),
                executor_id: self.executor.clone(),
                status: self.status.clone(),
                metadata: near_primitives::views::ExecutionMetadataView {
                    version: 3,
                    gas_profile: Some(Vec::new()),
                },
            },
        }
    }
}

#[derive(Debug)]
pub(crate) struct ReceiptRecord {
    pub(crate) receipt: Receipt,
    pub(crate) executed: Option<Executed>,
}

/// Receipts that wait: for the next block, for gas in it, or for the results of others.
#[derive(Debug, Default)]
pub(super) struct Queue {
    next: VecDeque<Receipt>,
    postponed: Vec<Receipt>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.next.is_empty() && self.postponed.is_empty()
    }

    pub(super) fn push(&mut self, receipt: Receipt) {
        if receipt.inputs.is_empty() {
            self.next.push_back(receipt);
        } else {
            self.postponed.push(receipt);
        }
    }

    /// What the next block executes first, with what had to wait in front.
    pub(super) fn take(
        &mut self,
        results: &HashMap<CryptoHash, ReceiptRecord>,
    ) -> VecDeque<Receipt> {
        let (ready, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.postponed)
            .into_iter()
            .partition(|receipt| receipt.inputs.iter().all(|id| result(results, *id).is_some()));
        self.postponed = waiting;
        let mut taken = std::mem::take(&mut self.next);
        taken.extend(ready);
        taken
    }

    pub(super) fn put_back(&mut self, receipts: VecDeque<Receipt>) {
        let arrived = std::mem::replace(&mut self.next, receipts);
        self.next.extend(arrived);
    }
}

/// The result of a receipt, through the receipts that it passed it on to.
pub(super) fn result(
    records: &HashMap<CryptoHash, ReceiptRecord>,
    id: CryptoHash,
) -> Option<PromiseResult> {
    let mut id = id;
    loop {
        match &records.get(&id)?.executed.as_ref()?.status {
            ExecutionStatusView::SuccessValue(value) => {
                return Some(PromiseResult::Value(value.clone()));
            }
            ExecutionStatusView::SuccessReceiptId(next) => id = *next,
            ExecutionStatusView::Failure(_) => return Some(PromiseResult::Failed),
            ExecutionStatusView::Unknown => return None,
        }
    }
}
