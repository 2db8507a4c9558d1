//! The lanes of this process at work: who takes which items, and what is done about a group that
//! cannot be written as a whole.

use super::OpenError;
use super::batches::Batches;
use super::fault::Fault;
use super::fetch::Wait;
use super::group::{Manner, Said};
use super::lane::{Lane, Shared};
use super::purses::Purses;
use super::recall::Recall;
use super::session::beside;
use super::solo;
use super::waiting::{Account, Waiting};
use super::work::{Item, Trial};
use kernel::answer::Answer;
use kernel::ports::clock::Clock;
use kernel::ports::meter::{Meter, Seen};
use kernel::table::Flows;
use kernel::unit::{Key, Op, Put, Unit, Wrote};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, WeakUnboundedSender};

/// A group that breaks is taken apart into so many.
const PARTS: usize = 8;
/// A group that others come across is tried so often before it is taken apart.
const TRIES: u32 = 3;
/// A connection that has nothing to do is asked so often for a sign of life; one that ended or went
/// silent is made again so soon.
const IDLE: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_secs(1);

/// What the lanes of a process have in common.
pub(crate) struct Writers {
    pub(crate) shared: Arc<Shared>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) batches: Arc<Batches>,
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) recall: Recall,
    pub(crate) purses: Purses,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) meter: Arc<dyn Meter>,
}

/// A lane and how it comes back after a cut.
pub(crate) struct Hand {
    writers: Arc<Writers>,
    /// Its number among those of the process.
    number: usize,
    lane: Option<Lane>,
    /// The longest wait for a row.
    lock: Duration,
}

