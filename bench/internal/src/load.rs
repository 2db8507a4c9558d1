//! A load through the engine in this process: concurrent callers, each with one transfer in flight.

use crate::probe::{Counters, Run, Syncs, micros, now};
use engine::Engine;
use kernel::ids::{AssetId, FlowId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::record::{Binding, Terms};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The users that transfers are spread over.
pub(crate) const USERS: u64 = 1_000;

/// What a caller asks for: every other one the way back.
pub(crate) fn terms(n: u64) -> Terms {
    let user = UserId(1 + n / 2 % USERS);
    let (from, to) = match n % 2 {
        0 => (LedgerId::FUNDING, LedgerId::SPOT),
        _ => (LedgerId::SPOT, LedgerId::FUNDING),
    };
    let principal: Arc<str> = format!("portage|{user}").into();
    Terms {
        binding: Some(Binding {
            scope: principal.clone(),
            key: format!("e{n}").into(),
            fingerprint: [0; 32],
        }),
        ..Terms::between_ledgers(principal, user, [from, to], AssetId(3), Amount(10_000))
    }
}

/// One transfer of the load through the engine: it must be committed when this returns.
pub(crate) async fn transfer(engine: Arc<Engine>, flow: FlowId, n: u64) -> Result<(), String> {
    let accepted = engine.intake.create(flow, terms(n)).await.map_err(|e| format!("{e:?}"))?;
    let state = engine.flows().table(flow).state(accepted.record.head.state).name;
    if state == "COMMITTED" {
        return Ok(());
    }
    Err(format!("a transfer ended {state}: {:?}", accepted.record.error))
}

/// Runs `callers` at once for a time, each with one transfer in flight.
pub(crate) async fn drive<F, T>(
    callers: usize,
    time: Duration,
    keys: &Arc<AtomicU64>,
    syncs: &Syncs,
    call: F,
) -> Result<Run, String>
where
    F: Fn(u64) -> T + Clone + Send + 'static,
    T: Future<Output = Result<(), String>> + Send,
{
    let (before, synced, begun) = (Counters::own(), syncs.so_far(), now());
    let until = begun + time;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let (call, keys) = (call.clone(), keys.clone());
        tasks.spawn(async move {
            let mut took = Vec::new();
            while now() < until {
                let begun = now();
                call(keys.fetch_add(1, Ordering::Relaxed)).await?;
                took.push(micros(begun));
            }
            Ok::<_, String>(took)
        });
    }
    let mut took = Vec::new();
    while let Some(done) = tasks.join_next().await {
        took.extend(done.map_err(|e| e.to_string())??);
    }
    let cost = Counters::own().since(before);
    Ok(Run::new(took, now().duration_since(begun), cost, syncs.so_far().saturating_sub(synced)))
}
