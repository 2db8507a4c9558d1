//! The journal's port with the hand on it, on the engine's side and on the store's.

use super::control::Control;
use super::ledger::LOST;
use super::points::{At, Fault, makes, moves, opens, tells};
use kernel::answer::Cause;
use kernel::ids::{LedgerId, UserId, WorkerId};
use kernel::life::Leg;
use kernel::ports::Fut;
use kernel::ports::journal::{Due, Journal};
use kernel::unit::{Guard, Put, Unit, Wrote};
use sim::shell::JournalShell;
use std::sync::Arc;

/// Which side of a wrong build the hand is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Engine,
    Store,
}

/// A journal behind a port that may be hindered.
pub(crate) struct Watched {
    pub inner: Arc<dyn Journal>,
    pub control: Arc<Control>,
    pub side: Side,
    /// Whose open transfers are brought although another worker holds them.
    pub eager: Option<UserId>,
}

impl Watched {
    async fn on_store_side(&self, units: Vec<Unit>) -> Vec<Wrote> {
        let here = |at| matches!(at, At::Commit(what) if units.iter().any(|u| tells(u, what)));
        let watched = self.control.begin(false, here).await;
        let wrote = self.inner.write(units).await;
        self.control.end(watched).await;
        wrote
    }

    async fn on_engine_side(&self, units: Vec<Unit>) -> Vec<Wrote> {
        let control = &self.control;
        control.pass().await;
        for unit in &units {
            for put in &unit.then.puts {
                if let Put::Open(record) = put {
                    control.saw_opening(record.id);
                }
            }
        }
        if units.iter().any(opens) {
            control.held_opening().await;
        }
        let halted = |unit: &Unit| {
            let asks = unit.guards.contains(&Guard::NotHalted);
            asks && control.take_halt(|what| tells(unit, what))
        };
        if units.iter().any(halted) {
            return units.iter().map(|_| Wrote::Lost(Guard::NotHalted)).collect();
        }
        let here = |at| match at {
            At::Write(what) => units.iter().any(|unit| tells(unit, what)),
            At::Call(ledger, leg) => units.iter().any(|unit| makes(unit, ledger, leg)),
            At::Commit(_) | At::Step(_) => false,
        };
        let about = units.iter().any(moves);
        let watched = control.begin(about, here).await;
        let fault = self.fault(&units);
        if fault == Some(Fault::LoseRequest) {
            control.end(watched).await;
            return units.iter().map(|_| Wrote::Unknown(LOST)).collect();
        }
        if fault == Some(Fault::NoRoom) {
            return units.iter().map(|_| Wrote::Full).collect();
        }
        if fault == Some(Fault::HangBefore) {
            control.healed().await;
            control.pass().await;
        }
        let wrote = self.inner.write(units).await;
        control.end(watched).await;
        match fault {
            Some(Fault::LoseReply) => return wrote.iter().map(|_| Wrote::Unknown(LOST)).collect(),
            Some(Fault::HangAfter) => control.healed().await,
            _ => {}
        }
        wrote
    }

    /// The fault that a leg meets which one of the units carries.
    fn fault(&self, units: &[Unit]) -> Option<Fault> {
        let carried = units.iter().filter_map(|unit| unit.then.fork.as_ref());
        let legs: Vec<(LedgerId, Leg)> = carried.map(|f| (f.ledger, f.op.key.leg)).collect();
        legs.iter().find_map(|(ledger, leg)| self.control.fault(*ledger, |is| is == *leg))
    }
}

impl JournalShell for Watched {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        match self.side {
            Side::Engine => Box::pin(self.on_engine_side(units)),
            Side::Store => Box::pin(self.on_store_side(units)),
        }
    }

    fn due(&self, worker: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        match self.eager {
            Some(user) => Box::pin(async move {
                let open = self.inner.open_of(user).await?;
                Ok(open.into_iter().map(Due::Transfer).collect())
            }),
            None => self.inner.due(worker, limit),
        }
    }
}
