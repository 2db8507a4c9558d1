//! Passing a call on to one of the benchmarks under bench/, built as a release.

use crate::{Outcome, kafka, postgres, run, tree};

/// It builds the client of Apache Kafka, and starts servers of its own.
const NEEDS_SERVERS: &str = "account";

/// Runs `bench/<name>`, whose package is called `bench-<name>`.
pub(crate) fn run(name: &str, args: &[String]) -> Outcome {
    known(name, &tree::packages("bench"))?;
    if name == NEEDS_SERVERS {
        kafka::needed()?;
        postgres::needed()?;
    }
    let package = format!("bench-{name}");
    let mut cargo = run::cargo(&["run", "--release", "--locked", "--package", &package, "--"]);
    cargo.args(args);
    run::must(cargo)
}

fn known(name: &str, names: &[String]) -> Outcome {
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let list = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
    Err(format!("no benchmark `{name}` under bench/; there are: {list}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let names = ["internal".to_owned(), "relay".to_owned()];
        assert_eq!(known("relay", &names), Ok(()));
        let why = known("intern", &names).unwrap_err();
        assert_eq!(why, "no benchmark `intern` under bench/; there are: internal, relay");
        assert!(known("internal", &[]).unwrap_err().ends_with("none yet"));
    }
}
