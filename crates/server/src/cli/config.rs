//! `portage config`: the effective settings, secrets masked.

use super::exit::{Exit, Fault};
use super::{Global, show};
use serde_json::Value;

/// Print the effective settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage config --config portage.toml")]
pub(super) struct Args {
    /// Print JSON instead of TOML.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(global: &Global, args: &Args) -> Result<(), Fault> {
    let config = global.settings()?;
    if args.json {
        return show::json(&config);
    }
    let value = serde_json::to_value(&config)
        .map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
    show::say(toml(&value).trim_end())
}

/// Sections of plain values are the same in TOML as in JSON, but for the brackets around them.
fn toml(config: &Value) -> String {
    let mut text = String::new();
    for (section, keys) in config.as_object().into_iter().flatten() {
        text.push_str(&format!("[{section}]\n"));
        for (key, value) in keys.as_object().into_iter().flatten() {
            text.push_str(&format!("{key} = {value}\n"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::toml;
    use crate::config::Config;
    use crate::layers::{Flags, load};

    #[test]
    fn what_is_printed_can_be_read_again() {
        let text = toml(&serde_json::to_value(Config::default()).unwrap());
        assert!(text.contains("[server]\nlisten = \"127.0.0.1:3000\""), "{text}");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("portage.toml");
        std::fs::write(&file, &text).unwrap();
        let again = load(&Flags { config: Some(file), ..Flags::default() }, []).unwrap();
        assert_eq!(toml(&serde_json::to_value(again).unwrap()), text);
    }
}
