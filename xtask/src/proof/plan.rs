//! From the rows of the page to the runs that prove them, none of them twice.

use super::page::{PLAIN, Row};

/// One thing to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Job {
    /// The test passes, on the real build or on a wrong one that must not touch it.
    Green { test: String, wrong: Option<String> },
    /// Under the wrong build one of the tests fails, at this assertion.
    Red { id: String, tests: Vec<String>, wrong: String, assertion: String },
}

/// Which runs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// The real build and the wrong ones.
    All,
    /// The wrong builds: the real one was tested before.
    Wrong,
}

/// All runs for these rows and these existing tests, and the rows that no test answers to.
pub(super) fn jobs(rows: &[Row], tests: &[String], runs: Runs) -> (Vec<Job>, Vec<String>) {
    let mut jobs = Vec::new();
    let mut faults = Vec::new();
    for row in rows {
        let own = of(row, tests);
        if own.is_empty() {
            faults.push(format!("{}: no test is named `{}…`", row.id, row.test));
            continue;
        }
        let real = own.iter().filter(|_| runs == Runs::All);
        let green = real.map(|test| Job::Green { test: test.clone(), wrong: None });
        jobs.extend(green.collect::<Vec<_>>());
        if let Some(wrong) = row.wrong.clone() {
            jobs.extend(plain(rows, tests, &wrong));
            // each store must show it by itself
            let (there, here) = own.into_iter().partition::<Vec<_>, _>(|test| on_postgres(test));
            for tests in [here, there].into_iter().filter(|tests| !tests.is_empty()) {
                let (id, assertion) = (row.id.clone(), row.assertion.clone());
                jobs.push(Job::Red { id, tests, wrong: wrong.clone(), assertion });
            }
        }
    }
    let mut once: Vec<Job> = Vec::new();
    for job in jobs {
        if !once.contains(&job) {
            once.push(job);
        }
    }
    (once, faults)
}

/// The plain tests under a wrong build, but for those that this very build is to turn red. That it
/// works at all is seen in the folder.
fn plain(rows: &[Row], tests: &[String], wrong: &str) -> Vec<Job> {
    let meant =
        |id: &str| rows.iter().any(|row| row.id == id && row.wrong.as_deref() == Some(wrong));
    let bystanders = rows.iter().filter(|row| PLAIN.contains(&row.id.as_str()) && !meant(&row.id));
    bystanders
        .flat_map(|row| of(row, tests))
        .filter(|test| !on_postgres(test))
        .map(|test| Job::Green { test, wrong: Some(wrong.to_owned()) })
        .collect()
}

/// Its journal is in a PostgreSQL database.
fn on_postgres(test: &str) -> bool {
    test.ends_with("_on_postgres")
}

fn of(row: &Row, tests: &[String]) -> Vec<String> {
    tests.iter().filter(|test| test.starts_with(&row.test)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::{super::page::tests::sample, *};

    fn green(test: &str, wrong: Option<&str>) -> Job {
        Job::Green { test: test.to_owned(), wrong: wrong.map(str::to_owned) }
    }

    fn red(id: &str, tests: &[&str], wrong: &str) -> Job {
        Job::Red {
            id: id.to_owned(),
            tests: tests.iter().map(|&test| test.to_owned()).collect(),
            wrong: wrong.to_owned(),
            assertion: "money is lost".to_owned(),
        }
    }

    #[test]
    fn each_run_is_planned_once() {
        let rows = [
            sample("FSM-001", None),
            sample("INV-001", Some("twice")),
            sample("INV-002", Some("twice")),
        ];
        let tests = [
            "fsm_001::fused",
            "fsm_001::fused_on_postgres",
            "inv_001::fused",
            "inv_001::fused_on_postgres",
            "inv_001::plain",
            "inv_002",
            "other",
        ];
        let tests = tests.map(|name| format!("acceptance::{name}"));
        let [fsm, fsm_there, inv, inv_there, inv_plain, ..] = tests.each_ref().map(String::as_str);
        let expected = [
            green(fsm, None),
            green(fsm_there, None),
            green(inv, None),
            green(inv_there, None),
            green(inv_plain, None),
            green(fsm, Some("twice")),
            red("INV-001", &[inv, inv_plain], "twice"),
            red("INV-001", &[inv_there], "twice"),
            green("acceptance::inv_002", None),
            red("INV-002", &["acceptance::inv_002"], "twice"),
        ];
        assert_eq!(jobs(&rows, &tests, Runs::All), (expected.to_vec(), Vec::new()));
    }

    #[test]
    fn a_build_meant_for_a_plain_id_spares_the_other_one_only() {
        let rows = [sample("FSM-001", Some("lost")), sample("FSM-002", None)];
        let tests = ["acceptance::fsm_001".to_owned(), "acceptance::fsm_002".to_owned()];
        let (jobs, _) = jobs(&rows, &tests, Runs::All);
        assert!(jobs.contains(&green("acceptance::fsm_002", Some("lost"))));
        assert!(!jobs.contains(&green("acceptance::fsm_001", Some("lost"))));
    }

    #[test]
    fn a_row_without_a_test_is_found() {
        let tests = ["acceptance::cra_002".to_owned()];
        let (_, faults) = jobs(&[sample("CRA-001", None)], &tests, Runs::All);
        assert_eq!(faults, ["CRA-001: no test is named `acceptance::cra_001…`"]);
    }

    #[test]
    fn only_wrong_builds_run_where_the_real_one_was_tested() {
        let rows = [sample("FSM-001", None), sample("INV-001", Some("twice"))];
        let tests = ["acceptance::fsm_001", "acceptance::inv_001"].map(str::to_owned);
        let (jobs, _) = jobs(&rows, &tests, Runs::Wrong);
        let red = red("INV-001", &["acceptance::inv_001"], "twice");
        assert_eq!(jobs, [green("acceptance::fsm_001", Some("twice")), red]);
    }
}
