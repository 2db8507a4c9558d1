//! The clients of `clients/`, generated ones, and the page `/docs`, against the program that the tests were built with.

use crate::{Outcome, run, tools, tree};
use std::process::Stdio;

/// `skip` leaves the stage out; `require` fails where the stage cannot run.
const CHOICE: &str = "PORTAGE_TEST_CLIENTS";

fn chosen(value: &str) -> bool {
    std::env::var_os(CHOICE).is_some_and(|choice| choice == value)
}

/// Why the stage is left out; `None` where it runs.
fn left_out() -> Option<String> {
    if chosen("skip") {
        return Some(format!("{CHOICE}=skip"));
    }
    node("node").err().filter(|_| !chosen("require"))
}

/// Looks before all tests whether the stage can run: a machine without Node should say so at once.
pub(crate) fn needed() -> Outcome {
    if let Some(why) = left_out() {
        println!("clients/ and the page /docs are NOT tested: {why}");
        return Ok(());
    }
    node("node")?;
    let browser = || there("chromium").or_else(|_| there("google-chrome"));
    if let Err(why) = tools::need(browser, "chromium", "the page /docs is tried in it") {
        if chosen("require") {
            return Err(format!("{why}; {CHOICE}=require fails without it"));
        }
        println!("{why}\nThe page /docs is NOT tried in a browser.");
    }
    Ok(())
}

/// After the tests, on the program that they were built with.
pub(crate) fn after_tests() -> Outcome {
    if let Some(why) = left_out() {
        println!("clients/ and the page /docs are NOT tested: {why}");
        return Ok(());
    }
    let mut test = run::program(tree::root().join("clients/test.sh"));
    test.arg(tree::target().join("debug/portage"));
    run::must(test)
}

/// The client for TypeScript is compiled and run.
fn node(name: &str) -> Outcome {
    let mut node = run::program(name);
    node.args(["-e", "process.exit(parseInt(process.versions.node, 10) < 20 ? 1 : 0)"]);
    node.stdout(Stdio::null()).stderr(Stdio::null());
    run::must(node).and_then(|()| there("npm")).map_err(|why| {
        format!(
            "no Node 20 or later with npm ({why}): the clients in clients/ are compiled and run by the tests.\n\
             Install it from nodejs.org or your distribution. {CHOICE}=skip leaves this stage out, {CHOICE}=require fails without it."
        )
    })
}

fn there(name: &str) -> Outcome {
    let mut look = run::program(name);
    look.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    run::must(look)
}

#[cfg(test)]
mod tests {
    use super::node;

    #[test]
    fn a_missing_node_is_said_clearly_with_the_way_around_it() {
        for name in ["no-such-node", "false"] {
            let why = node(name).unwrap_err();
            assert!(why.contains("Node 20") && why.contains("PORTAGE_TEST_CLIENTS=skip"), "{why}");
        }
    }
}
