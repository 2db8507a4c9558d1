//! The binary `portage`: hands its words to the command line of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    server::cli::run(std::env::args_os())
}
