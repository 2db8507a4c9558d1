//! Holds the end of a cell against the chain's own payments: what it came to, and whether that is what the table says.

use super::run::{CASE_AFTER, Liar, Load, Look, Run, Transfer};
use super::{End, Lie};
use kernel::ids::Millis;
use sim::generic::relay::RelayCase;
use std::collections::BTreeMap;

/// How long a transfer may take in addition to twice the honest time, while one of the providers is found to rest.
const MARGIN: Millis = 5_000;

/// The cases about what providers show differently, which name each of them.
const OF_PROVIDERS: [&str; 5] =
    ["PROVIDERS_DISAGREE", "LOCK_SPENT", "WRONG_PROVIDER", "WRONG_CHAIN", "PROVIDER_OUTVOTED"];

/// How long each wave takes where no provider lies; `None`: it does not end, since one provider is believed nothing but
/// a success.
pub(super) struct Honest(BTreeMap<Load, Vec<Option<Millis>>>);

impl Honest {
    pub(super) fn of(providers: usize) -> Self {
        let time = |load| {
            let run = Run::of(providers, Liar { place: 0, rules: &[] }, load);
            if providers > 1 {
                assert_eq!(wrong(&run.healed), [""; 0], "without a lie, {load:?}");
                assert_ne!(tells_others(&run), [""; 0], "without a lie, {load:?}");
            }
            (load, slowest_of_each(load, &run.lying))
        };
        Self(Load::ALL.into_iter().map(time).collect())
    }
}

/// The longest that a transfer of each wave took.
fn slowest_of_each(load: Load, look: &Look) -> Vec<Option<Millis>> {
    (0..load.wave_count()).map(|wave| slowest(look, wave)).collect()
}

/// The longest that a transfer of the wave took; `None`: one has not ended.
fn slowest(look: &Look, wave: usize) -> Option<Millis> {
    let of_wave = look.transfers.iter().filter(|transfer| transfer.wave == wave);
    let times: Option<Vec<Millis>> = of_wave.map(|one| Some(one.ended?.1)).collect();
    times?.into_iter().max()
}

/// Everything that is wrong with the end of this cell.
pub(super) fn faults(lie: &Lie, run: &Run, honest: &Honest) -> Vec<String> {
    let twice = run.healed.transfers.iter().filter(|transfer| transfer.paid > 1);
    let twice = twice.map(|one| format!("{} was paid {} times", one.receiver, one.paid));
    let mut faults: Vec<String> = twice.collect();
    // by the word of the only provider a form that may still land is over
    if run.providers > 1 {
        faults.extend(run.healed.chain.iter().cloned());
    }
    let (end, seen) = (lie.end(run.providers), seen(lie.load, run, honest));
    if end != seen {
        faults.push(format!("the table says {end:?}: {}", words(lie.load, seen, run)));
    }
    // what condemns a receiver at every worker rests on no single provider
    if run.providers == 1 && !tells_others(run).is_empty() {
        faults.push(format!("every worker is told of a payment: {:?}", tells_others(run)));
    }
    // the only provider is not asked what another program spent a nonce for: it would prove nothing
    if run.providers > 1 && !was_asked(lie, run) {
        faults.push(format!("it was never asked: {:?}", run.asked));
    }
    if end == End::NotTwice {
        return faults;
    }
    let waits = run.lying.transfers.iter().any(|transfer| transfer.ended.is_none());
    if waits && run.lying.open_cases.is_empty() {
        faults.push(format!("a transfer waits for more than {CASE_AFTER} s without a case"));
    }
    // with two it is not known which of them lies, but which shows what
    let of_providers = |kind: &str| OF_PROVIDERS.contains(&kind);
    let unnamed = run.lying.open_cases.iter().filter(|case| {
        run.providers == 2 && of_providers(&case.kind) && !case.facts.contains(&run.liar)
    });
    faults.extend(unnamed.map(|case| format!("{} does not name {}", case.kind, run.liar)));
    if run.providers > 2 {
        faults.extend(named(lie, run));
    }
    faults
}

/// The rows of keys that tell every worker for whom the contract carried out an act.
fn tells_others(run: &Run) -> Vec<&str> {
    run.lanes.iter().map(|row| &**row).filter(|row| row.contains("carried_out")).collect()
}

