//! Applying a receipt: all of its actions or none, with refunds for what was not used.

mod actions;

use super::{
    Head,
    fees::{self, Half},
    produce::receipt_id,
    receipt::{Executed, Receipt},
    state::State,
    verify,
};
use crate::near::contract::{
    Executor,
    session::{Promise, PromiseResult, Returned},
};
use near_primitives::{
    action::{Action, TransferAction},
    errors::{ActionError, ActionErrorKind, TxExecutionError},
    hash::CryptoHash,
    types::{AccountId, Balance},
    views::ExecutionStatusView,
};

/// What one receipt is executed with.
pub(super) struct Call<'a> {
    pub(super) head: &'a Head<'a>,
    pub(super) executor: &'a Executor,
    pub(super) receipt: &'a Receipt,
    pub(super) results: Vec<PromiseResult>,
}

/// A receipt while its actions run.
#[derive(Debug)]
struct Run {
    /// Whose rights the actions have: the receiver's own from `CreateAccount` on.
    actor: AccountId,
    logs: Vec<String>,
    promises: Vec<Vec<Promise>>,
    returned: Returned,
    gas_burnt: u64,
    gas_used: u64,
}

pub(super) fn receipt(call: Call<'_>, state: &mut State) -> (Executed, Vec<Receipt>) {
    let before = state.clone();
    let receipt = call.receipt;
    // Refunds are free.
    let opening = match receipt.is_refund() {
        true => 0,
        false => fees::of_receipt(call.head.config, &[], Half::Execute),
    };
    let mut run = Run {
        actor: receipt.predecessor.clone(),
        logs: Vec::new(),
        promises: Vec::new(),
        returned: Returned::Value(Vec::new()),
        gas_burnt: opening,
        gas_used: opening,
    };
    let done = all_actions(&call, state, &mut run);
    let failed = done.is_err();
    if failed {
        *state = before;
    }
    // Logs stay even when their effects are undone: a reader of events must look at the status.
    let promised = if failed { Vec::new() } else { receipts_of(&run.promises, receipt) };
    let status = match done {
        Err(error) => ExecutionStatusView::Failure(TxExecutionError::ActionError(error)),
        Ok(()) => match &run.returned {
            Returned::Value(value) => ExecutionStatusView::SuccessValue(value.clone()),
            Returned::Promise(index) => {
                let first = promised.len().saturating_sub(run.promises.last().map_or(0, Vec::len));
                let id = promised.get(first.saturating_add(*index)).map(|promise| promise.id);
                ExecutionStatusView::SuccessReceiptId(id.unwrap_or_default())
            }
        },
    };
    let settled = settle(&call, &run, failed);
    let mut children = promised;
    children.extend(refunds(&call, failed, &settled, children.len()));
    let executed = Executed {
        height: call.head.height,
        executor: receipt.receiver.clone(),
        status,
        logs: run.logs,
        receipts: children.iter().map(|child| child.id).collect(),
        gas_burnt: run.gas_burnt,
        tokens_burnt: settled.tokens_burnt,
    };
    (executed, children)
}

fn all_actions(call: &Call<'_>, state: &mut State, run: &mut Run) -> Result<(), ActionError> {
    for (index, action) in call.receipt.actions.iter().enumerate() {
        let fee = match call.receipt.is_refund() {
            true => 0,
            false => fees::of_action(call.head.config, action, Half::Execute),
        };
        run.gas_burnt = run.gas_burnt.saturating_add(fee);
        run.gas_used = run.gas_used.saturating_add(fee);
        actions::apply(call, state, run, action)
            .map_err(|kind| ActionError { index: u64::try_from(index).ok(), kind })?;
    }
    let Some(account) = state.account(&call.receipt.receiver) else { return Ok(()) };
    match verify::missing_for_state(call.head.config, account) {
        None => Ok(()),
        Some(amount) => Err(ActionError {
            index: None,
            kind: ActionErrorKind::LackBalanceForState {
                account_id: call.receipt.receiver.clone(),
                amount: Balance::from_yoctonear(amount),
            },
        }),
    }
}

/// The receipts of all promises of all calls, each behind the one that it waits for.
fn receipts_of(calls: &[Vec<Promise>], parent: &Receipt) -> Vec<Receipt> {
    let mut receipts: Vec<Receipt> = Vec::new();
    for promises in calls {
        let first = receipts.len();
        for promise in promises {
            let inputs = promise.after.and_then(|after| receipts.get(first.saturating_add(after)));
            let number = u64::try_from(receipts.len()).unwrap_or(u64::MAX);
            receipts.push(Receipt {
                id: receipt_id(parent.id, number),
                predecessor: parent.receiver.clone(),
                receiver: promise.receiver.clone(),
                inputs: inputs.map(|input| input.id).into_iter().collect(),
                actions: promise.actions.clone(),
                ..parent.clone()
            });
        }
    }
    receipts
}

/// What is left to give back, and what is gone.
struct Settled {
    gas_refund: u128,
    tokens_burnt: u128,
}

fn settle(call: &Call<'_>, run: &Run, failed: bool) -> Settled {
    let receipt = call.receipt;
    if receipt.is_refund() {
        return Settled { gas_refund: 0, tokens_burnt: 0 };
    }
    let config = call.head.config;
    let bought = fees::of_receipt(config, &receipt.actions, Half::Execute)
        .saturating_add(fees::prepaid(&receipt.actions).unwrap_or(0));
    let spent = if failed { run.gas_burnt } else { run.gas_used };
    let left = bought.saturating_sub(spent);
    let penalty = config
        .fees
        .gas_penalty_for_gas_refund(near_primitives::types::Gas::from_gas(left))
        .as_gas();
    let burnt = u128::from(run.gas_burnt);
    // Bought at the receipt's price, burnt at the block's: the difference goes back too.
    let dearer = receipt.gas_price.saturating_sub(call.head.gas_price);
    let refund = u128::from(left.saturating_sub(penalty))
        .saturating_mul(receipt.gas_price)
        .saturating_add(burnt.saturating_mul(dearer));
    let tokens_burnt = burnt
        .saturating_mul(call.head.gas_price)
        .saturating_add(u128::from(penalty).saturating_mul(receipt.gas_price));
    Settled { gas_refund: refund, tokens_burnt }
}

fn refunds(call: &Call<'_>, failed: bool, settled: &Settled, behind: usize) -> Vec<Receipt> {
    let receipt = call.receipt;
    let deposits = if failed && !receipt.is_refund() {
        fees::deposits(&receipt.actions).unwrap_or(0)
    } else {
        0
    };
    let mut made = Vec::new();
    for (receiver, amount) in
        [(&receipt.predecessor, deposits), (&receipt.signer, settled.gas_refund)]
    {
        let number = behind.saturating_add(made.len());
        made.extend(refund(receipt, receiver, amount, number));
    }
    made
}

fn refund(parent: &Receipt, receiver: &AccountId, amount: u128, number: usize) -> Option<Receipt> {
    let system: AccountId = "system".parse().ok()?;
    let id: CryptoHash = receipt_id(parent.id, u64::try_from(number).ok()?);
    (amount > 0).then(|| Receipt {
        id,
        predecessor: system,
        receiver: receiver.clone(),
        signer: parent.signer.clone(),
        signer_key: parent.signer_key.clone(),
        gas_price: 0,
        actions: vec![Action::Transfer(TransferAction {
            deposit: Balance::from_yoctonear(amount),
        })],
        inputs: Vec::new(),
    })
}
