//! What the operating system knows of this process, under the names that every program uses. Linux alone says it.
#![expect(
    clippy::float_arithmetic,
    reason = "measurements of the process; no money is counted here"
)]

use std::fmt::Write as _;
use std::fs::{read_dir, read_to_string};

/// Ticks of the kernel's clock in a second, as programs see it.
const TICKS: f64 = 100.0;

/// The lines of this process; those of what cannot be read are missing.
pub(super) fn lines() -> String {
    let stat = read_to_string("/proc/self/stat").unwrap_or_default();
    // the name before the last parenthesis may have blanks
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |place: usize| fields.get(place)?.parse::<u32>().ok().map(f64::from);
    let cpu = ticks(12).zip(ticks(13)).map(|(user, system)| (user + system) / TICKS);
    let boot = read_to_string("/proc/stat").unwrap_or_default();
    let boot = number_after(&boot, "btime ");
    let began = fields.get(20).and_then(|ticks| ticks.parse::<f64>().ok());
    let start = boot.zip(began).map(|(boot, ticks)| boot + ticks / TICKS);
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let memory = number_after(&status, "VmRSS:").map(|kib| kib * 1024.0);
    let open = read_dir("/proc/self/fd").ok().and_then(|all| u32::try_from(all.count()).ok());
    let mut text = String::new();
    for (name, kind, help, value) in [
        ("process_cpu_seconds", "counter", "Time on processors, in seconds", cpu),
        ("process_start_time_seconds", "gauge", "When the process began, as Unix time", start),
        ("process_resident_memory_bytes", "gauge", "Memory that is resident, in bytes", memory),
        ("process_open_fds", "gauge", "File descriptors that are open", open.map(f64::from)),
    ] {
        let total = if kind == "counter" { "_total" } else { "" };
        if let Some(value) = value {
            // a String takes everything
            let _whole = writeln!(
                text,
                "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name}{total} {value}"
            );
        }
    }
    text
}

/// The first number behind a word in a text of the kernel.
fn number_after(text: &str, word: &str) -> Option<f64> {
    text.split(word).nth(1)?.split_whitespace().next()?.parse().ok()
}
