//! Kills a process at a named crash point: where it reaches a place and a moment of the matrix.
//!
//! On a real store, with processes that run at once, writes have no numbers that a second run repeats. So places and
//! moments are the plan, and several processes share it: the first one that reaches the moment dies.

use super::matrix::{PLACES, cells};
use super::{Spot, deaths};
use crate::bus::{BusCall, BusTrouble};
use crate::event_log::{LoggedEvent, subject};
use crate::generic::NextDeath;
use crate::journal::Fault;
use crate::world::{Crash, die};
use kernel::accounts::AccountsOf;
use kernel::flow::table::Table;
use kernel::ids::Id;
use kernel::ports::Fut;
use kernel::ports::journal::{Journal, Writing};
use kernel::record::Account;
use kernel::unit::{Event, Fork, Then, Unit, Wrote};
use std::collections::BTreeMap;
use std::fmt;
use std::slice::from_ref;
use std::sync::Arc;
use testkit::wrapper::JournalWrapper;

/// Where and when a process dies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeathPoint {
    /// The edges, the call, or the group.
    pub place: &'static str,
    /// Before it, in it, after it.
    pub moment: &'static str,
}

impl DeathPoint {
    /// Every place and moment.
    pub fn all() -> Vec<Self> {
        let of_place = |(place, moments): (&'static str, &'static [&'static str])| {
            moments.iter().map(move |moment| Self { place, moment })
        };
        PLACES.into_iter().flat_map(of_place).collect()
    }
}

/// The next death among processes that share a journal and a broker.
pub type NextAccountDeath = NextDeath<DeathPoint>;

impl NextAccountDeath {
    /// Whether the process dies at this spot of an event.
    fn strikes_at(&self, event: &LoggedEvent, spot: Spot) -> bool {
        self.strikes(|wanted| {
            let all = cells(event, spot);
            all.iter().any(|(place, moment)| place == wanted.place && *moment == wanted.moment)
        })
    }

    /// What goes wrong with a call of the bus: the process dies, or nothing.
    pub fn of_call(&self, call: &BusCall) -> Option<BusTrouble> {
        let event = LoggedEvent::Bus { n: 0, call: call.clone() };
        let spots = deaths(from_ref(&event)).into_iter();
        let mut spots = spots.filter(|spot| self.strikes_at(&event, *spot));
        spots.find_map(|spot| match spot {
            Spot::Bus(_, trouble) => Some(trouble),
            Spot::Write(..) => None,
        })
    }
}

/// What payers have left, behind what is about to be written in the same write.
type Balances = BTreeMap<Arc<str>, u128>;

/// The journal of a process that dies before or after the write that its point names.
pub struct DyingWrites {
    inner: Arc<dyn Journal>,
    next: NextAccountDeath,
    crash: Crash,
    table: Table,
}

impl fmt::Debug for DyingWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DyingWrites").field("next", &self.next).finish_non_exhaustive()
    }
}

impl DyingWrites {
    /// Around the journal of one process, for transfers of the flow of this table.
    pub const fn new(
        inner: Arc<dyn Journal>,
        next: NextAccountDeath,
        crash: Crash,
        table: Table,
    ) -> Self {
        Self { inner, next, crash, table }
    }

    fn edges(&self, events: &[Event]) -> Vec<(Id, i16, i16)> {
        let code = |state| self.table.state(state).code;
        let edge = |event: &Event| Some((event.id, code(event.from?), code(event.to)));
        events.iter().filter_map(edge).collect()
    }

    /// What a payer has before the write.
    async fn balance(&self, number: &Arc<str>) -> u128 {
        let asked = AccountsOf::Numbers(vec![number.clone()]);
        let found = self.inner.numbered_accounts(asked).await.ok().and_then(|mut all| all.pop());
        found.map_or(0, |account| account.balance.0)
    }

    /// The way that a fork is about to go, behind those before it: a payer that has too little is refused.
    async fn foreseen<'f>(&self, fork: &'f Fork, left: &mut Balances) -> Option<&'f Then> {
        let Account::Named(number) = &fork.op.account else { return Some(&fork.done) };
        let amount = fork.op.amount.0;
        let has = match left.get(number) {
            Some(has) => *has,
            None => self.balance(number).await,
        };
        let after = has.checked_sub(amount);
        left.insert(number.clone(), after.unwrap_or(has));
        if after.is_some() { Some(&fork.done) } else { fork.rejected.as_ref() }
    }

    /// What is about to be written, with the way that each fork is about to go.
    async fn ahead(&self, units: &[Unit]) -> LoggedEvent {
        let (mut edges, mut left) = (Vec::new(), Balances::new());
        for unit in units {
            edges.extend(self.edges(&unit.then.events));
            if let Some(fork) = &unit.then.fork {
                let way = self.foreseen(fork, &mut left).await;
                edges.extend(way.map(|way| self.edges(&way.events)).unwrap_or_default());
            }
        }
        LoggedEvent::Write { n: 0, subject: subject(units), edges }
    }

    /// What was written, of those units that were not lost.
    fn behind(&self, units: &[Unit], wrote: &[Wrote]) -> Option<LoggedEvent> {
        let (mut written, mut edges) = (Vec::new(), Vec::new());
        for (unit, wrote) in units.iter().zip(wrote) {
            let Wrote::Written(known) = wrote else { continue };
            written.push(unit.clone());
            edges.extend(self.edges(&unit.then.events));
            let answered = unit.then.fork.as_ref().zip(known.fork.as_ref());
            let way = answered.and_then(|(fork, answer)| fork.chosen(answer));
            edges.extend(way.map(|way| self.edges(&way.events)).unwrap_or_default());
        }
        let event = LoggedEvent::Write { n: 0, subject: subject(&written), edges };
        Some(event).filter(|_| !written.is_empty())
    }
}

impl JournalWrapper for DyingWrites {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            if self.next.struck() {
                return self.inner.write(units).await;
            }
            let before = Spot::Write(0, Fault::CrashBefore);
            if self.next.strikes_at(&self.ahead(&units).await, before) {
                die(&self.crash, "crashed before a write").await;
            }
            let wrote = self.inner.write(units.clone()).await;
            let after = Spot::Write(0, Fault::CrashAfter);
            let event = self.behind(&units, &wrote);
            if event.is_some_and(|event| self.next.strikes_at(&event, after)) {
                die(&self.crash, "crashed after a write").await;
            }
            wrote
        })
    }

    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        if self.next.struck() {
            return self.inner.begin(units);
        }
        Box::pin(async move { self.write(units).await.into_iter().map(Writing::Over).collect() })
    }
}
