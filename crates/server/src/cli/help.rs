//! The help of the program itself: its commands in groups, by what a person wants to do.

use clap::Command;

/// A heading and its commands, in the order in which they are shown.
struct CommandGroup {
    heading: &'static str,
    commands: &'static [&'static str],
}

const GROUPS: &[CommandGroup] = &[
    CommandGroup {
        heading: "Try it, run it",
        commands: &["demo", "serve", "work", "spot", "config", "migrate", "health"],
    },
    CommandGroup {
        heading: "Move money",
        commands: &["transfer", "deposit", "withdraw", "account", "token"],
    },
    CommandGroup {
        heading: "Operate it",
        commands: &["ops", "halt", "relay", "swap", "webhook", "pipeline", "dlt", "outbox"],
    },
    CommandGroup {
        heading: "Prove it, keep it",
        commands: &["check", "audit", "ledger", "backup", "restore", "archive"],
    },
    CommandGroup {
        heading: "About this program",
        commands: &["completions", "man", "version", "help"],
    },
];

/// The command with a help that lists its subcommands in groups.
pub(super) fn grouped(mut command: Command) -> Command {
    command.build();
    let wide = GROUPS.iter().flat_map(|group| group.commands).map(|name| name.len());
    let wide = wide.fold(0, |most, len| if len > most { len } else { most });
    let mut text = String::new();
    for group in GROUPS {
        text.push_str(&format!("{}:\n", group.heading));
        for name in group.commands {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:wide$}  {about}\n"));
        }
        text.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::{GROUPS, grouped};
    use clap::CommandFactory as _;

    /// Turns red where a command is in no group, or in two.
    #[test]
    fn each_command_is_in_one_group() {
        let mut command = grouped(Cli::command());
        let mut listed: Vec<&str> =
            GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        let mut all: Vec<String> = command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(|sub| sub.get_name().to_owned())
            .collect();
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
        let help = command.render_help().to_string();
        for part in ["Operate it:\n", "  ops        ", "--config", "Begin with:"] {
            assert!(help.contains(part), "{part}: {help}");
        }
    }
}
