//! Programs that the tests need beside cargo: on a bare machine they are installed where we may.

use crate::{Outcome, run};

/// Makes sure that something is there, with Debian's packages if it is not. `why` tells what for.
pub(crate) fn need(there: impl Fn() -> Outcome, packages: &str, why: &str) -> Outcome {
    // a bare image has no lists yet
    let words: Vec<&str> = ["install"].into_iter().chain(packages.split(' ')).collect();
    let install = || apt(&words);
    needed(
        there,
        || install().or_else(|_| apt(&["update"]).and_then(|()| install())),
        packages,
        why,
    )
}

fn apt(words: &[&str]) -> Outcome {
    let mut apt = run::program("apt-get");
    apt.args(["--yes", "--quiet"]).args(words).env("DEBIAN_FRONTEND", "noninteractive");
    run::must(apt)
}

fn needed(
    there: impl Fn() -> Outcome,
    install: impl FnOnce() -> Outcome,
    package: &str,
    why: &str,
) -> Outcome {
    if there().is_ok() {
        return Ok(());
    }
    let installed = install();
    there().map_err(|missing| {
        let refused = installed.err().map_or_else(String::new, |why| format!(" ({why})"));
        format!(
            "{missing}, and it was not installed{refused}: {why}.\n\
             Install it (Debian: apt-get install {package})."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::needed;
    use std::cell::Cell;

    #[test]
    fn what_is_there_is_not_installed() {
        assert_eq!(needed(|| Ok(()), || panic!("installed"), "p", "it is needed"), Ok(()));
    }

    #[test]
    fn what_cannot_be_installed_is_said_clearly() {
        let missing = || Err("no such program".to_owned());
        let refused = || Err("apt-get: exit status: 100".to_owned());
        let why = needed(missing, refused, "postgresql", "the tests kill it").unwrap_err();
        let expected = "no such program, and it was not installed (apt-get: exit status: 100): the tests \
                        kill it.\nInstall it (Debian: apt-get install postgresql).";
        assert_eq!(why, expected);
    }

    #[test]
    fn what_is_there_once_installed_is_enough() {
        let there = Cell::new(false);
        let look = || if there.get() { Ok(()) } else { Err("not yet".to_owned()) };
        let install = || {
            there.set(true);
            Ok(())
        };
        assert_eq!(needed(look, install, "p", "it is needed"), Ok(()));
    }
}
