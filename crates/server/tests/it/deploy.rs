//! What `deploy/` starts is what this binary has: its commands, and its settings.

use std::path::PathBuf;
use std::process::Command;

fn deploy(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// Turns red where a unit or a service names a command or an option that there is none of.
fn known(words: &str) {
    let mut portage = Command::new(env!("CARGO_BIN_EXE_portage"));
    let said = portage.args(words.split_whitespace()).arg("--help").output().expect("it runs");
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "portage {words}: {error}");
}

#[test]
fn systemd_starts_commands_that_exist() {
    let units = ["portage-serve@", "portage-work@", "portage-spot", "portage-migrate"];
    for unit in units.map(|unit| format!("{unit}.service")) {
        let text = deploy(&format!("systemd/{unit}"));
        let starts: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("ExecStart=/usr/bin/portage "))
            .collect();
        let [start] = starts.as_slice() else { panic!("{unit}: {starts:?}") };
        known(start);
        // the tables are made when an operator says so, never at a boot
        let install = usize::from(unit != "portage-migrate.service");
        for (section, times) in [("[Unit]", 1), ("[Service]", 1), ("[Install]", install)] {
            let found = text.lines().filter(|line| *line == section).count();
            assert_eq!(found, times, "{unit}: {section}");
        }
    }
}

/// The value of an environment line, with what a person fills in filled in.
fn filled(value: &str) -> String {
    let value = value.trim().trim_matches('"');
    if value.starts_with("${JWKS_URL") {
        "https://login.example.com/jwks.json".to_owned()
    } else if value.starts_with("${") {
        "x".repeat(40)
    } else {
        value.to_owned()
    }
}

/// The commands and the settings of a compose file.
fn read_compose(file: &str) -> (Vec<String>, Vec<(String, String)>) {
    let (mut commands, mut settings) = (Vec::new(), Vec::new());
    for line in deploy(file).lines().map(str::trim) {
        let Some((key, value)) = line.split_once(": ") else { continue };
        if key == "command" && !value.starts_with("postgres ") {
            commands.push(value.to_owned());
        }
        // a binary without the feature refuses brokers, as it should
        let brokers = key == "KAFKA_BROKERS" && cfg!(feature = "kafka");
        if key.starts_with("PORTAGE_") || key == "DATABASE_URL" || brokers {
            settings.push((key.to_owned(), filled(value)));
        }
    }
    (commands, settings)
}

/// Turns red where `portage config` refuses these settings.
fn check_settings(settings: Vec<(String, String)>, more: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Command::new(env!("CARGO_BIN_EXE_portage"));
    config.env_clear().arg("config").args(more).envs(settings).current_dir(folder.path());
    let said = config.output().expect("it runs");
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "portage config {more:?}: {error}");
}

#[test]
fn compose_starts_commands_that_exist_with_settings_that_exist() {
    let (commands, settings) = read_compose("compose.yaml");
    assert_eq!(commands, ["migrate", "spot serve", "serve --no-workers", "work"]);
    commands.iter().for_each(|command| known(command));
    check_settings(settings, &[]);
}

/// Turns red where a health check asks in words that the binary does not know: its container would never be healthy.
#[test]
fn health_checks_are_commands_that_exist() {
    let compose = deploy("compose.yaml");
    let tests = compose.lines().filter_map(|line| line.trim().strip_prefix("test: portage "));
    let mut asked: Vec<&str> = tests.collect();
    asked.sort_unstable();
    assert_eq!(asked, ["health", "health spot", "health work"]);
    let image = deploy("Dockerfile");
    let words = image.split("CMD [\"portage\", ").nth(1).and_then(|rest| rest.split(']').next());
    let words = words.expect("a health check").replace(['"', ','], "");
    assert_eq!(words, "health --live");
    asked.iter().copied().chain([&*words]).for_each(known);
}

#[test]
fn an_evaluation_starts_with_settings_that_exist_and_no_secret() {
    let (commands, settings) = read_compose("compose.evaluation.yaml");
    assert_eq!(commands, ["serve"]);
    check_settings(settings, &[]);
    assert!(!deploy("compose.evaluation.yaml").contains("${"), "a person has to fill something in");
}

/// Turns red where a sample of `/etc/portage` names a setting that there is none of.
#[test]
fn samples_of_settings_are_accepted() {
    for (sample, secrets) in [("portage.toml", "secrets"), ("spot.toml", "spot.secrets")] {
        let secrets = deploy(&format!("systemd/etc/{secrets}"));
        let lines = secrets.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.split_once('='));
        let settings = pairs.map(|(key, value)| {
            let value = if value.is_empty() { "x".repeat(40) } else { value.to_owned() };
            (key.to_owned(), value)
        });
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let file = root.join(format!("../../deploy/systemd/etc/{sample}"));
        check_settings(settings.collect(), &["--config", file.to_str().expect("a path of text")]);
    }
}
