//! The ratchet's numbers: by section and name, and what differs from them.

use super::super::Fault;
use super::RATCHET;
use crate::Outcome;
use std::collections::BTreeMap;

/// How many there are, by section and name. What there is none of is left out.
#[derive(Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Counts(BTreeMap<String, BTreeMap<String, usize>>);

impl Counts {
    /// Reads the stored counts.
    pub(super) fn read(text: &str) -> Outcome<Self> {
        toml::from_str(text).map_err(|fault| format!("{RATCHET}: {fault}"))
    }

    pub(super) fn set(&mut self, section: &str, name: &str, count: usize) {
        if count > 0 {
            self.0.entry(section.to_owned()).or_default().insert(name.to_owned(), count);
        }
    }

    fn get(&self, section: &str, name: &str) -> usize {
        self.0.get(section).and_then(|section| section.get(name)).copied().unwrap_or(0)
    }

    fn each(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.0.iter().flat_map(|(section, names)| {
            names.iter().map(move |(name, count)| (&**section, &**name, *count))
        })
    }

    /// A fault for each count that rose, and one for all that fell.
    pub(super) fn compare(&self, stored: &Self, hint: &dyn Fn(&str, &str) -> String) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (section, name, count) in self.each() {
            let most = stored.get(section, name);
            if count > most {
                let what = format!(
                    "{section}: `{name}` stands {count} times, at most {most}: {}",
                    hint(section, name)
                );
                faults.push(Fault::whole(RATCHET, what));
            }
        }
        let fell = stored.each().filter(|(section, name, most)| self.get(section, name) < *most);
        let fell: Vec<&str> = fell.map(|(_, name, _)| name).collect();
        if !fell.is_empty() {
            let what =
                format!("fewer than stored, run `cargo xtask tidy --lower`: {}", fell.join(", "));
            faults.push(Fault::whole(RATCHET, what));
        }
        faults
    }

    /// Each stored count, lowered to what was found.
    pub(super) fn lowered(&self, found: &Self) -> Self {
        let mut lowered = Self::default();
        for (section, name, most) in self.each() {
            let there = found.get(section, name);
            lowered.set(section, name, if there < most { there } else { most });
        }
        lowered
    }

    /// As it is stored.
    pub(super) fn text(&self) -> String {
        let mut text = String::from(
            "# What the tree may still have; written by `cargo xtask tidy --lower`, which only lowers.\n",
        );
        for (section, names) in &self.0 {
            text.push_str(&format!("\n[{section}]\n"));
            for (name, count) in names {
                text.push_str(&format!("\"{name}\" = {count}\n"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratchet_only_falls() {
        let counts = |desk, office| {
            let mut counts = Counts::default();
            counts.set("words", "desk", desk);
            counts.set("words", "office", office);
            counts
        };
        let lowered = counts(5, 2).lowered(&counts(3, 4));
        assert_eq!(lowered, counts(3, 2));
        assert_eq!(Counts::read(&lowered.text()).unwrap(), lowered);
        assert_eq!(counts(1, 1).lowered(&counts(0, 0)), Counts::default());
    }
}
