//! Gas of the local chain beside NEAR's own virtual machine: `crates/testing/gas`, which is a workspace of its
//! own, so that the machine and its crates never enter the product's build.

use crate::{Outcome, lint, run, tree};

/// The manifest of the campaign's workspace.
pub(crate) const MANIFEST: &str = "crates/testing/gas/Cargo.toml";
/// The licences of its lock file, which has one more than the product's.
const LICENCES: &str = "crates/testing/gas/deny.toml";

/// Looks at the licences, builds the campaign below the build folder, and runs it.
pub(crate) fn run() -> Outcome {
    lint::dependencies(&["--manifest-path", MANIFEST, "--config", LICENCES])?;
    println!("building NEAR's virtual machine: ten minutes and two gigabytes, the first time");
    let mut cargo = run::cargo(&["run", "--locked", "--manifest-path", MANIFEST]);
    cargo.arg("--target-dir").arg(tree::target().join("gas"));
    run::must(cargo)
}

/// Whether its sources are formatted: `cargo fmt --all` knows the product's workspace only.
pub(crate) fn formatted() -> Outcome {
    run::must(run::cargo(&["fmt", "--manifest-path", MANIFEST, "--check"]))
}

#[cfg(test)]
mod tests {
    use super::{LICENCES, MANIFEST};
    use crate::tree;

    /// Turns red where the product's lock file has the machine in it, or the campaign's has not.
    #[test]
    fn the_machine_is_in_the_lock_file_of_the_campaign_alone() {
        let root = tree::root();
        let lock = |folder: &str| tree::read(&root.join(folder).join("Cargo.lock")).unwrap();
        for machine in ["near-vm-runner", "wasmtime"] {
            let package = format!("name = \"{machine}\"\n");
            assert!(!lock("").contains(&package), "{machine} is part of the product");
            assert!(lock("crates/testing/gas").contains(&package), "{machine} is not tried");
        }
    }

    /// Turns red where the campaign would try other releases than those that the tests of the relay run on.
    #[test]
    fn both_lock_files_have_the_same_chain() {
        let root = tree::root();
        let versions = |folder: &str, name: &str| {
            let text = tree::read(&root.join(folder).join("Cargo.lock")).unwrap();
            let package = format!("name = \"{name}\"\nversion = ");
            let of =
                |at: (usize, &str)| text[at.0 + package.len()..].lines().next().map(str::to_owned);
            text.match_indices(&package).filter_map(of).collect::<Vec<_>>()
        };
        for name in ["wasmi", "near-parameters", "near-primitives"] {
            let product = versions("", name);
            assert_eq!(product.len(), 1, "{name}");
            assert_eq!(product, versions("crates/testing/gas", name), "{name}");
        }
    }

    /// Turns red where the product comes to allow a licence that the campaign refuses.
    #[test]
    fn its_licences_are_the_products_and_one_more() {
        let root = tree::root();
        let allowed = |file: &str| {
            let text: toml::Table = tree::read(&root.join(file)).unwrap().parse().unwrap();
            let list = text["licenses"]["allow"].as_array().unwrap().clone();
            list.iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (product, campaign) = (allowed("deny.toml"), allowed(LICENCES));
        let more: Vec<_> = campaign.iter().filter(|name| !product.contains(name)).collect();
        assert_eq!(more, ["Apache-2.0 WITH LLVM-exception"]);
        assert!(product.iter().all(|name| campaign.contains(name)), "{product:?}");
        assert!(root.join(MANIFEST).is_file());
    }
}
