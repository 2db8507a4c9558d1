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
    for unit in ["portage-serve@.service", "portage-work@.service", "portage-spot.service"] {
        let text = deploy(&format!("systemd/{unit}"));
        let starts: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("ExecStart=/usr/bin/portage "))
            .collect();
        let [start] = starts.as_slice() else { panic!("{unit}: {starts:?}") };
        known(start);
        for section in ["[Unit]", "[Service]", "[Install]"] {
            assert_eq!(
                text.lines().filter(|line| *line == section).count(),
                1,
                "{unit}: {section}"
            );
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

#[test]
fn compose_starts_commands_that_exist_with_settings_that_exist() {
    let text = deploy("compose.yaml");
    let (mut commands, mut settings) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
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
    assert_eq!(commands, ["migrate", "spot serve", "serve --no-workers", "work"]);
    commands.iter().for_each(|command| known(command));
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Command::new(env!("CARGO_BIN_EXE_portage"));
    let said = config.env_clear().arg("config").envs(settings).current_dir(folder.path()).output();
    let said = said.expect("it runs");
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "portage config: {error}");
}
