//! The binary `portage`: passes its arguments to the command line of the library.

use std::process::ExitCode;

/// A transfer is many small values that live for milliseconds, made on one thread and dropped on
/// another: the system's allocator spends more on them than the engine does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    server::cli::run(std::env::args_os())
}
