//! `cargo xtask test`: what the tests need, the tests, the proof that they can fail, clients, attacks, real kills.

use std::process::Stdio;

use crate::{
    Outcome, attack, clients, crash, kafka, postgres, programs, proof, run, sim, stages::Stages,
};

/// Stops at the first stage that fails, since each later one builds on it.
pub(crate) fn run() -> Outcome {
    let mut stages = Stages::of("test");
    // it ends with this value, after the last stage
    let (mut running, mut broker) = (None, None);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let _ = stages.stage("compiler", || c_compiler(&compiler))
        && stages.stage("python", || python("python3"))
        && stages.stage("node", clients::needed)
        && stages.stage("postgres", || postgres::start().map(|server| running = Some(server)))
        && stages.stage("librdkafka", kafka::buildable)
        && stages.stage("kafka", || kafka::start().map(|started| broker = Some(started)))
        && stages.stage("tests", programs::run)
        && stages.stage("campaign", sim::after_tests)
        && stages.stage("acceptance", proof::acceptance_slice)
        && stages.stage("clients", clients::after_tests)
        && stages.stage("attack", attack::after_tests)
        && stages.stage("crash", crash::after_tests);
    drop((running, broker));
    stages.end()
}

/// SQLite is built from C. Without a compiler cargo fails late and deep inside a build script.
fn c_compiler(name: &str) -> Outcome {
    // `CC` may carry arguments, as in `ccache gcc`.
    let mut words = name.split_whitespace();
    let mut compiler = run::program(words.next().unwrap_or("cc"));
    compiler.args(words).arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    run::must(compiler).map_err(|why| {
        format!(
            "no C compiler ({why}): SQLite is built from source and needs one.\n\
             Install it (Debian: apt-get install gcc libc6-dev), or name yours in CC."
        )
    })
}

/// The guide's ledgers are Python, and run as they stand there.
fn python(name: &str) -> Outcome {
    let mut python = run::program(name);
    python.args(["-c", "import sqlite3, sys; sys.exit(sys.version_info < (3, 10))"]);
    python.stdout(Stdio::null()).stderr(Stdio::null());
    run::must(python).map_err(|why| {
        format!(
            "no Python 3.10 or later with SQLite ({why}): the ledgers of docs/guide/own-ledger.md are \
             run by the tests.\nInstall it (Debian: apt-get install python3)."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_python_is_said_clearly() {
        let why = python("no-such-python").unwrap_err();
        assert!(why.contains("no-such-python") && why.contains("apt-get install python3"), "{why}");
        // it is there, and too old or something else
        let why = python("false").unwrap_err();
        assert!(why.contains("Python 3.10"), "{why}");
    }

    #[test]
    fn a_missing_compiler_is_said_clearly() {
        let why = c_compiler("no-such-compiler --flag").unwrap_err();
        assert!(why.contains("no-such-compiler") && why.contains("apt-get install gcc"), "{why}");
    }
}
