//! Where the relay's keys are kept by the binary: in a process without core dumps, behind a passphrase that comes from
//! a file, a file descriptor or a terminal.

use super::super::relay_chain::{LocalChain, PASSPHRASE, key_file};
use super::super::{launched, portage, said};
use std::path::Path;
use std::process::Command;

/// The most bytes of a core dump of a process, soft and hard.
fn core_limits(process: u32) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).expect("its limits");
    let line = limits.lines().find(|line| line.starts_with("Max core file size"));
    let words: Vec<&str> = line.expect("the line").split_whitespace().skip(4).take(2).collect();
    words.join(" ")
}

/// Turns red where a process with keys may leave an image of its memory.
#[test]
fn a_process_with_keys_leaves_no_core_dump() {
    let chain = LocalChain::start();
    let dir = tempfile::tempdir().expect("a folder");
    let file = key_file(dir.path(), &chain.secret_keys());
    let pass = dir.path().join("pass").display().to_string();
    let kept =
        [("PORTAGE_RELAY__KEYSTORE", &*file), ("PORTAGE_RELAY__KEYSTORE_PASSPHRASE_FILE", &*pass)];
    let served = chain.served_in(dir, &kept);
    assert_eq!(core_limits(served.process.id()), "0 0");
    assert!(!served.log().contains(PASSPHRASE));
}

/// Turns red where a passphrase that is not given is taken for a wrong one.
#[test]
fn a_passphrase_that_is_not_given_is_said_to_be_missing() {
    let chain = LocalChain::start();
    let dir = tempfile::tempdir().expect("a folder");
    let file = key_file(dir.path(), &chain.secret_keys());
    let serve = |more| {
        // without a terminal: a session of its own has none
        let settings = chain.settings(&[("PORTAGE_RELAY__KEYSTORE", &file), more]);
        let serve = portage(dir.path(), &settings);
        let mut command = Command::new("setsid");
        command.arg("-w").arg(serve.get_program()).args(serve.get_args()).arg("serve");
        command.current_dir(dir.path()).env_clear();
        command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
        said(&command.output().expect("it runs"))
    };
    let (code, text) = serve(("PORTAGE_SERVER__LISTEN", "127.0.0.1:0"));
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("none is set") && text.contains("no terminal"), "{text}");
    let gone = ("PORTAGE_RELAY__KEYSTORE_PASSPHRASE_FILE", "/nowhere/pass");
    let (code, text) = serve(gone);
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("relay.keystore_passphrase_file: /nowhere/pass"), "{text}");
}

/// Types a passphrase at a terminal of its own, and shows what was printed there.
const TYPES: &str = r#"
import os, pty, select, sys, termios
typed = sys.argv[1].encode() + b"\n"
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown = b""
while True:
    try:
        read = os.read(terminal, 4096)
    except OSError:
        break
    if not read:
        break
    shown += read
    if read.endswith(b": "):
        # the prompt is shown before the terminal is told to show nothing; what more comes was no prompt
        while termios.tcgetattr(terminal)[3] & termios.ECHO:
            if select.select([terminal], [], [], 0.01)[0]:
                break
        else:
            os.write(terminal, typed)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

/// Turns red where a passphrase cannot be typed, is shown, or opens nothing afterwards.
#[test]
fn a_passphrase_is_typed_at_the_terminal() {
    let chain = LocalChain::start();
    let dir = tempfile::tempdir().expect("a folder");
    let keys = dir.path().join("keys");
    std::fs::write(&keys, chain.secret_keys()).expect("a file");
    // the keys come on the standard input, and the passphrase from the terminal
    let encrypt = format!(
        "exec {} relay encrypt-keys --account relay.devnet --out typed.json <keys",
        env!("CARGO_BIN_EXE_portage")
    );
    let (code, shown) = typed(dir.path(), PASSPHRASE, &["/bin/sh", "-c", &encrypt]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains(PASSPHRASE), "{shown}");
    let file = dir.path().join("typed.json").display().to_string();
    let kept = |more| chain.settings(&[("PORTAGE_RELAY__KEYSTORE", &file), more]);
    let right = kept(("PORTAGE_RELAY__KEYSTORE_PASSPHRASE", PASSPHRASE));
    drop(launched(dir.path(), &right));
    // typed wrongly at the start of the server
    let lines: Vec<String> = kept(("PORTAGE_SERVER__LISTEN", "127.0.0.1:0"))
        .into_iter()
        .map(|(name, value)| format!("{name}='{value}' "))
        .collect();
    let serve =
        format!("{}exec {} --data-dir other serve", lines.concat(), env!("CARGO_BIN_EXE_portage"));
    let (code, shown) = typed(dir.path(), "another", &["/bin/sh", "-c", &serve]);
    assert_eq!(code, Some(78), "{shown}");
    assert!(shown.contains("The passphrase of") && shown.contains("another passphrase"), "{shown}");
}

/// How a command at a terminal ended at which that was typed, and what was shown there.
fn typed(dir: &Path, passphrase: &str, command: &[&str]) -> (Option<i32>, String) {
    let mut python = Command::new("python3");
    python.args(["-c", TYPES, passphrase]).args(command).current_dir(dir);
    said(&python.output().expect("it runs"))
}
