//! What stops money and what asks a person: HALT, paused flows, cases.

use super::bench::{Bench, id, plain};
use super::checks;
use kernel::money::Asset;
use kernel::unit::{Case, Guard, Put, Severity};

checks! {
    a_fresh_journal_knows_its_assets_and_stops_nothing,
    a_halt_stands_with_its_first_reason,
    a_pause_stands,
    a_case_is_taken,
}

async fn a_fresh_journal_knows_its_assets_and_stops_nothing(b: &mut Bench) {
    for _ in 0..2 {
        let mut standing = b.ok("standing", b.on().journal.standing().await);
        standing.assets.sort_by_key(|asset| asset.id);
        b.same("the assets", &standing.assets, &Asset::fresh());
        let flags = (standing.halted, standing.paused, standing.ledgers, standing.horizon);
        b.same("the rest", &flags, &(None, vec![], vec![], None));
        b.reopen().await;
    }
}

async fn a_halt_stands_with_its_first_reason(b: &mut Bench) {
    b.wins("before", Guard::NotHalted).await;
    for reason in ["the first", "the second"] {
        b.written("a halt", plain(vec![Put::Halt { reason: reason.into() }])).await;
        let standing = b.ok("standing", b.on().journal.standing().await);
        b.same("the reason", &standing.halted.as_deref(), &Some("the first"));
    }
    b.loses("a unit that needs money to move", Guard::NotHalted).await;
    b.reopen().await;
    b.loses("and after a restart", Guard::NotHalted).await;
    let standing = b.ok("standing", b.on().journal.standing().await);
    b.same("the reason", &standing.halted.as_deref(), &Some("the first"));
    // answers and ends are recorded all the same
    b.written("a unit that does not ask", plain(vec![Put::Raise { name: "x".into(), to: 1 }]))
        .await;
}

async fn a_pause_stands(b: &mut Bench) {
    let pause = Put::Pause { flow: b.flow, reason: "a contradiction".into() };
    b.written("a pause", plain(vec![pause])).await;
    for _ in 0..2 {
        let standing = b.ok("standing", b.on().journal.standing().await);
        let paused: Vec<_> = standing.paused.iter().map(|(flow, why)| (*flow, &**why)).collect();
        b.same("the paused flows", &paused, &vec![(b.flow, "a contradiction")]);
        b.same("halted", &standing.halted, &None);
        b.reopen().await;
    }
    b.opened(1).await;
}

async fn a_case_is_taken(b: &mut Bench) {
    b.opened(1).await;
    for (severity, transfer) in [(Severity::Warning, None), (Severity::Critical, Some(id(1)))] {
        let case = Case { kind: "CHECK", severity, id: transfer, facts: "a check".into() };
        b.written("a case", plain(vec![Put::Case(case)])).await;
    }
}
