//! The same receipts as transactions on the local chain.

use crate::receipt::{Call, Effect, Executed};
use devnet::Outcome;
use devnet::near::near_primitives::action::{Action, DeployContractAction};
use devnet::near::near_primitives::errors::{
    ActionError, ActionErrorKind, FunctionCallError, TxExecutionError,
};
use devnet::near::near_primitives::types::AccountId;
use devnet::near::near_primitives::views::ExecutionStatusView;
use devnet::near::{Devnet, Options, TOKEN_WASM, Wallet};

/// A local chain with the token's account, before the token's first call.
#[derive(Debug)]
pub(crate) struct Local {
    devnet: Devnet,
    /// The account that the token is deployed to.
    pub(crate) token: AccountId,
    /// The account that may mint.
    pub(crate) owner: Wallet,
    /// The account that pays.
    pub(crate) relay: Wallet,
}

impl Local {
    pub(crate) fn start() -> Outcome<Self> {
        let devnet = Devnet::start(Options::manual())?;
        let token = devnet.create_account("usdc.devnet", 1_000)?;
        let owner = devnet.create_account("owner.devnet", 1_000)?;
        let relay = devnet.create_account("relay.devnet", 1_000_000)?;
        let deploy = Action::DeployContract(DeployContractAction { code: TOKEN_WASM.to_vec() });
        devnet.run(&token, &token.account, vec![deploy])?;
        Ok(Self { devnet, token: token.account, owner, relay })
    }

    pub(crate) fn storage_usage(&self) -> u64 {
        self.devnet.storage_usage(&self.token).unwrap_or(0)
    }

    pub(crate) fn balance(&self) -> u128 {
        self.devnet.near_balance(&self.token).unwrap_or(0)
    }

    /// Sends the calls in one transaction and waits for its end.
    pub(crate) fn apply(&self, caller: &Wallet, calls: &[Call]) -> Outcome<Executed> {
        let nonce = self.devnet.nonce(&caller.account, &caller.public_key());
        let nonce = nonce.ok_or("the caller has no key")?.saturating_add(1);
        let actions = calls.iter().map(Call::action).collect();
        let base = self.devnet.final_hash();
        let signed = caller.sign(nonce, base, &self.token, actions);
        let hash = signed.get_hash();
        self.devnet.submit(signed);
        self.devnet.settle();
        let seen = self.devnet.observe(hash).ok_or("the transaction entered no block")?;
        let receipts = seen.outcome.receipts_outcome;
        let receipt = receipts.into_iter().next().ok_or("the transaction made no receipt")?.outcome;
        let end = match receipt.status {
            ExecutionStatusView::SuccessValue(value) => Ok(value),
            ExecutionStatusView::Failure(error) => Err(refusal(&error)?),
            ExecutionStatusView::Unknown | ExecutionStatusView::SuccessReceiptId(_) => {
                return Err("the receipt has no end of its own".to_owned());
            }
        };
        let effect = Effect {
            end,
            logs: receipt.logs,
            stored: self.devnet.stored(&self.token),
            storage_usage: self.storage_usage(),
            balance: self.balance(),
        };
        Ok(Executed { effect, gas_burnt: receipt.gas_burnt.as_gas() })
    }

    pub(crate) fn view(&self, call: &Call) -> Outcome<Vec<u8>> {
        self.devnet.view(&self.token, call.method, call.input())
    }
}

/// The number of the call that failed, and the text of its error.
fn refusal(error: &TxExecutionError) -> Outcome<(u64, String)> {
    let other = || format!("no failure of a call: {error:?}");
    let TxExecutionError::ActionError(ActionError { index, kind }) = error else {
        return Err(other());
    };
    let ActionErrorKind::FunctionCallError(call) = kind else { return Err(other()) };
    let text = match call {
        FunctionCallError::ExecutionError(text) => text.clone(),
        FunctionCallError::MethodResolveError(error) => format!("{error:?}"),
        FunctionCallError::CompilationError(_)
        | FunctionCallError::LinkError { .. }
        | FunctionCallError::WasmTrap(_)
        | FunctionCallError::WasmUnknownError
        | FunctionCallError::HostError(_)
        | FunctionCallError::_EVMError => return Err(other()),
    };
    Ok((index.ok_or_else(other)?, text))
}
