//! Executing a contract's method: by its wasm, or by the same token written in Rust.
//!
//! Both work on one [`session::Session`], so that a call sees the same storage, the same prices and the
//! same rules whichever of them runs.

mod native;
pub(crate) mod session;
mod wasm;

use super::{chain::state::Code, options::Execution};
use near_primitives::{
    errors::{CompilationError, FunctionCallError},
    hash::CryptoHash,
};
use session::Session;

/// The token that this chain deploys, built from `contract/` as `contract/rebuild.sh` says.
pub const TOKEN_WASM: &[u8] = include_bytes!("../../../contract/token.wasm");

#[derive(Debug)]
pub(crate) struct Executor {
    execution: Execution,
    token: CryptoHash,
    interpreter: wasm::Interpreter,
}

impl Executor {
    pub(crate) fn new(execution: Execution) -> Self {
        let token = CryptoHash::hash_bytes(TOKEN_WASM);
        Self { execution, token, interpreter: wasm::Interpreter::new() }
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
        if let Err(stop) = loaded {
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
        (session, done)
    }
}

fn unknown_code() -> FunctionCallError {
    let msg = "this chain executes its own token only (Execution::Native)".to_owned();
    FunctionCallError::CompilationError(CompilationError::WasmerCompileError { msg })
}