impl Hand {
    /// Opens its lane.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) async fn open(
        writers: &Arc<Writers>,
        number: usize,
        lock: Duration,
    ) -> Result<Self, OpenError> {
        let lane = Lane::open(writers.shared.clone(), lock).await?;
        Ok(Self { writers: writers.clone(), number, lane: Some(lane), lock })
    }

    /// Waits for something to do, and sees meanwhile that the connection answers: one that went silent
    /// is found before anything depends on it.
    async fn next<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let wait = if self.lane.is_some() { IDLE } else { SOON };
            match tokio::time::timeout(wait, work.as_mut()).await {
                Ok(work) => return work,
                Err(_) => self.probe().await,
            }
        }
    }

    /// Asks for a sign of life; without one the next write has a new connection.
    async fn probe(&mut self) {
        let limit = self.writers.shared.database.connect;
        let answered = match self.lane().await {
            Ok(lane) => lane.client.ping(limit).await.map_err(Fault::from),
            Err(fault) => Err(fault),
        };
        if let Err(fault) = self.heard(answered) {
            tracing::warn!(cause = %fault.cause(), "a connection that writes does not answer");
            self.cut();
        }
    }

    /// Notes whether the database said anything.
    pub(crate) fn heard<T>(&self, answer: Result<T, Fault>) -> Result<T, Fault> {
        if !matches!(&answer, Err(Fault::Cut(_))) {
            self.writers.shared.health.hears(self.number);
        }
        answer
    }

    /// Takes everything that may be written as one group, again and again.
    pub(crate) async fn run(mut self) {
        let waiting = self.writers.waiting.clone();
        while let Some(group) = self.next(waiting.group()).await {
            self.write(group.items, Wait::Skip).await;
            waiting.written(group.accounts);
        }
    }

    /// Waits for what others hold: one account's items at a time.
    pub(crate) async fn wait(mut self) {
        let waiting = self.writers.waiting.clone();
        while let Some((account, items)) = self.next(waiting.turn()).await {
            let free = self.let_go(account, &items).await;
            match &free {
                Ok(()) => self.write(items, Wait::Lock).await,
                Err(fault) => items.into_iter().for_each(|item| item.unknown(fault)),
            }
            waiting.over(account, free.is_ok());
        }
    }

    /// Runs what is a transaction of its own, one after the other. What met a row that somebody
    /// holds comes again later, behind the others.
    pub(crate) async fn alone(
        mut self,
        mut queue: UnboundedReceiver<Trial>,
        again: WeakUnboundedSender<Trial>,
    ) {
        while let Some((solo, tries)) = self.next(queue.recv()).await {
            let Some(solo) = self.solo(solo, tries).await else { continue };
            let again = again.clone();
            let _runs = beside(async move {
                tokio::time::sleep(solo::pause(tries)).await;
                // where the lane is gone its caller hears that nobody knows
                if let Some(again) = again.upgrade() {
                    drop(again.send((solo, tries + 1)));
                }
            });
        }
    }

    /// The lane, connected again where it was cut off.
    pub(crate) async fn lane(&mut self) -> Result<&mut Lane, Fault> {
        let health = &self.writers.shared.health;
        health.asks(self.number);
        let closed = self.lane.as_ref().is_none_or(|lane| lane.client.is_over());
        if closed {
            self.lane = None;
            let opened = Lane::open(self.writers.shared.clone(), self.lock).await;
            self.lane = Some(opened.map_err(|fault| Fault::Cut(fault.to_string().into()))?);
            // what it hears from here on counts anew
            health.hears(self.number);
            health.asks(self.number);
        }
        self.lane.as_mut().ok_or_else(|| Fault::Cut("no connection".into()))
    }

    /// When any lane wrote last.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) async fn latest(&mut self) -> Result<kernel::ids::Millis, OpenError> {
        match &self.lane {
            Some(lane) => lane.latest().await,
            None => Ok(0),
        }
    }

    /// Nobody knows what the session holds: the next write begins a new one.
    pub(crate) fn cut(&mut self) {
        self.lane = None;
    }

    pub(crate) fn writers(&self) -> &Arc<Writers> {
        &self.writers
    }

    /// Writes every item, in one transaction where that goes, and answers it.
    async fn write(&mut self, items: Vec<Item>, wait: Wait) {
        let manner = Manner { wait, believe: wait == Wait::Skip, ..Manner::FIRST };
        let mut waiting = VecDeque::from([(items, manner, 0)]);
        while let Some((items, manner, tries)) = waiting.pop_front() {
            match self.once(&items, &manner).await {
                Ok(said) => {
                    let again = self.answer(items, said, wait);
                    if !again.is_empty() {
                        waiting.push_front((again, manner, 0));
                    }
                }
                Err(Fault::Cut(what)) => {
                    self.cut();
                    let cut = Fault::Cut(what);
                    items.into_iter().for_each(|item| item.unknown(&cut));
                }
                // a belief may also have walked into a row that reading would have left out
                Err(Fault::Believed | Fault::Locked) if manner.believe => {
                    waiting.push_front((items, Manner { believe: false, ..manner }, 0));
                }
                Err(Fault::Believed) if tries < TRIES => {
                    waiting.push_front((items, manner, tries.saturating_add(1)));
                }
                Err(fault) => self.apart((items, manner), &fault, &mut waiting).await,
            }
        }
    }

    async fn once(&mut self, items: &[Item], manner: &Manner) -> Result<Vec<Said>, Fault> {
        let writers = self.writers.clone();
        let begun = writers.clock.ticks();
        let said = match self.lane().await {
            Ok(lane) => lane.group(&writers, items, manner).await,
            Err(fault) => Err(fault),
        };
        let said = self.heard(said);
        let nanos = writers.clock.ticks().saturating_sub(begun);
        writers.meter.see(Seen::Commit { nanos, units: items.len() });
        said
    }

    /// Gives the answers; what is still to be decided comes back, what somebody holds waits.
    fn answer(&self, items: Vec<Item>, said: Vec<Said>, wait: Wait) -> Vec<Item> {
        let (mut again, mut locked) = (Vec::new(), Vec::new());
        for (item, said) in items.into_iter().zip(said) {
            match (item, said) {
                (Item::Unit(_, reply), Said::Wrote(wrote)) => reply.give(wrote),
                (Item::Leg(_, reply), Said::Answer(answer)) => reply.give(answer),
                (item, Said::Locked) if wait == Wait::Skip => locked.push(item),
                (item, Said::Locked) => item.unknown(&Fault::Locked),
                (item, Said::Again) => again.push(item),
                (item, Said::Wrote(_) | Said::Answer(_)) => {
                    item.unknown(&Fault::Damaged("an answer of another kind"));
                }
            }
        }
        self.writers.waiting.locked(locked);
        again
    }

    /// Waits until nobody else holds what the account is about: a row, or the keys of these items. It
    /// holds nothing meanwhile, so that neither the rest of an account nor a HALT waits behind it.
    async fn let_go(&mut self, account: Account, items: &[Item]) -> Result<(), Fault> {
        let writers = self.writers.clone();
        let keys = || items.iter().filter_map(Item::key).collect();
        let waited = match (self.lane().await, account) {
            (Ok(lane), Account::Key(_)) => lane.keys_let_go(&writers.flows, &keys()).await,
            (Ok(lane), Account::Purse(user, asset)) => lane.purse_let_go(user, asset).await,
            (Ok(lane), Account::Transfer(id)) => lane.seat_let_go(id).await,
            (Err(fault), _) => Err(fault),
        };
        if let Err(Fault::Cut(_)) = &waited {
            self.cut();
        }
        self.heard(waited)
    }

    /// A group that broke, in parts until the culprit is alone.
    async fn apart(
        &mut self,
        (mut items, manner): (Vec<Item>, Manner),
        fault: &Fault,
        waiting: &mut VecDeque<(Vec<Item>, Manner, u32)>,
    ) {
        if matches!(fault, Fault::Locked) && manner.wait == Wait::Lock {
            // they all waited for one account's rows: whoever asked comes again
            return items.into_iter().for_each(|item| item.unknown(fault));
        }
        if items.len() > 1 && !matches!(fault, Fault::Full) {
            let size = items.len().div_ceil(PARTS);
            let mut parts = Vec::new();
            while !items.is_empty() {
                let rest = items.split_off(if size < items.len() { size } else { items.len() });
                parts.push(std::mem::replace(&mut items, rest));
            }
            for part in parts.into_iter().rev() {
                waiting.push_front((part, manner.clone(), 0));
            }
            return;
        }
        for item in items {
            match fault {
                Fault::Locked => self.writers.waiting.stuck(item),
                Fault::Refused(why) => self.refused(item, manner.clone(), why).await,
                Fault::Believed
                | Fault::Damaged(_)
                | Fault::Full
                | Fault::Failed(_)
                | Fault::Cut(_) => item.unknown(fault),
            }
        }
    }

    /// The database refused an item that was alone. It counts where it is one leg that may be
    /// refused, and it was refused with nothing else in its transaction (`ledgers.md` §1).
    async fn refused(&mut self, item: Item, manner: Manner, why: &Arc<str>) {
        let unknown = Fault::Refused(why.clone());
        let Some(op) = refusable(&item).cloned() else { return item.unknown(&unknown) };
        if let Item::Unit(..) = &item {
            let (replies, _nobody) = super::work::replies(1);
            let trial: Vec<Item> =
                replies.into_iter().map(|reply| Item::Leg(op.clone(), reply)).collect();
            let manner = Manner { keep: false, believe: false, ..manner.clone() };
            let Err(Fault::Refused(_)) = self.once(&trial, &manner).await else {
                return item.unknown(&unknown);
            };
        }
        let key = op.key;
        tracing::warn!(transfer = %key.id, leg = key.leg.name(), %why, "the database refused a leg");
        let manner = Manner { believe: false, refused: Some((key, REFUSED.into())), ..manner };
        let items = vec![item];
        match self.once(&items, &manner).await {
            Ok(said) => match self.reread(key).await {
                Ok(Some(answer)) => drop(self.answer(items, with(said, &answer), manner.wait)),
                Ok(None) => items.into_iter().for_each(|item| item.unknown(&unknown)),
                Err(fault) => items.into_iter().for_each(|item| item.unknown(&fault)),
            },
            Err(fault) => {
                if let Fault::Cut(_) = &fault {
                    self.cut();
                }
                items.into_iter().for_each(|item| item.unknown(&fault));
            }
        }
    }

    /// What is stored under a key, by a statement of its own.
    async fn reread(&mut self, key: Key) -> Result<Option<Answer>, Fault> {
        let lane = self.lane().await?;
        let sql = "SELECT req_id, leg, result, code, seq, asset_id, amount::text, account, ledger \
                   FROM operations WHERE req_id = $1 AND ledger = 1 AND leg = $2";
        let statement = lane.prepared(sql).await?;
        let id = super::text::uuid(key.id);
        let row = lane.client.query_opt(&statement, &[&id, &key.leg.name()]).await?;
        let found = row.map(|row| super::fetch::operation(&row)).transpose()?;
        Ok(found.map(|(_, operation)| crate::rules::answer(&operation)))
    }
}

