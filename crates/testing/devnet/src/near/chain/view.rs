//! View calls: a method run on the state of a block, whose writes are refused.

use super::{Chain, state::Account};
use crate::near::contract::{
    Executor,
    session::{Context, Gas, Returned, Session},
};
use near_crypto::{KeyType, PublicKey};
use near_parameters::RuntimeConfig;
use near_primitives::{
    errors::{CompilationError, FunctionCallError},
    types::AccountId,
    views::CallResult,
};
use std::sync::Arc;

/// A call that is ready to run without the chain's lock.
#[derive(Debug)]
pub(crate) struct View {
    executor: Arc<Executor>,
    config: Arc<RuntimeConfig>,
    account: Account,
    context: Context,
}

/// What a node burns at most for a view call.
const VIEW_GAS: u64 = 300_000_000_000_000;

impl Chain {
    /// Prepares a view call, or says nothing if the account does not exist at that height.
    pub(crate) fn view(&self, id: &AccountId, height: u64, input: Vec<u8>) -> Option<View> {
        let block = self.block(height)?;
        let account = block.state.account(id)?.clone();
        let context = Context {
            current: id.clone(),
            predecessor: id.clone(),
            signer: id.clone(),
            signer_key: PublicKey::empty(KeyType::ED25519),
            input,
            deposit: 0,
            height,
            timestamp: block.timestamp,
            view: true,
            results: Vec::new(),
        };
        let (executor, config) = (Arc::clone(&self.executor), Arc::clone(&self.config));
        Some(View { executor, config, account, context })
    }
}

impl View {
    pub(crate) fn run(self, method: &str) -> Result<CallResult, FunctionCallError> {
        let Some(code) = self.account.code.clone() else {
            let missing = CompilationError::CodeDoesNotExist { account_id: self.context.current };
            return Err(FunctionCallError::CompilationError(missing));
        };
        let session = Session {
            config: self.config,
            context: self.context,
            storage: self.account.storage,
            storage_usage: self.account.storage_usage,
            balance: self.account.amount,
            logs: Vec::new(),
            promises: Vec::new(),
            returned: Returned::Value(Vec::new()),
            gas: Gas::new(VIEW_GAS),
        };
        let (session, done) = self.executor.call(&code, method, session);
        done?;
        let result = match session.returned {
            Returned::Value(value) => value,
            Returned::Promise(_) => Vec::new(),
        };
        Ok(CallResult { result, logs: session.logs })
    }
}
