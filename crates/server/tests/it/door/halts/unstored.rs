//! A HALT that the store has no room for: it stands in the process, and the answer says that it is not stored.

use super::Hurried;
use crate::door::{Door, TestSetup};
use engine::Parts;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::unit::{Put, Unit, Wrote};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::wrapper::{JournalWrapper, Wrapper};

const OPERATOR: (&str, &str) = ("ops-1", "ops:read ops:act");
/// The answer comes within ten seconds of the hurried clock, long before this.
const LIMIT: Duration = Duration::from_secs(30);

/// A journal without room for a HALT while the flag is set.
struct NoRoom(Arc<dyn Journal>, Arc<AtomicBool>);

impl JournalWrapper for NoRoom {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let halts = |unit: &Unit| unit.then.puts.iter().any(|put| matches!(put, Put::Halt { .. }));
        if self.1.load(Ordering::SeqCst) && units.iter().any(halts) {
            let full = units.iter().map(|_| Wrote::Full).collect();
            return Box::pin(std::future::ready(full));
        }
        self.0.write(units)
    }
}

/// Turns red where the answer waits for room (its caller hears nothing, and cannot tell what stands), or where it is the
/// one of a HALT that outlives the process.
#[tokio::test]
async fn a_halt_without_room_says_that_it_is_not_stored() {
    let full = Arc::new(AtomicBool::new(true));
    let flag = full.clone();
    let change = Box::new(move |parts: &mut Parts| {
        parts.clock = Arc::new(Hurried(parts.clock.clone()));
        parts.journal = Arc::new(Wrapper(NoRoom(parts.journal.clone(), flag)));
    });
    let door = Door::with(TestSetup { change, ..TestSetup::default() }).await;
    let key = [("Idempotency-Key", "the-halt")];
    let halt = || door.post_with(OPERATOR, "/api/v1/ops/halt", &key, json!({"reason": "a drill"}));
    for _ in 0..2 {
        let answer = tokio::time::timeout(LIMIT, halt()).await.expect("an answer without room");
        let shown = (&answer.body["outcome"], &answer.body["stored"], &answer.body["quiet"]);
        assert_eq!(shown, (&json!("HALTED"), &json!(false), &json!(false)), "{answer:?}");
        assert_eq!((answer.status, &answer.body["halt"]), (202, &json!(null)), "{answer:?}");
        assert!(door.app.engine.halted().is_some(), "it stands in the process");
    }
    full.store(false, Ordering::SeqCst);
    let mut answer = halt().await;
    for _ in 0..100 {
        if answer.status == 200 {
            break;
        }
        answer = halt().await;
    }
    let shown = (answer.status, &answer.body["stored"], &answer.body["halt"]);
    assert_eq!(shown, (200, &json!(true), &json!(1)), "{answer:?}");
}