/// The code of a refusal that a constraint or a trigger of the database raised (SQLSTATE 23514).
const REFUSED: &str = "CHECK_VIOLATION";

/// The one leg of an item that may be refused: alone, or in a unit that may stand for it.
fn refusable(item: &Item) -> Option<&Op> {
    let op = match item {
        Item::Leg(op, _) => op,
        Item::Unit(unit, _) => lone(unit)?,
    };
    op.key.leg.refusable().then_some(op)
}

/// The leg of a unit that records nothing else: the row that opens its transfer, or the answer to a
/// call whose claim is durable. A unit with another ledger's answer in it, or a settle, refuses
/// nothing.
fn lone(unit: &Unit) -> Option<&Op> {
    let then = &unit.then;
    let fork =
        then.fork.as_deref().filter(|fork| fork.rejected.is_some() && then.ops.is_empty())?;
    let own = |put: &Put| matches!(put, Put::Open(record) if record.id == fork.op.key.id);
    let receipts = then.puts.iter().any(|put| matches!(put, Put::Receipt { .. }));
    let opens = then.puts.iter().any(own) && !receipts;
    let claimed = then.puts.is_empty() && then.events.is_empty();
    (opens || claimed).then_some(&fork.op)
}

/// The answers with what was read again of the fork, or the leg.
fn with(said: Vec<Said>, read: &Answer) -> Vec<Said> {
    let again = |said| match said {
        Said::Answer(_) => Said::Answer(read.clone()),
        Said::Wrote(Wrote::Written(written)) => {
            let fork = written.fork.is_some().then(|| read.clone());
            Said::Wrote(Wrote::Written(kernel::unit::Written { fork, ..written }))
        }
        Said::Wrote(wrote) => Said::Wrote(wrote),
        Said::Again => Said::Again,
        Said::Locked => Said::Locked,
    };
    said.into_iter().map(again).collect()
}