/// Whether the provider had a request that it could lie to.
fn was_asked(lie: &Lie, run: &Run) -> bool {
    let kind = lie.method.strip_prefix("block ").map_or(lie.method, |_| "block");
    kind == "any" || run.asked.iter().any(|asked| asked == kind)
}

/// Which of the ends it came to.
pub(super) fn seen(load: Load, run: &Run, honest: &Honest) -> End {
    let false_end = run.lying.transfers.iter().any(|one| one.ended.is_some() && !is_right(one));
    if false_end || !wrong(&run.healed).is_empty() {
        return End::NotTwice;
    }
    let took = slowest_of_each(load, &run.lying);
    let honest = honest.0.get(&load).into_iter().flatten();
    let in_time = took.iter().zip(honest).all(|(took, honest)| {
        let times = took.zip(*honest);
        times.is_some_and(|(took, honest)| took <= 2 * honest + MARGIN)
    });
    if in_time && run.lying.paused.is_empty() { End::Ends } else { End::Waits }
}

/// What it came to, in words: the end, the transfers that did not end rightly, and the open cases while it lied.
pub(super) fn words(load: Load, seen: End, run: &Run) -> String {
    let not_right = |look: &Look| {
        let all = look.transfers.iter().filter(|transfer| !is_right(transfer)).map(|one| {
            let Transfer { receiver, ended, paid, .. } = one;
            format!("{receiver} {ended:?} paid {paid}")
        });
        all.collect::<Vec<_>>().join(", ")
    };
    let mut cases: BTreeMap<String, usize> = BTreeMap::new();
    for case in &run.lying.open_cases {
        let names = if case.facts.contains(&run.liar) { " names it" } else { "" };
        *cases.entry(format!("{}{names}", case.kind)).or_default() += 1;
    }
    let slowest = slowest_of_each(load, &run.lying);
    format!(
        "{}; slowest {slowest:?}; {cases:?}; not right while it lied: {}, paused {}; after: {:?}",
        seen.word(),
        not_right(&run.lying),
        run.lying.paused.len(),
        wrong(&run.healed)
    )
}

/// Whether it ended as it must, and the chain has paid it so.
fn is_right(transfer: &Transfer) -> bool {
    let paid = !RelayCase::spoils(transfer.receiver);
    let wanted = if paid { "COMPLETED" } else { "FAILED" };
    transfer.ended.is_some_and(|(state, _)| state == wanted) && transfer.paid == usize::from(paid)
}

/// What is wrong once nothing lies any more. That there is one provider stays so.
fn wrong(look: &Look) -> Vec<String> {
    let transfers = look.transfers.iter().filter(|transfer| !is_right(transfer));
    let mut wrong: Vec<String> = transfers.map(|transfer| format!("{transfer:?}")).collect();
    let open = look.open_cases.iter().filter(|case| &*case.kind != "ONE_PROVIDER");
    wrong.extend(open.map(|case| format!("an open case: {} {}", case.kind, case.facts)));
    wrong.extend(look.paused.iter().map(|pause| format!("paused: {pause}")));
    wrong.extend(look.chain.iter().cloned());
    wrong
}

/// The case that names the provider is open, and no other one.
fn named(lie: &Lie, run: &Run) -> Vec<String> {
    let mut faults = Vec::new();
    let open = &run.lying.open_cases;
    if let Some(kind) = lie.named
        && !open.iter().any(|case| &*case.kind == kind && case.facts.contains(&run.liar))
    {
        faults.push(format!("no open {kind} names {}: {open:?}", run.liar));
    }
    // what is lost at first, and what a wallet does, have cases of their own
    let of_load = match lie.load {
        Load::Plain | Load::Steady | Load::Spoiled => "",
        Load::Lost => "CHAIN_BACKLOG",
        Load::Wallet => "LANE_AHEAD",
    };
    let expected = |kind: &str| Some(kind) == lie.named || kind == of_load;
    let other = run.cases.iter().filter(|kind| !expected(kind));
    faults.extend(other.map(|kind| format!("a case: {kind}")));
    faults
}
