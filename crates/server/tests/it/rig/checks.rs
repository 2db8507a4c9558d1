//! What is looked at after anything happened: money, histories, the proof, the cases.

use super::{Ask, Rig};
use kernel::answer::Answer;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::ports::ledger::{Heard, Ledger, Stored};
use kernel::record::Account;
use kernel::unit::{Key, Op, Outcome, Unit, Wrote};
use serde_json::Value;
use std::sync::{Arc, PoisonError};

/// USDT and its base units.
const USDT: AssetId = AssetId(3);
const UNIT: u128 = 1_000_000;

/// One user's USDT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Money {
    pub funding: u64,
    pub frozen: u64,
    pub spot: u64,
    /// Withdrawn from Spot and nowhere yet.
    pub flying: u64,
}

impl Money {
    pub(crate) const fn at(funding: u64, spot: u64) -> Self {
        Self { funding, frozen: 0, spot, flying: 0 }
    }

    pub(crate) const fn total(self) -> u64 {
        self.funding + self.frozen + self.spot + self.flying
    }
}

/// A transfer as its history tells it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Story {
    pub state: String,
    /// The states that it went through.
    pub path: Vec<String>,
    events: Vec<Value>,
}

/// Whole units; a test moves no fractions.
fn whole(row: &Value, field: &str) -> u64 {
    let text = row[field].as_str().unwrap_or_default();
    let (units, fraction) = text.split_once('.').unwrap_or((text, "0"));
    assert!(fraction.bytes().all(|digit| digit == b'0'), "no fractions: {row}");
    units.parse().unwrap_or_else(|_| panic!("an amount `{field}` in {row}"))
}

impl Rig {
    pub(crate) fn money(&self, user: u64) -> Money {
        let mut money = Money::default();
        for row in self.balances(user).as_array().expect("a list of balances") {
            if row["asset"] != "USDT" {
                continue;
            }
            match row["account"].as_str() {
                Some("FUNDING") => {
                    money.funding = whole(row, "available");
                    money.frozen = whole(row, "frozen");
                }
                Some("SPOT") => {
                    money.spot = whole(row, "available");
                    money.flying = whole(row, "in_flight");
                }
                other => panic!("another account: {other:?}"),
            }
        }
        money
    }

    /// The transfer as it stands; an empty story where there is none.
    pub(crate) fn story(&self, user: u64, id: Id) -> Story {
        let reply = self.get(user, id);
        if reply.status == 404 {
            return Story::default();
        }
        assert_eq!(reply.status, 200, "a transfer can be read: {reply:?}");
        let events = reply.body["history"].as_array().expect("a history").clone();
        let path = events.iter().map(|e| e["to"].as_str().unwrap_or_default().to_owned());
        Story { state: reply.text("state").to_owned(), path: path.collect(), events }
    }

    /// Waits for a state, and tells where the transfer is then.
    pub(crate) fn reaches(&self, user: u64, id: Id, state: &str) -> Story {
        let mut story = Story::default();
        self.until(|| {
            story = self.story(user, id);
            story.state == state
        });
        story
    }

    /// How often a start found half a batch at the end of the Spot log.
    pub(crate) fn torn_tails(&self) -> u32 {
        self.count("SELECT count(*) FROM cases WHERE kind = 'TORN_TAIL'")
    }

    /// Puts so many units into a user's USDT at Funding, behind everybody's back.
    pub(crate) fn slip(&self, user: u64, units: u64) {
        self.home.slip(user, units);
    }

    /// How many transfers were ever opened.
    pub(crate) fn rows(&self) -> u32 {
        self.count("SELECT count(*) FROM transfers_tb")
    }

    /// Whether the next start will know of a HALT.
    pub(crate) fn halt_is_stored(&self) -> bool {
        self.count("SELECT count(*) FROM service_state WHERE name = 'halted'") > 0
    }

    fn count(&self, sql: &str) -> u32 {
        self.home.read(sql).concat().parse().expect("a number")
    }

    /// How many of a user's transfers are open.
    pub(crate) fn open(&self, user: u64) -> usize {
        let open = self.journal(async |journal| journal.open_of(UserId(user)).await);
        open.expect("the journal answers").len()
    }

