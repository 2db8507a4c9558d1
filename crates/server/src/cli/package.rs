//! What a package takes from the program itself: completions for shells, manual pages, the version.

use super::exit::{Exit, Fault};
use super::{Cli, output};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::path::PathBuf;

/// Print what a shell needs to complete commands and options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage completions bash\n\n\
    Put it where the shell looks for it: ~/.local/share/bash-completion/completions/portage for bash,\n\
    ~/.config/fish/completions/portage.fish for fish, a folder of $fpath as _portage for zsh.")]
pub(super) struct CompletionsArgs {
    /// The shell that reads the script
    shell: Shell,
}

/// Write a manual page for each command into a folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage man ./man1\n\nThen: man -l ./man1/portage.1")]
pub(super) struct ManArgs {
    /// The folder; it is made where it is missing.
    dir: PathBuf,
}

/// Prints the version of this program.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage version --json")]
pub(super) struct VersionArgs {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<(), Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "portage", &mut script);
    output::print(String::from_utf8_lossy(&script).trim_end())
}

pub(super) fn man(args: &ManArgs) -> Result<(), Fault> {
    let fault = |fault| Fault::new(Exit::CantCreate, format!("{}: {fault}", args.dir.display()));
    std::fs::create_dir_all(&args.dir).map_err(fault)?;
    // else the build adds a page for each `help`
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    clap_mangen::generate_to(with_synopsis(command), &args.dir).map_err(fault)
}

/// The command and those below it, each with a synopsis in which the required options come first.
fn with_synopsis(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let synopsis = match usage.split_once(" [OPTIONS] --") {
        Some((name, required)) => format!("{name} --{required} [OPTIONS]"),
        None => usage.to_owned(),
    };
    command.mut_subcommands(with_synopsis).override_usage(synopsis)
}

pub(super) fn version(args: &VersionArgs) -> Result<(), Fault> {
    let version = env!("VERSION_AND_COMMIT");
    if args.json {
        return output::print_json(&serde_json::json!({ "version": version }));
    }
    output::print(&format!("portage {version}"))
}

#[cfg(test)]
mod tests {
    use super::{Cli, ManArgs, man};
    use clap::CommandFactory;
    use clap_complete::Shell;

    #[test]
    fn each_command_has_a_manual_page_and_is_completed() {
        let dir = tempfile::tempdir().unwrap();
        let man1 = dir.path().join("man1");
        man(&ManArgs { dir: man1.clone() }).unwrap();
        for page in ["portage", "portage-serve", "portage-transfer-create", "portage-spot-serve"] {
            let text = std::fs::read_to_string(man1.join(format!("{page}.1"))).unwrap();
            assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
        }
        let text = std::fs::read_to_string(man1.join("portage-deposit.1")).unwrap();
        let required = r"\-\-user <USER> \-\-asset <ASSET> \-\-amount <AMOUNT> [OPTIONS]";
        assert!(text.contains(required), "the required options come first: {text}");
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "portage", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("completions") && script.contains("data-dir"), "{shell}");
        }
    }
}
