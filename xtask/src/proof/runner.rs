//! Running the jobs, a few at a time, and judging what was seen.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    plan::Job,
    program::{Ended, Program},
};
use crate::{Outcome, run};

/// The tests wait for disks more than they compute: two at once leave 43 % of two cores idle. More would stretch
/// their time limits.
const AT_ONCE: usize = 3;

/// Runs all jobs and gives what was not as it must be.
pub(super) fn run(jobs: &[Job], program: &Program) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match one(job, &|name, wrong| program.test(name, wrong)) {
                Ok(seen) => println!("{seen}"),
                Err(fault) => {
                    println!("FAULT   {fault}");
                    faults.push(fault);
                }
            }
        }
        faults
    };
    run::at_once(&[(); AT_ONCE], |()| work()).into_iter().flatten().collect()
}

/// Runs one job: the line to show, or the fault.
fn one(job: &Job, test: &dyn Fn(&str, Option<&str>) -> Outcome<Ended>) -> Outcome<String> {
    match job {
        Job::Green { test: name, wrong } => {
            let ended = test(name, wrong.as_deref())?;
            let build = wrong.as_deref().unwrap_or("the real build");
            if ended.passed {
                Ok(format!("green   {name} on {build}"))
            } else {
                Err(format!("{name} must pass on {build}: see {}", ended.log.display()))
            }
        }
        Job::Red { id, tests, wrong, assertion } => {
            let mut elsewhere = Vec::new();
            for name in tests {
                let ended = test(name, Some(wrong))?;
                if red(&ended, assertion) {
                    return Ok(format!("red     {name} on {wrong}, as {id} wants it"));
                }
                let how = if ended.passed { "passed" } else { "failed elsewhere" };
                elsewhere.push(format!("{how}: see {}", ended.log.display()));
            }
            let seen = elsewhere.join("; ");
            Err(format!("{id} must fail on {wrong} with `{assertion}`, but {seen}"))
        }
    }
}

/// Failed, and at the assertion that was named: what is printed before the first panic does not count.
pub(super) fn red(ended: &Ended, assertion: &str) -> bool {
    let panic = ended.printed.split_once("panicked at").map(|(_, rest)| rest);
    !ended.passed && panic.is_some_and(|text| text.contains(assertion))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn ended(passed: bool, printed: &str) -> Ended {
        Ended { passed, printed: printed.to_owned(), log: PathBuf::from("a.log") }
    }

    fn red_job() -> Job {
        Job::Red {
            id: "INV-001".to_owned(),
            tests: vec!["a".to_owned(), "b".to_owned()],
            wrong: "twice".to_owned(),
            assertion: "money is lost".to_owned(),
        }
    }

    #[test]
    fn red_is_a_failure_at_the_named_assertion() {
        assert!(red(&ended(false, "panicked at x.rs:1:\nmoney is lost: 3"), "money is lost"));
        assert!(!red(&ended(true, "panicked at x.rs:1:\nmoney is lost: 3"), "money is lost"));
        assert!(!red(&ended(false, "panicked at x.rs:1:\nno server"), "money is lost"));
        assert!(!red(&ended(false, "if money is lost\npanicked at x.rs:1:\n"), "money is lost"));
        assert!(!red(&ended(false, "money is lost"), "money is lost"));
    }

    #[test]
    fn one_red_test_of_an_id_is_enough() {
        let seen = one(&red_job(), &|name, wrong| {
            assert_eq!(wrong, Some("twice"));
            Ok(ended(name == "a", "panicked at x.rs:1:\nmoney is lost"))
        });
        assert_eq!(seen, Ok("red     b on twice, as INV-001 wants it".to_owned()));
    }

    #[test]
    fn an_id_that_stays_green_is_a_fault() {
        let fault = one(&red_job(), &|_, _| Ok(ended(true, ""))).unwrap_err();
        assert!(fault.starts_with("INV-001 must fail on twice"), "{fault}");
        assert!(fault.ends_with("passed: see a.log; passed: see a.log"), "{fault}");
    }

    #[test]
    fn a_plain_test_that_a_wrong_build_breaks_is_a_fault() {
        let job = Job::Green { test: "a".to_owned(), wrong: Some("twice".to_owned()) };
        let fault = one(&job, &|_, _| Ok(ended(false, ""))).unwrap_err();
        assert_eq!(fault, "a must pass on twice: see a.log");
        assert!(one(&job, &|_, _| Ok(ended(true, ""))).is_ok());
    }
}
