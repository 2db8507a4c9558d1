//! The campaign: each form of each case on both sides, compared as soon as it is played.

use crate::agave::Agave;
use crate::cases::{Case, Step, cases};
use crate::seen::{Seen, differences};
use crate::world::World;

/// Plays everything, prints what both sides say, and gives the differences.
pub(crate) async fn run() -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    for (seed, case) in (0..).zip(cases()) {
        println!("\n{}", case.name);
        faults.extend(play(seed, &case).await?.iter().map(|what| format!("{}, {what}", case.name)));
    }
    Ok(faults)
}

/// One case, on a local chain and a Bank of its own.
async fn play(seed: u64, case: &Case) -> Result<Vec<String>, String> {
    let world = World::new(seed)?;
    let forms = world.sign(&world.receiver(case.receiver)?).await?;
    world.change(case.change)?;
    let agave = Agave::start(world.genesis(&forms)).await;
    let (parties, addresses) = (world.parties(&forms)?, forms.writable());
    let mut faults = Vec::new();
    for Step { form, ends } in &case.steps {
        let before = (agave.accounts(&addresses).await?, world.accounts(&addresses));
        let end = agave.play(forms.transaction(*form)).await?;
        let after = agave.accounts(&addresses).await?;
        let of_bank = Seen::of(end, &parties, &before.0, &after);
        let end = world.play(forms.transaction(*form));
        let local = world.accounts(&addresses);
        let of_local = Seen::of(end, &parties, &before.1, &local);
        println!("  {form:?}\n    Bank   {}\n    local  {}", of_bank.text(), of_local.text());
        let mut fault = |what: String| faults.push(format!("{form:?}: {what}"));
        if !of_bank.end.is(*ends) {
            fault(format!("the case expects that it is {ends:?}: {}", of_bank.text()));
        }
        if of_bank != of_local {
            fault(format!("Bank {}; local {}", of_bank.text(), of_local.text()));
        }
        differences(&parties.lane, &after, &local).into_iter().for_each(&mut fault);
    }
    Ok(faults)
}
