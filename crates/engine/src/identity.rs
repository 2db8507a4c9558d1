//! Who a ledger is: adopted only when everything that it did is accounted for (`ledgers.md` §2).

use crate::Engine;
use crate::tasks::Background;
use kernel::answer::Cause;
use kernel::effects;
use kernel::ids::LedgerId;
use kernel::life::Via;
use kernel::ports::ledger::{Heard, Known, Ledger};
use kernel::record::Record;
use kernel::unit::{Guard, Operation, Outcome, Put, Then, Unit, Wrote};
use std::sync::Arc;

/// How many operations are listed at once.
const PAGE: usize = 1_000;

/// How finding out who a ledger is may end.
enum Found {
    /// It may be called.
    Adopted,
    /// It is another one, or one that forgot: a person must look.
    Broken(String),
    /// It does not answer, or the journal does not.
    Later(Cause),
}

impl Engine {
    /// Finds out beside the caller, again until it answers.
    pub(crate) fn find_out(self: &Arc<Self>, ledger: LedgerId) {
        let engine = self.clone();
        let run = async move { while !engine.settle_identity(ledger).await {} };
        self.parts.spawn.spawn(Background::Adopter.task(), Box::pin(run));
    }

    /// One attempt; true where nothing is left to find out.
    pub(crate) async fn settle_identity(self: &Arc<Self>, ledger: LedgerId) -> bool {
        let Some(port) = self.ledger(ledger) else { return true };
        match self.adoption(&*port).await {
            Found::Adopted => true,
            Found::Broken(facts) => {
                self.halt("WRONG_LEDGER", facts.into()).await;
                true
            }
            Found::Later(cause) => {
                tracing::warn!(ledger = ledger.name(), %cause, "the ledger's identity is open");
                self.parts.clock.sleep(self.parts.settings.scan_interval_ms).await;
                false
            }
        }
    }

    async fn adoption(&self, port: &dyn Ledger) -> Found {
        let ledger = port.id();
        let actual = match port.hello().await {
            Heard::Said(known, ()) | Heard::Wrong(known) => known,
            Heard::Nothing(cause) => return Found::Later(cause),
        };
        if port.enlist().is_some() {
            self.gate.adopt(ledger, actual);
            return Found::Adopted;
        }
        let stored = match self.parts.journal.standing().await {
            Ok(standing) => standing.ledgers.iter().find(|(id, _)| *id == ledger).map(|x| x.1),
            Err(cause) => return Found::Later(cause),
        };
        if let Some(facts) = stranger(ledger, stored, actual) {
            return Found::Broken(facts);
        }
        if stored.is_some_and(|stored| stored.incarnation == actual.incarnation) {
            self.gate.adopt(ledger, actual);
            return Found::Adopted;
        }
        let after = stored.map_or(0, |stored| stored.highest);
        match self.matched(port, after).await {
            Ok(operations) => self.adopt(ledger, stored, actual, operations).await,
            Err(found) => found,
        }
    }

    /// Every operation above the journal's highest, each matched to the transfer that claimed it.
    async fn matched(&self, port: &dyn Ledger, after: u64) -> Result<Vec<Operation>, Found> {
        let (mut matched, mut odd, mut cursor) = (Vec::new(), Vec::new(), after);
        loop {
            let page = match port.operations(cursor, PAGE).await {
                Heard::Said(_, page) => page,
                Heard::Wrong(_) => return Err(Found::Later(Cause::of("WRONG_LEDGER"))),
                Heard::Nothing(cause) => return Err(Found::Later(cause)),
            };
            let Some(last) = page.last() else { break };
            cursor = last.seq;
            let ids = page.iter().map(|operation| operation.op.key.id).collect();
            let records = self.parts.journal.get(ids).await.map_err(Found::Later)?;
            for operation in page {
                let claimed = records.iter().find(|record| record.id == operation.op.key.id);
                if claimed.is_some_and(|record| self.claimed(record, port.id(), &operation)) {
                    matched.push(operation);
                } else {
                    odd.push(format!(
                        "{} {} of {} ({} units of asset {})",
                        operation.op.key.leg.name(),
                        operation.seq,
                        operation.op.key.id,
                        operation.op.amount,
                        operation.op.asset,
                    ));
                }
            }
        }
        if odd.is_empty() {
            return Ok(matched);
        }
        let name = port.id().name();
        Err(Found::Broken(format!("{name} did what no transfer asked for: {}", odd.join(", "))))
    }

    /// Whether the record claimed this operation at this ledger, with the same account, asset and
    /// amount.
    fn claimed(&self, record: &Record, ledger: LedgerId, operation: &Operation) -> bool {
        let table = self.plan.table(record.flow);
        let leg = operation.op.key.leg;
        let act = (0..table.acts.len()).filter_map(|a| u8::try_from(a).ok()).find(|a| {
            table.act(*a).leg == Some(leg) && self.plan.ledger_of(record, *a) == Some(ledger)
        });
        let Some(act) = act else { return false };
        let same = operation.outcome == Outcome::Fenced
            || self.plan.op(record, act).is_some_and(|op| op == operation.op);
        let state = record.head.state;
        let answer = match operation.outcome {
            Outcome::Done => Via::Done,
            Outcome::Rejected(_) | Outcome::Fenced => Via::Rejected,
        };
        let had = || effects::ever(table, answer).at(state).contains(&act);
        same && (table.makes(state) == Some(act) || had())
    }

    async fn adopt(
        &self,
        ledger: LedgerId,
        stored: Option<Known>,
        actual: Known,
        operations: Vec<Operation>,
    ) -> Found {
        let mut puts = vec![Put::Adopt { ledger, known: actual }];
        let receipts = operations.into_iter().filter(|o| o.outcome != Outcome::Fenced);
        puts.extend(receipts.map(|operation| Put::Receipt { ledger, operation }));
        let guards = vec![Guard::Incarnation { ledger, known: stored }];
        let unit = Unit { guards, then: Then { puts, ..Then::default() } };
        match self.parts.journal.write(vec![unit]).await.pop() {
            Some(Wrote::Written(_)) => {
                tracing::info!(ledger = ledger.name(), highest = actual.highest, "adopted");
                self.gate.adopt(ledger, actual);
                Found::Adopted
            }
            Some(Wrote::Unknown(cause)) if cause.class == "SUPERSEDED" => Found::Broken(format!(
                "{} came back as an incarnation that another one had followed: a second copy",
                ledger.name()
            )),
            Some(Wrote::Unknown(cause)) => Found::Later(cause),
            Some(Wrote::Lost(_)) => Found::Later(Cause::of("ADOPTED_BY_ANOTHER")),
            Some(Wrote::Full) | None => Found::Later(Cause::of("FULL")),
        }
    }
}

/// Why the ledger that answers is not the one that the journal knows.
fn stranger(ledger: LedgerId, stored: Option<Known>, actual: Known) -> Option<String> {
    let name = ledger.name();
    let stored = stored?;
    if stored.identity != actual.identity {
        let (was, is) = (stored.identity.0, actual.identity.0);
        return Some(format!("{name} is another ledger: {is:032x} instead of {was:032x}"));
    }
    (actual.highest < stored.highest).then(|| {
        let (was, is) = (stored.highest, actual.highest);
        format!("{name} forgot operations: it knows {is}, the journal has receipts up to {was}")
    })
}
