//! Who may import whom. A line of the table below is the only permission there is.

use super::{
    Fault,
    manifest::{self, Dependency, Manifest},
};
use crate::tree::Page;

/// What one kind of dependency may name.
#[derive(Debug)]
enum May {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}
use May::{AllBut, Only};

/// One crate's permissions. A name that ends in `-` stands for every crate that begins so.
#[derive(Debug)]
struct Row {
    name: &'static str,
    normal: May,
    dev: May,
}

#[rustfmt::skip]
const TABLE: [Row; 27] = [
    Row { name: "kernel",  normal: Only(&["hmac", "icu_casemap", "icu_normalizer", "icu_properties", "serde", "serde_json", "sha2", "thiserror", "ulid"]), dev: Only(&["expect-test", "proptest", "tables"]) },
    Row { name: "ledger-contract", normal: Only(&["kernel", "futures-util"]),                                    dev: Only(&[]) },
    Row { name: "flows",   normal: Only(&["kernel"]),                                                            dev: Only(&["expect-test", "rust-fsm", "tables"]) },
    Row { name: "engine",  normal: Only(&["kernel", "flows", "serde_json", "tokio", "tracing"]),                 dev: Only(&["tokio"]) },
    Row { name: "engine-tests", normal: Only(&[]),                                                               dev: Only(&["conformance", "engine", "flows", "futures-util", "kernel", "ledgers", "links", "rusqlite", "rustls", "serde_json", "sim", "store", "tempfile", "testbed", "testkit", "tokio"]) },
    Row { name: "relay-tests", normal: Only(&[]),                                                                dev: Only(&["devnet", "expect-test", "flows", "kernel", "links", "serde_json", "sim", "testkit", "tokio"]) },
    Row { name: "swap-tests", normal: Only(&[]),                                                                 dev: Only(&["bs58", "devnet", "flows", "kernel", "links", "sim", "testkit", "tokio"]) },
    Row { name: "store",   normal: Only(&["kernel", "deadpool", "futures-util", "rusqlite", "rustls", "serde", "serde_json", "sha2", "tokio", "tokio-postgres", "tokio-postgres-rustls", "tracing", "uuid"]), dev: Only(&["conformance", "flows", "ledger-contract", "tempfile", "testbed", "testkit", "tokio"]) },
    Row { name: "ledgers", normal: Only(&["kernel", "crc32c", "futures-util", "reqwest", "rustls", "rustls-platform-verifier", "serde", "serde_json", "tokio", "tracing"]), dev: Only(&["ledger-contract", "proptest", "sim", "tempfile", "testkit", "tokio"]) },
    Row { name: "links",   normal: Only(&["kernel", "flows", "argon2", "base64", "bincode", "borsh", "bs58", "chacha20poly1305", "ed25519-dalek", "futures-util", "getrandom", "rdkafka", "reqwest", "rusqlite", "rustls", "rustls-platform-verifier", "serde", "serde_json", "sha2", "solana-address", "solana-compute-budget-interface", "solana-hash", "solana-instruction", "solana-message", "solana-nonce", "solana-program-pack", "solana-signature", "solana-system-interface", "solana-transaction", "spl-associated-token-account-interface", "spl-memo-interface", "spl-token-interface", "tokio", "tracing", "uuid", "zeroize"]), dev: Only(&["conformance", "devnet", "tempfile", "testbed", "testkit", "tokio"]) },
    Row { name: "api",     normal: Only(&["serde", "serde_json", "utoipa"]),                                     dev: Only(&[]) },
    Row { name: "client",  normal: Only(&["api", "kernel", "reqwest", "rustls", "rustls-platform-verifier", "serde", "serde_json", "thiserror"]),             dev: Only(&[]) },
    Row { name: "sim",     normal: Only(&["conformance", "kernel", "flows", "engine", "ledger-contract", "tables", "testkit"]),                               dev: Only(&["ledgers", "store", "tempfile"]) },
    Row { name: "conformance", normal: Only(&["flows", "kernel", "testkit"]),                                    dev: Only(&[]) },
    Row { name: "crash",   normal: Only(&["client", "clap", "rusqlite", "serde", "serde_json", "testbed", "tokio"]),        dev: Only(&["tempfile"]) },
    Row { name: "devnet",  normal: Only(&["axum", "base64", "bincode", "borsh", "bs58", "clap", "ed25519-dalek", "hyper", "hyper-util", "imbl", "litesvm", "near-chain-configs", "near-crypto", "near-jsonrpc-primitives", "near-parameters", "near-primitives", "near-time", "serde", "serde_json", "sha2", "solana-account", "solana-account-decoder-client-types", "solana-address", "solana-clock", "solana-hash", "solana-instruction", "solana-message", "solana-nonce", "solana-program-pack", "solana-rpc-client-types", "solana-signature", "solana-system-interface", "solana-transaction", "solana-transaction-error", "solana-transaction-status-client-types", "spl-associated-token-account-interface", "spl-memo-interface", "spl-token-interface", "tokio", "wasmi"]), dev: Only(&["solana-address-lookup-table-interface", "tempfile"]) },
    Row { name: "devnet-token", normal: Only(&["near-contract-standards", "near-sdk"]),                          dev: Only(&[]) },
    Row { name: "gas",     normal: Only(&["devnet", "kernel", "links", "near-parameters", "near-primitives-core", "near-vm-runner", "serde_json"]), dev: Only(&[]) },
    Row { name: "bank",    normal: Only(&["bincode", "devnet", "flows", "kernel", "links", "solana-account", "solana-program-test", "solana-sdk-ids", "solana-system-interface", "solana-transaction", "spl-token-interface", "testkit", "tokio"]), dev: Only(&[]) },
    Row { name: "tables",  normal: Only(&["kernel"]),                                                            dev: Only(&[]) },
    Row { name: "testbed", normal: Only(&["rusqlite", "tempfile"]),                                                          dev: Only(&[]) },
    Row { name: "testkit", normal: Only(&["engine", "kernel", "tokio"]),                                         dev: Only(&[]) },
    Row { name: "attack",  normal: Only(&["base64", "clap", "jsonwebtoken", "serde_json"]),                      dev: Only(&[]) },
    Row { name: "server",  normal: AllBut(&["conformance", "devnet", "litesvm", "naive", "sim", "tables", "testbed", "testkit"]),                                         dev: AllBut(&["naive"]) },
    Row { name: "xtask",   normal: AllBut(&[]),                                                                  dev: AllBut(&[]) },
    Row { name: "naive",   normal: Only(&["deadpool-postgres", "tokio", "tokio-postgres", "uuid"]),              dev: Only(&[]) },
    Row { name: "bench-",  normal: AllBut(&[]),                                                                  dev: AllBut(&[]) },
];

