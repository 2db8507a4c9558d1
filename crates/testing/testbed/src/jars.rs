//! The programs of Apache Kafka: the jars that Maven resolves, checked against the checksums in the repository.
//! They are resolved once, and kept in the build's folder.

use crate::Outcome;
use crate::programs::run;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Maven project whose dependencies are resolved.
const POM: &str = include_str!("../kafka/pom.xml");
/// Every jar of it, as `sha256sum` writes them.
const CHECKSUMS: &str = include_str!("../kafka/jars.sha256");
/// The oldest Java that a broker runs on.
const OLDEST_JAVA: u32 = 17;

/// Whether this machine has Java and Maven.
///
/// # Errors
/// What is missing.
pub(crate) fn possible() -> Outcome {
    let mut java = Command::new("java");
    java.arg("-version").stdin(Stdio::null());
    let said =
        java.output().map_err(|fault| format!("no Java {OLDEST_JAVA} or later: java: {fault}"))?;
    // it says its version on the stream for errors
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    if major(&said).is_none_or(|major| major < OLDEST_JAVA) {
        return Err(format!(
            "no Java {OLDEST_JAVA} or later: {}",
            said.lines().next().unwrap_or("java")
        ));
    }
    let mut maven = Command::new("mvn");
    maven.arg("--version").stdin(Stdio::null());
    run(maven).map(drop).map_err(|fault| format!("no Maven: {fault}"))
}

/// `openjdk version "17.0.15" 2025-04-15` is 17.
fn major(said: &str) -> Option<u32> {
    let version = said.split_once("version \"")?.1;
    let end = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version.get(..end)?.parse().ok()
}

/// The class path of a broker.
///
/// # Errors
/// Maven fails, or gives something else than the repository knows.
pub(crate) fn class_path() -> Outcome<String> {
    let folder = target().join("kafka-jars");
    // a list that changed makes what is there another version's
    let listed = folder.join("jars.sha256");
    if std::fs::read_to_string(&listed).ok().as_deref() != Some(CHECKSUMS) {
        resolve(&folder)?;
    }
    let jars = CHECKSUMS.lines().filter_map(|line| line.split_once("  "));
    let paths: Vec<String> = jars.map(|(_, jar)| folder.join(jar).display().to_string()).collect();
    Ok(paths.join(":"))
}

/// Resolves beside the place, so that another process finds all of it or nothing.
fn resolve(folder: &Path) -> Outcome {
    let said = |fault: std::io::Error| format!("{}: {fault}", folder.display());
    let above = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(above).map_err(said)?;
    let new = tempfile::Builder::new().prefix("kafka-jars-").tempdir_in(above).map_err(said)?;
    std::fs::write(new.path().join("pom.xml"), POM).map_err(said)?;
    std::fs::write(new.path().join("jars.sha256"), CHECKSUMS).map_err(said)?;
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "dependency:copy-dependencies"]);
    maven.args(["-DincludeScope=runtime", "-DoutputDirectory=."]);
    maven.current_dir(new.path()).stdin(Stdio::null());
    run(maven).map_err(|fault| format!("Kafka's jars are not resolved: {fault}"))?;
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", "--quiet", "jars.sha256"]);
    check.current_dir(new.path()).stdin(Stdio::null());
    run(check).map_err(|fault| format!("Kafka's jars are not those that we know: {fault}"))?;
    let _former = std::fs::remove_dir_all(folder);
    let new = new.keep();
    if std::fs::rename(&new, folder).is_err() {
        // another process was faster with the same jars
        let _ours = std::fs::remove_dir_all(new);
    }
    Ok(())
}

/// The target folder of the Cargo build.
fn target() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_version_of_java_is_read_as_it_is_printed() {
        assert_eq!(major("openjdk version \"17.0.15\" 2025-04-15\n"), Some(17));
        assert_eq!(major("openjdk version \"21\" 2023-09-19\n"), Some(21));
        assert_eq!(major("java version \"1.8.0_45\"\n"), Some(1));
        assert_eq!(major("bash: java: command not found"), None);
    }
}
