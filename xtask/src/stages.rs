//! A task as a row of named stages: each announced, timed, and listed in a table at the end.

use std::time::{Duration, Instant};

use crate::Outcome;

/// The stages of one task that have run so far.
#[derive(Debug)]
pub(crate) struct Stages {
    task: &'static str,
    done: Vec<Stage>,
}

#[derive(Debug)]
struct Stage {
    name: &'static str,
    took: Duration,
    /// How busy the machine was; `None` where that cannot be read.
    busy: Option<u64>,
    fault: Option<String>,
}

impl Stages {
    pub(crate) fn of(task: &'static str) -> Self {
        Self { task, done: Vec::new() }
    }

    /// Runs one stage and keeps its outcome; true if it went well.
    pub(crate) fn stage(&mut self, name: &'static str, work: impl FnOnce() -> Outcome) -> bool {
        println!("\n==> {}: {name}", self.task);
        let before = processor_time();
        let (took, outcome) = timed(work);
        let busy = before.zip(processor_time()).and_then(|(before, after)| after.since(before));
        let fault = outcome.err();
        let word = if let Some(fault) = &fault {
            println!("{fault}");
            "FAILED"
        } else {
            "ok"
        };
        println!("<== {}: {name} {word} in {:.1} s", self.task, took.as_secs_f64());
        let well = fault.is_none();
        self.done.push(Stage { name, took, busy, fault });
        well
    }

    /// Prints the table; an error if any stage failed.
    pub(crate) fn end(self) -> Outcome {
        print!("\n{}", self.table());
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|stage| stage.fault.is_some())
            .map(|stage| stage.name)
            .collect();
        if failed.is_empty() {
            Ok(())
        } else {
            Err(format!("{} failed: {}", self.task, failed.join(", ")))
        }
    }

    fn table(&self) -> String {
        let mut text = format!("{:<12} {:>9} {:>6}  result\n", self.task, "seconds", "busy");
        for stage in &self.done {
            let word = if stage.fault.is_some() { "FAILED" } else { "ok" };
            let seconds = stage.took.as_secs_f64();
            let busy = stage.busy.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"));
            text.push_str(&format!("{:<12} {seconds:>9.1} {busy:>6}  {word}\n", stage.name));
        }
        let total = self.done.iter().map(|stage| stage.took).sum::<Duration>();
        text.push_str(&format!("{:<12} {:>9.1}\n", "total", total.as_secs_f64()));
        text
    }
}

/// What all processors of the machine have done since its start, in ticks.
#[derive(Debug, Clone, Copy)]
struct ProcessorTime {
    busy: u64,
    all: u64,
}

impl ProcessorTime {
    /// How busy they were since then, in per cent of all of them: a stage that leaves them idle waits.
    fn since(self, before: Self) -> Option<u64> {
        let busy = self.busy.saturating_sub(before.busy);
        busy.saturating_mul(100).checked_div(self.all.saturating_sub(before.all))
    }

    /// Reads the first line of `/proc/stat`: user, nice, system, idle, waiting for a disk, and more.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> =
            line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let all = ticks.iter().take(8).sum::<u64>();
        let idle = ticks.iter().skip(3).take(2).sum::<u64>();
        Some(Self { busy: all.saturating_sub(idle), all })
    }
}

/// On Linux; elsewhere the table has no such figure.
fn processor_time() -> Option<ProcessorTime> {
    ProcessorTime::parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// How long a piece of work took.
#[expect(clippy::disallowed_methods, reason = "the one place here that reads a clock, to show it")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let value = work();
    (start.elapsed(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_waited_for_is_no_work() {
        let read = |stat| ProcessorTime::parse(stat).expect("a line of processors");
        let before = read("cpu  100 0 100 700 100 0 0 0 9 9\ncpu0 1 2 3 4\n");
        let after = read("cpu  150 0 125 725 200 0 0 0 9 9\n");
        assert_eq!(after.since(before), Some(37));
        assert_eq!(before.since(before), None);
        assert!(ProcessorTime::parse("intr 5").is_none());
    }

    #[test]
    fn one_failed_stage_fails_the_task_and_the_others_still_run() {
        let mut stages = Stages::of("lint");
        assert!(!stages.stage("fmt", || Err("not formatted".to_owned())));
        assert!(stages.stage("clippy", || Ok(())));
        let table = stages.table();
        assert!(table.contains("fmt ") && table.contains("FAILED"), "{table}");
        assert!(
            table.lines().any(|line| line.starts_with("clippy") && line.ends_with("ok")),
            "{table}"
        );
        assert_eq!(stages.end(), Err("lint failed: fmt".to_owned()));
    }
}
