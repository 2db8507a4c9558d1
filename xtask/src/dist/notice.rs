//! `THIRD-PARTY.txt`: every package of others in the binary, and the licences that come with them.

use super::graph::{Graph, Package};
use crate::Outcome;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A file whose name begins so holds a licence, a notice or a copyright.
const BEGINNINGS: [&str; 6] = ["license", "licence", "copying", "notice", "unlicense", "copyright"];

/// C libraries lie one folder below the package that builds them.
const DEPTH: usize = 2;

const HEAD: &str = "Portage is under the Apache License 2.0 (LICENSE). Its binary contains the packages below, each under the\n\
    licence beside its name. Where a package offers several (`OR`), any of them may be chosen. The texts that come with\n\
    the packages follow, each once.\n\n";

/// Writes the text of the whole notice.
pub(super) fn text(graph: &Graph) -> Outcome<String> {
    let mut text = HEAD.to_owned();
    // each text once, with the packages that have it
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in graph.foreign() {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see the text below");
        let from = package.repository.as_deref().unwrap_or("crates.io");
        text.push_str(&format!("{name}: {licence} ({from})\n"));
        for licence in licences(package)? {
            texts.entry(licence).or_default().push(name.clone());
        }
    }
    for (licence, names) in texts {
        let line = "=".repeat(100);
        text.push_str(&format!(
            "\n{line}\n{}\n{line}\n\n{}\n",
            names.join(", "),
            licence.trim_end()
        ));
    }
    Ok(text)
}

/// The texts in a package's folder.
fn licences(package: &Package) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    if let Some(folder) = package.manifest_path.parent().filter(|folder| folder.is_dir()) {
        collect(folder, DEPTH, &mut found)?;
    }
    Ok(found)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<String>) -> Outcome {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries: Vec<_> =
        fs::read_dir(folder).map_err(fault)?.collect::<Result<_, _>>().map_err(fault)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().to_lowercase());
        if path.is_dir() {
            if depth > 1 {
                collect(&path, depth - 1, found)?;
            }
        } else if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
            // some are not UTF-8
            found.push(String::from_utf8_lossy(&fs::read(&path).map_err(fault)?).into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::sample;
    use super::text;
    use std::fs;

    #[test]
    fn each_package_is_named_and_each_text_stands_once() {
        let folder = std::env::temp_dir().join(format!("portage-notice-{}", std::process::id()));
        let mut graph = sample();
        for (name, below) in [("a", "LICENSE-MIT"), ("b", "lib/COPYING")] {
            let file = folder.join(name).join(below);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "Permission is granted").unwrap();
            fs::write(folder.join(name).join("README.md"), "no licence").unwrap();
            let package = graph.packages.get_mut(&format!("{name}#1")).unwrap();
            package.manifest_path = folder.join(name).join("Cargo.toml");
        }
        let text = text(&graph).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(text.contains("a 1.0.0: MIT (crates.io)\nb 1.0.0: MIT (crates.io)\n"), "{text}");
        assert_eq!(text.matches("Permission is granted").count(), 1, "{text}");
        assert!(text.contains("\na 1.0.0, b 1.0.0\n") && !text.contains("no licence"), "{text}");
        assert!(!text.contains("server 1.0.0"), "{text}");
    }
}
