//! `send_tx` and `tx`: what a node says of a transaction, and when.

use super::EndpointState;
use crate::near::{
    chain::status::reached,
    faults::{Fault, Lie},
};
use near_jsonrpc_primitives::{
    errors::RpcError,
    types::transactions::{RpcTransactionError, RpcTransactionResponse},
};
use near_primitives::{
    errors::InvalidTxError,
    hash::CryptoHash,
    transaction::SignedTransaction,
    views::{
        ExecutionMetadataView, ExecutionOutcomeView, ExecutionOutcomeWithIdView,
        ExecutionStatusView, FinalExecutionOutcomeView, FinalExecutionOutcomeViewEnum,
        FinalExecutionStatus, TxExecutionStatus, TxStatusView,
    },
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

/// What a request for a transaction's status asks.
pub(super) struct StatusRequest {
    pub(super) hash: CryptoHash,
    pub(super) signed: Option<Box<SignedTransaction>>,
    pub(super) wait: TxExecutionStatus,
    pub(super) with_receipts: bool,
}

impl EndpointState {
    pub(super) async fn send(
        &self,
        signed: SignedTransaction,
        wait: TxExecutionStatus,
        lie: Option<Fault>,
    ) -> Result<Value, RpcError> {
        if wait == TxExecutionStatus::None {
            self.send_async(signed, lie.as_ref());
            let response = RpcTransactionResponse {
                final_execution_outcome: None,
                final_execution_status: TxExecutionStatus::None,
            };
            return written(&response);
        }
        self.accept(&signed, lie.as_ref())
            .map_err(|context| RpcTransactionError::InvalidTransaction { context })?;
        let request =
            StatusRequest { hash: signed.get_hash(), signed: None, wait, with_receipts: false };
        let lie = lie
            .filter(|lie| matches!(lie, Fault::Lie(Lie::Outcome { .. }) | Fault::Lie(Lie::Silent)));
        self.transaction(request, lie.as_ref()).await
    }

    /// A node answers before it has looked: what is invalid is dropped, and the hash is the answer.
    pub(super) fn send_async(&self, signed: SignedTransaction, lie: Option<&Fault>) -> Value {
        let hash = signed.get_hash();
        drop(self.accept(&signed, lie));
        json!(hash)
    }

    /// Checks a transaction against what this endpoint sees, and lets it into the pool.
    fn accept(
        &self,
        signed: &SignedTransaction,
        lie: Option<&Fault>,
    ) -> Result<(), InvalidTxError> {
        let seen = self.seen();
        let mut chain = self.node.chain();
        if let Err(error) = chain.check(signed, seen) {
            // The same bytes again, once they are in a block, are not an error.
            let repeated = matches!(error, InvalidTxError::InvalidNonce { .. })
                && chain.transaction(signed.hash(), seen).is_some();
            return if repeated { Ok(()) } else { Err(error) };
        }
        match lie {
            Some(Fault::Withhold) => {
                drop(chain);
                self.node.withhold(signed.clone());
            }
            Some(Fault::Late { blocks }) => {
                let not_before = chain.height().saturating_add(1).saturating_add(*blocks);
                chain.pool(signed.clone(), not_before);
            }
            Some(Fault::Lie(Lie::Invalid { error, forward })) => {
                if *forward {
                    chain.pool(signed.clone(), 0);
                }
                return Err(error.clone());
            }
            _ => chain.pool(signed.clone(), 0),
        }
        Ok(())
    }

    /// Waits until the transaction is as far as `wait` says, or as long as a node does.
    pub(super) async fn transaction(
        &self,
        request: StatusRequest,
        lie: Option<&Fault>,
    ) -> Result<Value, RpcError> {
        let unknown =
            RpcTransactionError::UnknownTransaction { requested_transaction_hash: request.hash };
        if matches!(lie, Some(Fault::Lie(Lie::Unknown))) {
            return Err(unknown.into());
        }
        let mut heights = self.node.heights();
        let deadline = Instant::now().checked_add(self.node.poll_limit);
        loop {
            heights.borrow_and_update();
            let last = match self.shown(&request, lie) {
                Some(view) if reached(&request.wait, &view.status) => {
                    return written(&RpcTransactionResponse::from(view));
                }
                Some(_) => RpcTransactionError::TimeoutError,
                None => {
                    self.dry_run(&request)?;
                    if request.wait == TxExecutionStatus::None {
                        return Err(unknown.into());
                    }
                    unknown.clone()
                }
            };
            let Some(deadline) = deadline else { return Err(last.into()) };
            match timeout_at(deadline, heights.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Err(last.into()),
            }
        }
    }

    /// A transaction that no block holds is tried, if its bytes were given.
    fn dry_run(&self, request: &StatusRequest) -> Result<(), RpcTransactionError> {
        let Some(signed) = &request.signed else { return Ok(()) };
        let seen = self.seen();
        self.node
            .chain()
            .check(signed, seen)
            .map_err(|context| RpcTransactionError::InvalidTransaction { context })
    }

    fn shown(&self, request: &StatusRequest, lie: Option<&Fault>) -> Option<TxStatusView> {
        let seen = self.seen();
        let chain = self.node.chain();
        let Some(Fault::Lie(Lie::Outcome { status, execution })) = lie else {
            let view = chain.observe(&request.hash, seen, request.with_receipts)?;
            return Some(if matches!(lie, Some(Fault::Lie(Lie::Silent))) {
                silenced(view)
            } else {
                view
            });
        };
        let real = chain.observe(&request.hash, chain.height(), false);
        let last = chain.block(chain.final_height(seen)).map(|block| block.hash);
        drop(chain);
        let real = real.and_then(TxStatusView::into_outcome);
        let outcome = real.or_else(|| {
            let bytes = request.signed.as_deref().cloned();
            let known = self.node.withheld_transaction(&request.hash).or(bytes)?;
            Some(invented(known, last.unwrap_or_default()))
        })?;
        let mut outcome = FinalExecutionOutcomeView { status: status.clone(), ..outcome };
        // the receipt that has the actions says the same: a lie that contradicts itself is seen through at once
        if let (FinalExecutionStatus::Failure(error), Some(receipt)) =
            (status, outcome.receipts_outcome.first_mut())
        {
            receipt.outcome.status = ExecutionStatusView::Failure(error.clone());
        }
        Some(TxStatusView {
            execution_outcome: Some(FinalExecutionOutcomeViewEnum::FinalExecutionOutcome(outcome)),
            status: execution.clone(),
        })
    }
}

/// The same without what was logged.
fn silenced(mut view: TxStatusView) -> TxStatusView {
    let outcome = match &mut view.execution_outcome {
        Some(FinalExecutionOutcomeViewEnum::FinalExecutionOutcome(outcome)) => Some(outcome),
        Some(FinalExecutionOutcomeViewEnum::FinalExecutionOutcomeWithReceipt(full)) => {
            Some(&mut full.final_outcome)
        }
        None => None,
    };
    for receipt in outcome.into_iter().flat_map(|outcome| &mut outcome.receipts_outcome) {
        receipt.outcome.logs.clear();
    }
    view
}

/// The outcome of a transaction that no block holds, for a lie about it: as if this block had executed its receipt.
fn invented(signed: SignedTransaction, block_hash: CryptoHash) -> FinalExecutionOutcomeView {
    let hash = signed.get_hash();
    let outcome = |status| ExecutionOutcomeView {
        logs: Vec::new(),
        receipt_ids: vec![hash],
        gas_burnt: near_primitives::types::Gas::ZERO,
        tokens_burnt: near_primitives::types::Balance::ZERO,
        executor_id: signed.transaction.signer_id().clone(),
        status,
        metadata: ExecutionMetadataView { version: 1, gas_profile: None },
    };
    let shown = |status| ExecutionOutcomeWithIdView {
        proof: Vec::new(),
        block_hash,
        id: hash,
        outcome: outcome(status),
    };
    FinalExecutionOutcomeView {
        status: FinalExecutionStatus::NotStarted,
        transaction_outcome: shown(ExecutionStatusView::SuccessReceiptId(hash)),
        receipts_outcome: vec![shown(ExecutionStatusView::SuccessValue(Vec::new()))],
        transaction: signed.clone().into(),
    }
}

fn written(response: &RpcTransactionResponse) -> Result<Value, RpcError> {
    serde_json::to_value(response).map_err(|error| RpcError::serialization_error(error.to_string()))
}
