//! Executing a contract's method: by its wasm, or by the same token written in Rust.
//!
//! Both work on one [`session::Session`], so that a call sees the same storage, the same prices and the
//! same rules whichever of them runs.

mod blocklist;
mod native;
pub(crate) mod session;
mod wasm;

use super::{chain::state::Code, options::Execution};
use blocklist::Blocklist;
use near_primitives::{
    action::{Action, TransferAction},
    errors::{CompilationError, FunctionCallError},
    hash::CryptoHash,
    types::Balance,
};
use session::{Promise, Returned, Session};
use std::sync::atomic::{AtomicBool, Ordering};

/// The token that this chain deploys, built from `contract/` as `contract/rebuild.sh` says.
pub const TOKEN_WASM: &[u8] = include_bytes!("../../../contract/token.wasm");

#[derive(Debug)]
pub(crate) struct Executor {
    execution: Execution,
    token: CryptoHash,
    interpreter: wasm::Interpreter,
    /// Stands before the contract, whichever of both executes it.
    pub(crate) blocklist: Blocklist,
    /// Whether each `ft_transfer` returns a call of an account that is not there.
    pub(crate) fails_behind: AtomicBool,
}

impl Executor {
    pub(crate) fn new(execution: Execution) -> Self {
        let token = CryptoHash::hash_bytes(TOKEN_WASM);
        let interpreter = wasm::Interpreter::new();
        let (blocklist, fails_behind) = (Blocklist::default(), AtomicBool::default());
        Self { execution, token, interpreter, blocklist, fails_behind }
    }

    /// Runs the method; what the session holds afterwards counts only if this succeeds.
    pub(crate) fn call(
        &self,
        code: &Code,
        method: &str,
        session: Session,
    ) -> (Session, Result<(), FunctionCallError>) {
        let mut session = session;
        let prepaid = session.gas;
        let loaded = session.load(code.bytes.len());
        let admitted = loaded.and_then(|()| self.blocklist.admits(method, &session));
        if let Err(stop) = admitted {
            return (session, Err(stop.into()));
        }
        let (mut session, done) = match self.execution {
            Execution::Native if code.hash == self.token => native::call(method, session),
            Execution::Native => (session, Err(unknown_code())),
            Execution::Wasm => self.interpreter.call(code.hash, &code.bytes, method, session),
        };
        // A node looks for the method before it charges for the code.
        if let Err(FunctionCallError::MethodResolveError(_)) = done {
            session.gas = prepaid;
        }
        if done.is_ok() && method == "ft_transfer" && self.fails_behind.load(Ordering::SeqCst) {
            session.returned = Returned::Promise(session.promises.len());
            session.promises.extend(behind());
        }
        (session, done)
    }
}

/// A receipt that fails: its receiver is not there.
fn behind() -> Option<Promise> {
    let receiver = "hook.of.nowhere".parse().ok()?;
    let actions = vec![Action::Transfer(TransferAction { deposit: Balance::ZERO })];
    Some(Promise { receiver, after: None, actions, weights: Vec::new() })
}

fn unknown_code() -> FunctionCallError {
    let msg = "this chain executes its own token only (Execution::Native)".to_owned();
    FunctionCallError::CompilationError(CompilationError::WasmerCompileError { msg })
}