    /// Nothing is wrong: the proof holds twice, no money is stopped, nobody is asked anything, the
    /// process would not have ended.
    pub(crate) fn sound(&self, id: &str) {
        let life = self.life();
        for _ in 0..2 {
            let report = life.run(life.app.engine.check_now());
            let report = report.unwrap_or_else(|cause| panic!("{id}: no proof: {cause}"));
            assert!(report.ok, "{id}: conservation is proven: {:?}", report.breaks);
        }
        assert_eq!(life.app.engine.halted(), None, "{id}: money is not stopped");
        // half a batch that nobody was told of is dropped and reported, which is no alarm
        let read = "SELECT kind || ': ' || facts FROM cases WHERE kind <> 'TORN_TAIL'";
        let cases = self.home.read(read);
        assert_eq!(cases, [""; 0], "{id}: nobody is asked anything");
        let ends = life.ends.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(ends, [""; 0], "{id}: the process goes on");
    }

    /// A ledger's port, as the engine calls it.
    pub(crate) fn ledger(&self, ledger: LedgerId) -> Arc<dyn Ledger> {
        self.life().app.engine.ledger(ledger).expect("the ledger is configured")
    }

    /// Calls a leg of a transfer at a ledger's port, past the engine.
    pub(crate) fn call(&self, ledger: LedgerId, leg: Leg, id: Id, ask: &Ask) -> Answer {
        let port = self.ledger(ledger);
        let op = Op {
            key: Key { id, leg },
            account: Account::User(UserId(ask.user)),
            other: None,
            asset: USDT,
            amount: Amount(u128::from(ask.amount) * UNIT),
        };
        let known = self.life().app.engine.known(ledger).expect("the ledger is adopted");
        match self.life().run(port.execute(known, Arc::new([op]))) {
            Heard::Said(_, mut answers) => answers.pop().expect("one answer for one call"),
            silent @ (Heard::Wrong(_) | Heard::Nothing(_)) => panic!("{ledger:?}: {silent:?}"),
        }
    }

    /// Whether a ledger keeps a DONE operation of this leg.
    pub(crate) fn did(&self, ledger: LedgerId, leg: Leg, id: Id) -> bool {
        let known = self.life().app.engine.known(ledger).expect("the ledger is adopted");
        match self.life().run(self.ledger(ledger).query(known, Key { id, leg })) {
            Heard::Said(_, Stored::Found(found)) => found.outcome == Outcome::Done,
            Heard::Said(_, Stored::Nothing) => false,
            silent @ (Heard::Wrong(_) | Heard::Nothing(_)) => panic!("{ledger:?}: {silent:?}"),
        }
    }

    /// The same unit from many writers at once: some in one group, some each on its own.
    pub(crate) fn race(&self, writers: usize, unit: impl Fn() -> Unit) -> Vec<Wrote> {
        let life = self.life();
        let journal = life.app.engine.journal();
        let group = writers / 2;
        let mut running = Vec::new();
        for units in [group].into_iter().chain((group..writers).map(|_| 1)) {
            let (journal, units) = (journal.clone(), (0..units).map(|_| unit()).collect());
            running.push(life.runtime().spawn(async move { journal.write(units).await }));
        }
        let done = running.into_iter().map(|writer| life.run(writer));
        done.flat_map(|wrote| wrote.expect("a write does not panic")).collect()
    }

    /// The store itself, through the engine's eyes.
    pub(crate) fn journal<T>(
        &self,
        ask: impl AsyncFnOnce(Arc<dyn kernel::ports::journal::Journal>) -> T,
    ) -> T {
        let life = self.life();
        life.run(ask(life.app.engine.journal().clone()))
    }
}

impl Story {
    /// Each step follows from the one before, by the flow's own table.
    pub(crate) fn is_legal(&self) -> bool {
        let flows = flows::registry();
        let Some(flow) = flows.named("internal") else { return false };
        let table = flows.table(flow);
        let mut before: Option<&str> = None;
        self.events.iter().all(|event| {
            let from = event["from"].as_str();
            let to = event["to"].as_str();
            let fits = match (from, to) {
                (None, Some("INIT")) => before.is_none(),
                (Some(from), Some(to)) => {
                    let states = (table.named(from), table.named(to));
                    before == Some(from)
                        && matches!(states, (Some(from), Some(to))
                            if table.edges(from).iter().any(|(_, next)| *next == to))
                }
                _ => false,
            };
            before = to;
            fits
        })
    }
}
