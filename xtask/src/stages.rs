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
    fault: Option<String>,
}

impl Stages {
    pub(crate) fn of(task: &'static str) -> Self {
        Self { task, done: Vec::new() }
    }

    /// Runs one stage and keeps its outcome; true if it went well.
    pub(crate) fn stage(&mut self, name: &'static str, work: impl FnOnce() -> Outcome) -> bool {
        println!("\n==> {}: {name}", self.task);
        let (took, outcome) = timed(work);
        let fault = outcome.err();
        let word = if let Some(fault) = &fault {
            println!("{fault}");
            "FAILED"
        } else {
            "ok"
        };
        println!("<== {}: {name} {word} in {:.1} s", self.task, took.as_secs_f64());
        let well = fault.is_none();
        self.done.push(Stage { name, took, fault });
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
        let mut text = format!("{:<12} {:>9}  result\n", self.task, "seconds");
        for stage in &self.done {
            let word = if stage.fault.is_some() { "FAILED" } else { "ok" };
            let seconds = stage.took.as_secs_f64();
            text.push_str(&format!("{:<12} {seconds:>9.1}  {word}\n", stage.name));
        }
        let total = self.done.iter().map(|stage| stage.took).sum::<Duration>();
        text.push_str(&format!("{:<12} {:>9.1}\n", "total", total.as_secs_f64()));
        text
    }
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
