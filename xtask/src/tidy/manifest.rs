//! Manifests: read into what the rules ask about, and the rules that one manifest shows by itself.

use toml::{Table, Value};

use super::Fault;

/// One dependency of a package, as its manifest spells it.
#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) dev: bool,
    pub(super) features: Vec<String>,
    shared: bool,
}

/// What the rules ask of a manifest.
#[derive(Debug)]
pub(super) struct Manifest {
    /// None for the workspace's own.
    pub(super) package: Option<String>,
    pub(super) dependencies: Vec<Dependency>,
    /// The workspace's table: each crate with its version, if it names one, and its features.
    pub(super) table: Vec<(String, Option<String>, Vec<String>)>,
    shares_lints: bool,
}

/// The rules that need no other file: shared lints, versions in one place, no version left open.
pub(super) fn check(path: &str, text: &str) -> Vec<Fault> {
    let manifest = match read(text) {
        Ok(manifest) => manifest,
        Err(error) => return vec![Fault::whole(path, error)],
    };
    let mut faults = Vec::new();
    if manifest.package.is_some() && !manifest.shares_lints {
        faults.push(Fault::whole(path, "`[lints] workspace = true` is missing"));
    }
    for dependency in manifest.dependencies.iter().filter(|dependency| !dependency.shared) {
        let what = format!("{}: take it from the workspace's table", dependency.name);
        faults.push(Fault::whole(path, what));
    }
    for (name, version, _) in &manifest.table {
        if version.as_ref().is_some_and(|version| version.contains('*')) {
            faults.push(Fault::whole(path, format!("{name}: a version must be named")));
        }
    }
    faults
}

/// Reads a manifest, a package's or the workspace's.
pub(super) fn read(text: &str) -> Result<Manifest, String> {
    let root: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let workspace = child(&root, "workspace");
    let table = workspace.and_then(|table| child(table, "dependencies"));
    let lints = child(&root, "lints").and_then(|table| table.get("workspace"));
    let name = child(&root, "package").and_then(|table| table.get("name"));
    Ok(Manifest {
        package: name.and_then(Value::as_str).map(str::to_owned),
        dependencies: dependencies(&root),
        table: table.into_iter().flatten().map(shared_entry).collect(),
        shares_lints: lints.and_then(Value::as_bool) == Some(true),
    })
}

/// The dependencies of all kinds, those for one platform only among them.
fn dependencies(root: &Table) -> Vec<Dependency> {
    let platforms = child(root, "target").into_iter().flatten();
    let tables = platforms.filter_map(|(_, table)| table.as_table());
    let mut found = Vec::new();
    for table in std::iter::once(root).chain(tables) {
        // What a build script needs is held to the same permission as what the crate needs.
        for (kind, dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let entries = child(table, kind).into_iter().flatten();
            found.extend(entries.map(|(name, value)| dependency(name, value, dev)));
        }
    }
    found
}

fn dependency(name: &str, value: &Value, dev: bool) -> Dependency {
    let shared = value.get("workspace").and_then(Value::as_bool) == Some(true);
    Dependency { name: name.to_owned(), dev, features: features(value), shared }
}

fn shared_entry((name, value): (&String, &Value)) -> (String, Option<String>, Vec<String>) {
    let version = value.as_str().or_else(|| value.get("version").and_then(Value::as_str));
    // Neither a version nor a folder: cargo would take any.
    let open = (version.is_none() && value.get("path").is_none()).then_some("*");
    (name.clone(), version.or(open).map(str::to_owned), features(value))
}

fn features(value: &Value) -> Vec<String> {
    let list = value.get("features").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn child<'a>(table: &'a Table, name: &str) -> Option<&'a Table> {
    table.get(name).and_then(Value::as_table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n[dependencies]\n\
                        b.workspace = true\nc = { workspace = true, features = [\"d\"] }\n";

    fn faults(text: &str) -> Vec<String> {
        check("Cargo.toml", text).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_manifest_is_read() {
        let text = format!("{GOOD}[target.'cfg(unix)'.dev-dependencies]\ne.workspace = true\n");
        let manifest = read(&text).unwrap();
        assert_eq!(manifest.package.as_deref(), Some("a"));
        let seen: Vec<(&str, bool, usize)> = manifest
            .dependencies
            .iter()
            .map(|found| (found.name.as_str(), found.dev, found.features.len()))
            .collect();
        assert_eq!(seen, [("b", false, 0), ("c", false, 1), ("e", true, 0)]);
    }

    #[test]
    fn good_manifests_pass() {
        assert_eq!(faults(GOOD), [""; 0]);
        assert_eq!(faults("[workspace.dependencies]\na = \"1\"\nb = { path = \"b\" }\n"), [""; 0]);
    }

    #[test]
    fn each_fault_is_found() {
        assert!(faults("[package]\nname = \"a\"\n")[0].contains("[lints]"));
        assert!(faults("[dependencies]\nb = \"1\"\n")[0].contains("b: take it from"));
        assert!(faults("[build-dependencies]\nb = { path = \"../b\" }\n")[0].contains("b: take"));
        for open in ["a = \"*\"", "a = { version = \"1.*\" }", "a = { git = \"x\" }"] {
            let found = faults(&format!("[workspace.dependencies]\n{open}\n"));
            assert_eq!(found, ["Cargo.toml: a: a version must be named"], "{open}");
        }
        assert_eq!(faults("[package\n").len(), 1);
    }
}
