//! The packages that a release's binary is made of, as cargo resolves them.

use crate::{Outcome, run, tree};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The package whose binary is released.
const ROOT: &str = "server";

/// The binary's packages, with what each needs of the others.
#[derive(Debug)]
pub(super) struct Graph {
    /// By cargo's id; the packages of this repository among them.
    pub(super) packages: BTreeMap<String, Package>,
    /// The ids that a package needs.
    pub(super) needs: BTreeMap<String, BTreeSet<String>>,
    /// The id of the released package.
    pub(super) root: String,
}

/// A package, as `cargo metadata` prints it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Package {
    id: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) manifest_path: PathBuf,
    /// Where it was taken from; none for those of this repository.
    pub(super) source: Option<String>,
    /// The SHA-256 of its archive, from the lock file.
    #[serde(skip)]
    pub(super) checksum: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Need>,
}

#[derive(Debug, Deserialize)]
struct Need {
    pkg: String,
    dep_kinds: Vec<NeedKind>,
}

#[derive(Debug, Deserialize)]
struct NeedKind {
    /// None for what is linked; else `dev` or `build`.
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The machine that this compiler builds for, as `x86_64-unknown-linux-gnu`.
pub(super) fn host() -> Outcome<String> {
    let mut rustc = run::program(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.arg("-vV");
    let printed = run::output(rustc)?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

impl Graph {
    /// What is linked into the binary with these features, on this machine.
    pub(super) fn read(features: &[&str]) -> Outcome<Self> {
        let mut cargo = run::cargo(&["metadata", "--format-version=1", "--locked"]);
        cargo.args(features).arg(format!("--filter-platform={}", host()?));
        let lock = tree::root().join("Cargo.lock");
        let lock = fs::read_to_string(&lock).map_err(|why| format!("{}: {why}", lock.display()))?;
        Self::of(&run::output(cargo)?, &lock)
    }

    fn of(metadata: &str, lock: &str) -> Outcome<Self> {
        let metadata: Metadata =
            serde_json::from_str(metadata).map_err(|why| format!("cargo metadata: {why}"))?;
        let lock: Lock = toml::from_str(lock).map_err(|why| format!("Cargo.lock: {why}"))?;
        let root = metadata.packages.iter().find(|package| package.name == ROOT);
        let root = root.ok_or_else(|| format!("no package {ROOT}"))?.id.clone();
        let linked = |node: Node| {
            let needs = node.deps.into_iter().filter(|need| {
                need.dep_kinds.is_empty() || need.dep_kinds.iter().any(|kind| kind.kind.is_none())
            });
            (node.id, needs.map(|need| need.pkg).collect::<BTreeSet<_>>())
        };
        let all: BTreeMap<_, _> = metadata.resolve.nodes.into_iter().map(linked).collect();
        let (mut reached, mut next) = (BTreeSet::new(), vec![root.clone()]);
        while let Some(id) = next.pop() {
            if reached.insert(id.clone()) {
                next.extend(all.get(&id).into_iter().flatten().cloned());
            }
        }
        let checksum = |package: &Package| {
            let mut locked = lock.package.iter();
            let found =
                locked.find(|one| one.name == package.name && one.version == package.version);
            found.and_then(|one| one.checksum.clone())
        };
        let packages = metadata.packages.into_iter().filter(|one| reached.contains(&one.id));
        let packages = packages.map(|one| {
            let checksum = checksum(&one);
            (one.id.clone(), Package { checksum, ..one })
        });
        let needs = all.into_iter().filter(|(id, _)| reached.contains(id)).collect();
        Ok(Self { packages: packages.collect(), needs, root })
    }

    /// The version that is released.
    pub(super) fn version(&self) -> Outcome<&str> {
        let root = self.packages.get(&self.root);
        root.map(|root| &*root.version).ok_or_else(|| format!("no package {ROOT}"))
    }

    /// The packages of others, by name and version.
    pub(super) fn foreign(&self) -> Vec<&Package> {
        let mut all: Vec<_> =
            self.packages.values().filter(|package| package.source.is_some()).collect();
        all.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        all
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Graph;

    /// `server` links `a`, which links `b`; `t` is for its tests, `m` is made with, `x` is another's.
    pub(in crate::dist) fn sample() -> Graph {
        let package = |name: &str, source: &str| {
            format!(
                r#"{{"id":"{name}#1","name":"{name}","version":"1.0.0","license":"MIT","repository":null,
                "manifest_path":"/no/such/{name}/Cargo.toml","source":{source}}}"#
            )
        };
        let of = "\"registry+https://github.com/rust-lang/crates.io-index\"";
        let packages = [("server", "null"), ("a", of), ("b", of), ("t", of), ("m", of), ("x", of)];
        let packages = packages.map(|(name, source)| package(name, source)).join(",");
        let need = |name: &str, kind: &str| {
            format!(r#"{{"pkg":"{name}#1","dep_kinds":[{{"kind":{kind}}}]}}"#)
        };
        let root = [need("a", "null"), need("t", "\"dev\""), need("m", "\"build\"")].join(",");
        let nodes = format!(
            r#"{{"id":"server#1","deps":[{root}]}},{{"id":"a#1","deps":[{}]}},{{"id":"b#1","deps":[{}]}}"#,
            need("b", "null"),
            need("a", "null"),
        );
        let metadata = format!(r#"{{"packages":[{packages}],"resolve":{{"nodes":[{nodes}]}}}}"#);
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        Graph::of(&metadata, lock).expect("a graph")
    }

    #[test]
    fn what_is_linked_is_in_the_graph_and_nothing_else() {
        let graph = sample();
        let names: Vec<_> = graph.foreign().iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(graph.packages.len(), 3);
        assert_eq!(graph.version(), Ok("1.0.0"));
        assert_eq!(graph.packages["a#1"].checksum.as_deref(), Some("abc"));
    }
}
