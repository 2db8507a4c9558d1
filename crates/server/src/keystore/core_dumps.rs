//! Forbids core dumps of a process that has secret keys of a chain: a dump would hold each of them in the clear.

use rustix::process::{Resource, Rlimit, setrlimit};

/// From now on a crash writes no image of this process's memory, to a file or to a program that collects dumps;
/// other programs of this user cannot attach to it either. Where the system refuses, the log says so.
pub(crate) fn forbid_core_dumps() {
    let nothing = Rlimit { current: Some(0), maximum: Some(0) };
    let forbidden = setrlimit(Resource::Core, nothing).and_then(|()| not_dumpable());
    if let Err(error) = forbidden {
        tracing::warn!(%error, "A CORE DUMP OF THIS PROCESS WOULD HAVE ITS SECRET KEYS IN IT");
    }
}

/// A limit of zero does not keep the kernel from handing a dump to a program.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn not_dumpable() -> rustix::io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
const fn not_dumpable() -> rustix::io::Result<()> {
    Ok(())
}