/// Of these crates only these features, whoever asks for them: (importer, crate, features). What a
/// crate's tests take is not part of what it is built with.
const FEATURES: [(&str, &str, &[&str]); 1] = [("engine", "tokio", &["sync"])];

/// Crates that nobody imports: tools, not parts.
const LEAVES: [&str; 9] = [
    "attack",
    "bank",
    "crash",
    "engine-tests",
    "relay-tests",
    "swap-tests",
    "gas",
    "xtask",
    "bench-",
];

/// Holds all manifests, the workspace's among them, against the table.
pub(super) fn check(pages: &[Page]) -> Vec<Fault> {
    // One that cannot be read is already a fault of its own.
    let read = |page: &Page| Some((page.path.clone(), manifest::read(&page.text).ok()?));
    let manifests: Vec<(String, Manifest)> = pages.iter().filter_map(read).collect();
    let shared: Vec<_> = manifests.iter().flat_map(|(_, manifest)| &manifest.table).collect();
    let mut faults = Vec::new();
    for (path, manifest) in &manifests {
        let Some(name) = &manifest.package else { continue };
        let Some(row) = TABLE.iter().find(|row| is(name, row.name)) else {
            faults
                .push(Fault::whole(path, format!("crate `{name}` has no row in the import table")));
            continue;
        };
        for wanted in &manifest.dependencies {
            let from_table = shared.iter().filter(|(shared, ..)| *shared == wanted.name);
            let features = from_table.flat_map(|(.., features)| features).chain(&wanted.features);
            faults.extend(refusal(row, name, wanted).map(|what| Fault::whole(path, what)));
            if !wanted.dev {
                faults.extend(too_much(name, wanted, features).map(|w| Fault::whole(path, w)));
            }
        }
    }
    faults
}

