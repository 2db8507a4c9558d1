//! The table of what one provider can do wrong: each method of the RPC, each lie, told by the one provider, by one of
//! two, and by one of three. Each cell is a run of the relay with its real adapter, and has the end that it must have.
//!
//! `rows` is the table, `run` plays a cell, `verdict` holds it against the chain's own payments; then the tests.

mod rows;
mod run;
mod verdict;

use crate::whole_set;
use devnet::near::Rule;
use rows::rows;
use run::{Liar, Load, Run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use verdict::Honest;

/// The page that has the table.
const PAGE: &str = include_str!("../../../../../../docs/proof/providers.md");

/// One lie of one method.
#[derive(Debug, Clone)]
struct Lie {
    /// The method, with what it asks; `any`: each.
    method: &'static str,
    /// What its answer is.
    lie: &'static str,
    /// How the provider is brought to it.
    rules: Vec<Rule>,
    /// It is a lie that fits this method alone.
    of_method: bool,
    /// What is paid meanwhile.
    load: Load,
    /// The end where it is the only provider.
    alone: End,
    /// The end where it is one of two.
    of_two: End,
    /// The case that names it where it is one of three; `None`: nothing depends on it, and none opens.
    named: Option<&'static str>,
}

/// What becomes of the transfers of a run. None is paid twice, whichever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Each ends rightly while the provider lies, hardly later than without it.
    Ends,
    /// Some wait while it lies, none ends wrongly, and all end once it is healed, by themselves.
    Waits,
    /// Not paid twice is all that holds.
    NotTwice,
}

impl End {
    const fn word(self) -> &'static str {
        match self {
            Self::Ends => "ends",
            Self::Waits => "waits",
            Self::NotTwice => "not paid twice",
        }
    }
}

impl Lie {
    /// Its row of the page.
    fn line(&self) -> String {
        let Self { method, lie, alone, of_two, named, .. } = self;
        let named = named.map_or(String::new(), |kind| format!(", `{kind}`"));
        format!("| `{method}` | {lie} | {} | {} | ends{named} |", alone.word(), of_two.word())
    }

    fn end(&self, providers: usize) -> End {
        match providers {
            1 => self.alone,
            2 => self.of_two,
            _ => End::Ends,
        }
    }
}

/// Whether the cell is played for each change; the campaign plays all.
fn is_of_each_change(lie: &Lie, providers: usize) -> bool {
    lie.of_method && (providers > 1 || lie.method == "tx")
}

/// Plays each lie with this number of providers.
fn play(providers: usize) {
    let honest = Honest::of(providers);
    let wanted = std::env::var("NEAR_LIE").unwrap_or_default();
    let mut red = Vec::new();
    let played = |lie: &&Lie| {
        let whole = whole_set().is_some() || !wanted.is_empty();
        (whole || is_of_each_change(lie, providers)) && lie.line().contains(&wanted)
    };
    let rows = rows();
    let cells = rows.iter().filter(played).enumerate().flat_map(|(n, lie)| {
        // each place in the campaign; else by turns of two, and the first of three, which is asked for everything
        let turn = if providers > 2 { 0 } else { n % providers };
        let places = if whole_set().is_some() { 0..providers } else { turn..turn + 1 };
        places.map(move |place| (lie, place))
    });
    for (lie, place) in cells {
        let cell = format!("{} of {providers}: {}: {}", place + 1, lie.method, lie.lie);
        let liar = Liar { place, rules: &lie.rules };
        let run = catch_unwind(AssertUnwindSafe(|| Run::of(providers, liar, lie.load)));
        let faults = match run {
            Ok(run) => {
                let seen = verdict::seen(lie.load, &run, &honest);
                println!("{cell}: {}", verdict::words(lie.load, seen, &run));
                verdict::faults(lie, &run, &honest)
            }
            Err(_) => vec!["the run did not end".to_owned()],
        };
        if !faults.is_empty() {
            red.push(format!("{cell}: {faults:#?}"));
        }
    }
    assert!(red.is_empty(), "{} cells are red:\n{}", red.len(), red.join("\n"));
}

/// Turns red where an adapter with one provider signs anew under another nonce what is only missing, and where the row of a
/// key tells every worker of a payment that one provider alone has shown (run: `proves_by_several` is true).
#[test]
fn the_only_provider_makes_the_relay_pay_nothing_twice() {
    play(1);
}

/// Turns red where one of two decides: what they show differently would fail a transfer, or stop the chain for good.
#[test]
fn one_of_two_providers_ends_nothing_wrongly() {
    play(2);
}

/// Turns red where one of three holds payments up by a balance of 0 (`TREASURY_SHORT`, `NEAR_LOW`), misleads the search
/// for the block that spent a nonce, stops the chain by logs that it hides, or is not named.
#[test]
fn one_of_three_providers_hinders_nothing() {
    play(3);
}

#[test]
fn the_page_has_the_table() {
    let missing: Vec<String> =
        rows().iter().map(Lie::line).filter(|line| !PAGE.contains(line.as_str())).collect();
    assert!(missing.is_empty(), "docs/proof/providers.md lacks\n{}", missing.join("\n"));
    let shown = PAGE.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(shown, rows().len(), "the page has rows that the table has not");
}
