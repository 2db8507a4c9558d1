//! Campaigns that compare a local chain with the network's own machine. Each is a workspace of its own below
//! `crates/testing`, so that the machine and its crates never enter the product's build.

use crate::{Outcome, lint, run, tree};

/// A workspace with a lock file and a list of licences of its own.
#[derive(Debug)]
pub(crate) struct SeparateWorkspace {
    /// The name of its folder below `crates/testing`, and of the one that it is built in.
    name: &'static str,
    /// What its first build costs.
    cost: &'static str,
    /// Variables that its build and its program read.
    environment: &'static [(&'static str, &'static str)],
}

/// The campaign on NEAR's own virtual machine.
pub(crate) const GAS: SeparateWorkspace = SeparateWorkspace {
    name: "gas",
    cost: "NEAR's virtual machine: ten minutes and two gigabytes",
    environment: &[],
};

/// The campaign on Agave's own Bank.
pub(crate) const BANK: SeparateWorkspace = SeparateWorkspace {
    name: "bank",
    cost: "Agave's Bank: up to half an hour and 2.2 gigabytes",
    // the system's OpenSSL, which else is built from source; no log of the Bank
    environment: &[("OPENSSL_NO_VENDOR", "1"), ("RUST_LOG", "off")],
};

impl SeparateWorkspace {
    fn path(&self, file: &str) -> String {
        format!("crates/testing/{}/{file}", self.name)
    }

    /// Checks the licences, builds the campaign below the build folder, and runs it.
    pub(crate) fn run(&self) -> Outcome {
        let (manifest, licences) = (self.path("Cargo.toml"), self.path("deny.toml"));
        lint::dependencies(&["--manifest-path", &manifest, "--config", &licences])?;
        println!("building {}, the first time", self.cost);
        let mut cargo = run::cargo(&["run", "--locked", "--manifest-path", &manifest]);
        cargo.arg("--target-dir").arg(tree::target().join(self.name));
        cargo.envs(self.environment.iter().copied());
        run::must(cargo)
    }

    /// Checks that its sources are formatted: `cargo fmt --all` knows the product's workspace only.
    pub(crate) fn is_formatted(&self) -> Outcome {
        run::must(run::cargo(&["fmt", "--manifest-path", &self.path("Cargo.toml"), "--check"]))
    }
}

#[cfg(test)]
mod tests {
    use super::{BANK, GAS, SeparateWorkspace};
    use crate::tree;

    const PRODUCTS: &str = "Cargo.lock";

    fn text(path: &str) -> String {
        tree::read(&tree::root().join(path)).unwrap()
    }

    /// Turns red where the product's lock file has a machine in it, or the campaign's has not.
    #[test]
    fn each_machine_is_in_the_lock_file_of_its_campaign_alone() {
        let machines = [(&GAS, "near-vm-runner"), (&GAS, "wasmtime"), (&BANK, "solana-runtime")];
        for (of, machine) in machines {
            let package = format!("name = \"{machine}\"\n");
            assert!(!text(PRODUCTS).contains(&package), "{machine} is part of the product");
            assert!(text(&of.path("Cargo.lock")).contains(&package), "{machine} is not tried");
        }
    }

    /// Turns red where a campaign would try other releases than those that the tests of the local chains run on.
    #[test]
    fn the_lock_files_have_the_same_chains() {
        let versions = |lock: &str, name: &str| {
            let lock = text(lock);
            let package = format!("name = \"{name}\"\nversion = ");
            let of =
                |at: (usize, &str)| lock[at.0 + package.len()..].lines().next().map(str::to_owned);
            lock.match_indices(&package).filter_map(of).collect::<Vec<_>>()
        };
        let near = ["wasmi", "near-parameters", "near-primitives"].map(|name| (&GAS, name));
        let solana = ["litesvm", "solana-program-runtime", "solana-transaction"];
        for (of, name) in near.into_iter().chain(solana.map(|name| (&BANK, name))) {
            let product = versions(PRODUCTS, name);
            assert_eq!(product.len(), 1, "{name}");
            assert_eq!(product, versions(&of.path("Cargo.lock"), name), "{name}");
        }
    }

    /// Turns red where the product comes to allow a licence that a campaign refuses.
    #[test]
    fn their_licences_are_the_products_and_one_more() {
        let allowed = |file: &str| {
            let text: toml::Table = text(file).parse().unwrap();
            let list = text["licenses"]["allow"].as_array().unwrap().clone();
            list.iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let one_more = |of: &SeparateWorkspace, licence: &str| {
            let (product, campaign) = (allowed("deny.toml"), allowed(&of.path("deny.toml")));
            let more: Vec<_> = campaign.iter().filter(|name| !product.contains(name)).collect();
            assert_eq!(more, [licence]);
            assert!(product.iter().all(|name| campaign.contains(name)), "{product:?}");
        };
        one_more(&GAS, "Apache-2.0 WITH LLVM-exception");
        one_more(&BANK, "bzip2-1.0.6");
    }
}