fn refusal(row: &Row, importer: &str, wanted: &Dependency) -> Option<String> {
    let (may, kind) = if wanted.dev { (&row.dev, "its tests") } else { (&row.normal, "it") };
    let listed = |names: &[&str]| names.contains(&wanted.name.as_str());
    let allowed = match may {
        Only(names) => listed(names),
        AllBut(names) => !listed(names) && !LEAVES.iter().any(|leaf| is(&wanted.name, leaf)),
    };
    (!allowed).then(|| format!("`{importer}` imports `{}`, which {kind} may not", wanted.name))
}

fn too_much<'a>(
    importer: &str,
    wanted: &Dependency,
    mut features: impl Iterator<Item = &'a String>,
) -> Option<String> {
    let (.., may) =
        FEATURES.iter().find(|(from, to, _)| *from == importer && *to == wanted.name.as_str())?;
    let extra = features.find(|feature| !may.contains(&feature.as_str()))?;
    Some(format!("`{importer}` takes feature `{extra}` of `{}`, which it may not", wanted.name))
}

fn is(name: &str, listed: &str) -> bool {
    name == listed || (listed.ends_with('-') && name.starts_with(listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of a tree with this one crate, beside a workspace that asks for this of tokio.
    fn faults(shared: &str, name: &str, dependencies: &str) -> Vec<String> {
        let page = |path: &str, text: String| Page { path: path.to_owned(), text };
        let pages = [
            page("Cargo.toml", format!("[workspace.dependencies]\ntokio = {{ {shared} }}\n")),
            page("x/Cargo.toml", format!("[package]\nname = \"{name}\"\n{dependencies}")),
        ];
        check(&pages).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn the_table_lets_through_what_it_lists() {
        let engine = "[dependencies]\nkernel.workspace = true\n\
                      tokio = { workspace = true, features = [\"sync\"] }\n";
        assert_eq!(faults("", "engine", engine), [""; 0]);
        let tests = "[dev-dependencies]\nsim.workspace = true\n";
        assert_eq!(faults("", "engine-tests", tests), [""; 0]);
        assert_eq!(faults("", "bench-internal", "[dependencies]\nserver = \"1\"\n"), [""; 0]);
        assert_eq!(faults("", "server", "[dev-dependencies]\nsim = \"1\"\n"), [""; 0]);
    }

    #[test]
    fn a_refused_import_names_both() {
        let found = faults("", "kernel", "[dependencies]\ntokio = \"1\"\n");
        assert_eq!(found, ["x/Cargo.toml: `kernel` imports `tokio`, which it may not"]);
        let found = faults("", "kernel", "[dev-dependencies]\nserde = \"1\"\n");
        assert_eq!(found, ["x/Cargo.toml: `kernel` imports `serde`, which its tests may not"]);
        for part in ["sim", "testbed", "testkit"] {
            let line = format!("[dependencies]\n{part} = \"1\"\n");
            assert_eq!(faults("", "server", &line).len(), 1, "{part}");
        }
        assert_eq!(faults("", "flows", "[build-dependencies]\ncc = \"1\"\n").len(), 1);
    }

    #[test]
    fn nobody_imports_the_tools() {
        for tool in ["attack", "bank", "crash", "gas", "xtask", "bench-internal"] {
            let line = format!("[dev-dependencies]\n{tool} = \"1\"\n");
            assert_eq!(faults("", "server", &line).len(), 1, "{tool}");
        }
    }

    #[test]
    fn an_unknown_crate_is_refused() {
        let found = faults("", "novel", "");
        assert_eq!(found, ["x/Cargo.toml: crate `novel` has no row in the import table"]);
    }

    #[test]
    fn a_feature_is_refused_in_the_crate_and_in_the_shared_table() {
        let plain = "[dependencies]\ntokio.workspace = true\n";
        let expected = ["x/Cargo.toml: `engine` takes feature `rt` of `tokio`, which it may not"];
        assert_eq!(faults("features = [\"rt\"]", "engine", plain), expected);
        let own = "[dependencies]\ntokio = { workspace = true, features = [\"sync\", \"rt\"] }\n";
        assert_eq!(faults("", "engine", own), expected);
        assert_eq!(faults("", "store", own), [""; 0]);
        let tests = own.replace("[dependencies]", "[dev-dependencies]");
        assert_eq!(faults("", "engine", &tests), [""; 0]);
    }
}
