//! What was tried, how often, and what was found.

#[derive(Debug, Default)]
pub struct Part {
    /// How many requests or connections were tried.
    pub tried: u64,
    /// What must not be so, one line each.
    pub findings: Vec<String>,
}

impl Part {
    /// Counts one try; where it is not as it must be, the words are a finding.
    pub fn must(&mut self, holds: bool, words: impl FnOnce() -> String) {
        self.tried = self.tried.saturating_add(1);
        if !holds {
            self.findings.push(words());
        }
    }
}

/// All parts so far.
#[derive(Debug, Default)]
pub struct Report {
    tried: u64,
    findings: usize,
}

impl Report {
    /// Prints a part and counts it.
    pub fn add(&mut self, name: &str, part: &Part) {
        let Part { tried, findings } = part;
        let verdict = if findings.is_empty() { "held " } else { "FOUND" };
        println!("{verdict} {name}: {tried} tried, {} found", findings.len());
        for finding in findings {
            println!("      - {finding}");
        }
        self.tried = self.tried.saturating_add(*tried);
        self.findings = self.findings.saturating_add(findings.len());
    }

    /// The last word.
    ///
    /// # Errors
    /// Something was found, or nothing was tried.
    pub fn end(&self) -> crate::Outcome {
        println!("{} tried, {} found", self.tried, self.findings);
        match (self.tried, self.findings) {
            (0, _) => Err("nothing was tried".to_owned()),
            (_, 0) => Ok(()),
            (_, found) => Err(format!("{found} findings")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Report};

    #[test]
    fn a_finding_ends_badly_and_so_does_nothing_at_all() {
        let mut report = Report::default();
        assert!(report.end().is_err());
        let mut part = Part::default();
        part.must(true, String::new);
        report.add("a", &part);
        assert!(report.end().is_ok());
        part.must(false, || "b".to_owned());
        report.add("a", &part);
        assert!(report.end().is_err());
    }
}
