//! The contract's wasm on an interpreter, with the node's functions that it imports.
//!
//! Gas is the protocol's for host functions and for loading; instructions are counted by the
//! interpreter, and burn what they burn on the network at the mean ([`host`]).

mod context;
mod host;
mod memory;
mod promises;
mod storage;

use super::session::{Session, Stop};
use host::{Host, HostFunction, Stopped};
use near_primitives::{
    errors::{CompilationError, FunctionCallError},
    hash::CryptoHash,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use wasmi::{
    Caller, CompilationMode, Config, Engine, Extern, ExternType, Linker, Memory, Module, Store,
    TrapCode, Val,
};

/// Compiled contracts, by the hash of their code.
#[derive(Debug)]
pub(super) struct Interpreter {
    engine: Engine,
    compiled: Mutex<HashMap<CryptoHash, Arc<Compiled>>>,
}

#[derive(Debug)]
struct Compiled {
    module: Module,
    linker: Linker<Host>,
}

impl Interpreter {
    pub(super) fn new() -> Self {
        let mut config = Config::default();
        config.consume_fuel(true);
        // else the first call of a function would burn the gas of its translation
        config.compilation_mode(CompilationMode::Eager);
        Self { engine: Engine::new(&config), compiled: Mutex::default() }
    }

    pub(super) fn call(
        &self,
        hash: CryptoHash,
        code: &[u8],
        method: &str,
        session: Session,
    ) -> (Session, Result<(), FunctionCallError>) {
        let compiled = match self.compiled(hash, code) {
            Ok(compiled) => compiled,
            Err(msg) => {
                let error = CompilationError::WasmerCompileError { msg };
                return (session, Err(FunctionCallError::CompilationError(error)));
            }
        };
        let mut store = Store::new(&self.engine, Host::new(session));
        let done = run(&compiled, method, &mut store);
        let fuel = store.get_fuel().unwrap_or(0);
        let mut host = store.into_data();
        let counted = host.count(fuel);
        let done = match done {
            Err(Stop::GasExceeded) => host.exhaust(),
            Err(stop) => Err(stop),
            Ok(()) => counted,
        };
        (host.session, done.map_err(FunctionCallError::from))
    }

    fn compiled(&self, hash: CryptoHash, code: &[u8]) -> Result<Arc<Compiled>, String> {
        let mut all = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&hash) {
            return Ok(Arc::clone(known));
        }
        let module = Module::new(&self.engine, code).map_err(|error| error.to_string())?;
        let linker = link(&self.engine, &module)?;
        let compiled = Arc::new(Compiled { module, linker });
        all.insert(hash, Arc::clone(&compiled));
        Ok(compiled)
    }
}

/// Gives the module the functions that it imports, and refuses one that imports anything else.
fn link(engine: &Engine, module: &Module) -> Result<Linker<Host>, String> {
    let mut linker = Linker::new(engine);
    for import in module.imports() {
        let name = import.name();
        let ExternType::Func(signature) = import.ty() else {
            return Err(format!("import `{name}` is no function"));
        };
        let function = lookup(name).ok_or_else(|| format!("unknown import `{name}`"))?;
        linker
            .func_new(import.module(), name, signature.clone(), move |caller, args, results| {
                enter(caller, function, args, results)
            })
            .map_err(|error| error.to_string())?;
    }
    Ok(linker)
}

fn lookup(name: &str) -> Option<HostFunction> {
    context::lookup(name)
        .or_else(|| memory::lookup(name))
        .or_else(|| storage::lookup(name))
        .or_else(|| promises::lookup(name))
}

fn run(compiled: &Compiled, method: &str, store: &mut Store<Host>) -> Result<(), Stop> {
    let exported = compiled.module.get_export(method);
    if !matches!(exported, Some(ExternType::Func(_))) {
        return Err(Stop::MethodNotFound);
    }
    let fuel = store.data_mut().fuel();
    store.set_fuel(fuel).map_err(|error| stop(&error))?;
    let instance = compiled
        .linker
        .instantiate_and_start(&mut *store, &compiled.module)
        .map_err(|error| stop(&error))?;
    let function =
        instance.get_typed_func::<(), ()>(&*store, method).map_err(|_| Stop::MethodNotFound)?;
    function.call(store, ()).map_err(|error| stop(&error))
}

/// From the interpreter into a host function and back, with the gas counted on the way.
fn enter(
    mut caller: Caller<'_, Host>,
    function: HostFunction,
    args: &[Val],
    results: &mut [Val],
) -> Result<(), wasmi::Error> {
    let stopped = |stop| wasmi::Error::host(Stopped(stop));
    let memory = memory_of(&caller).map_err(stopped)?;
    let fuel = caller.get_fuel()?;
    let args: Vec<u64> =
        args.iter().filter_map(Val::i64).map(|arg| u64::from_ne_bytes(arg.to_ne_bytes())).collect();
    let (bytes, host) = memory.data_and_store_mut(&mut caller);
    host.count(fuel).map_err(stopped)?;
    let value = function(host, bytes, &args).map_err(stopped)?;
    let fuel = host.fuel();
    if let Some(result) = results.first_mut() {
        *result = Val::I64(i64::from_ne_bytes(value.to_ne_bytes()));
    }
    caller.set_fuel(fuel)
}

fn memory_of(caller: &Caller<'_, Host>) -> Result<Memory, Stop> {
    match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => Ok(memory),
        _ => Err(Stop::Trap("the contract exports no memory".to_owned())),
    }
}

fn stop(error: &wasmi::Error) -> Stop {
    if let Some(Stopped(stop)) = error.downcast_ref::<Stopped>() {
        return stop.clone();
    }
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => Stop::GasExceeded,
        Some(TrapCode::UnreachableCodeReached) => {
            Stop::Trap("An `unreachable` opcode was executed.".to_owned())
        }
        Some(TrapCode::MemoryOutOfBounds) => Stop::Trap("Memory out of bounds trap.".to_owned()),
        _ => Stop::Trap(error.to_string()),
    }
}
