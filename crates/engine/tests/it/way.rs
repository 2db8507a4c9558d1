//! The way to Spot: it leads where the test says, loses what the test says, and may lie.

use crate::machine::Chance;
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::clock::Rng as _;
use kernel::ports::ledger::{
    EarlierSends, Form, Heard, Holding, Known, Ledger, StatusChange, Stored, Totals, Whose,
};
use kernel::unit::{Key, Op, Operation, Outcome};
use ledgers::spot::Spot;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// What becomes of calls that may have an effect.
#[derive(Debug, Clone)]
pub(crate) enum Mood {
    /// They arrive and are answered.
    Fair,
    /// They never arrive.
    LoseRequests,
    /// They are executed, and nobody hears of it.
    LoseReplies,
    /// They are executed, and the reply comes when the test lets it.
    Late(Arc<Semaphore>),
    /// Now the one, now the other, mostly neither; and it takes its time to answer questions.
    Rough,
    /// Those of these transfers never arrive.
    Bars(BTreeSet<Id>),
    /// They never arrive, nor does a question.
    Silent,
    /// Fences are executed, and nobody hears of it; nothing else goes wrong.
    LoseFences,
    /// Proofs are made (questions, fences, totals), and heard of when the test lets them.
    LateProofs(Arc<Stile>),
}

/// Where replies wait for the test.
#[derive(Debug)]
pub(crate) struct Stile {
    came: Semaphore,
    open: Semaphore,
}

impl Stile {
    pub(crate) fn shut() -> Arc<Self> {
        Arc::new(Self { came: Semaphore::new(0), open: Semaphore::new(0) })
    }

    /// Waits until one more reply stands here.
    pub(crate) async fn one(&self) {
        self.came.acquire().await.expect("it is never closed").forget();
    }

    /// Lets so many go.
    pub(crate) fn lets(&self, replies: usize) {
        self.open.add_permits(replies);
    }

    async fn pass(&self) {
        self.came.add_permits(1);
        self.open.acquire().await.expect("it is never closed").forget();
    }
}

/// What is told otherwise than it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lie {
    /// So much more of each asset with users and in clearing.
    Totals { users: i128, clearing: i128 },
    /// The first user has one more, and the last one less.
    Users,
    /// The first operation of a list moved one unit more.
    Amount,
    /// Nothing is found, and fences are said to stand where something was executed.
    Fences,
}

struct Inner {
    leads_to: Option<Arc<Spot>>,
    mood: Mood,
    lie: Option<Lie>,
    form: Form,
    hides: Option<AssetId>,
    /// What was said of the calls before each, where the form has it said.
    earlier: Vec<(Key, EarlierSends)>,
}

/// The way.
pub(crate) struct Way(Mutex<Inner>);

impl Way {
    pub(crate) fn to(spot: Arc<Spot>) -> Arc<Self> {
        let leads_to = Some(spot);
        Arc::new(Self(Mutex::new(Inner {
            leads_to,
            mood: Mood::Fair,
            lie: None,
            form: Form::Full,
            hides: None,
            earlier: Vec::new(),
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The core at its end.
    pub(crate) fn spot(&self) -> Arc<Spot> {
        self.inner().leads_to.clone().expect("the way leads somewhere")
    }

    /// From now on it leads here; `None`: nowhere.
    pub(crate) fn lead(&self, spot: Option<Arc<Spot>>) {
        self.inner().leads_to = spot;
    }

    pub(crate) fn mood(&self, mood: Mood) {
        self.inner().mood = mood;
    }

    /// From now on the ledger at its end is taken for one of this form.
    pub(crate) fn form(&self, form: Form) {
        self.inner().form = form;
    }

    /// What was said with each call of a key about those before it.
    pub(crate) fn earlier(&self, key: Key) -> Vec<EarlierSends> {
        let inner = self.inner();
        inner.earlier.iter().filter(|(of, _)| *of == key).map(|(_, said)| *said).collect()
    }

    /// From now on no list and no total shows this asset.
    pub(crate) fn hide(&self, asset: AssetId) {
        self.inner().hides = Some(asset);
    }

    pub(crate) fn lie(&self, lie: Lie) {
        self.inner().lie = Some(lie);
    }

    /// From now on it tells what is.
    pub(crate) fn honest(&self) {
        self.inner().lie = None;
    }

    fn reach(&self) -> Result<Arc<Spot>, Cause> {
        self.inner().leads_to.clone().ok_or(TIMEOUT)
    }

    /// The core that a question is asked of.
    async fn asked(&self) -> Result<Arc<Spot>, Cause> {
        if matches!(self.inner().mood, Mood::Silent) {
            return Err(TIMEOUT);
        }
        let rough = matches!(self.inner().mood, Mood::Rough);
        if rough {
            tokio::time::sleep(Duration::from_millis(Chance.next() % 6)).await;
        }
        self.reach()
    }

    /// A reply that was proven, once the test lets it go.
    async fn proven<T>(&self, heard: Heard<T>) -> Heard<T> {
        let mood = self.inner().mood.clone();
        if let Mood::LateProofs(stile) = mood {
            stile.pass().await;
        }
        heard
    }

    fn denies(&self) -> bool {
        matches!(self.inner().lie, Some(Lie::Fences))
    }

    async fn call(&self, known: Known, ops: Arc<[Op]>) -> Heard<Vec<Answer>> {
        let mood = self.inner().mood.clone();
        let barred = |op: &Op| matches!(&mood, Mood::Bars(ids) if ids.contains(&op.key.id));
        let dice = if matches!(mood, Mood::Rough) { Chance.next() % 8 } else { 7 };
        if matches!(mood, Mood::LoseRequests | Mood::Silent) || dice == 0 {
            return Heard::Nothing(TIMEOUT);
        }
        let spot = match self.reach() {
            Ok(spot) => spot,
            Err(cause) => return Heard::Nothing(cause),
        };
        let open: Arc<[Op]> = ops.iter().filter(|op| !barred(op)).cloned().collect();
        let heard = spot.execute(known, open).await;
        if matches!(mood, Mood::LoseReplies) || dice == 1 {
            return Heard::Nothing(TIMEOUT);
        }
        if let Mood::Late(held) = &mood {
            held.acquire().await.expect("it is never closed").forget();
        }
        let Heard::Said(said, answers) = heard else { return heard };
        let mut answers = answers.into_iter();
        let one = |op: &Op| {
            let answer = if barred(op) { None } else { answers.next() };
            answer.unwrap_or(Answer::Unknown(TIMEOUT))
        };
        Heard::Said(said, ops.iter().map(one).collect())
    }
}

const TIMEOUT: Cause = Cause::of("TIMEOUT");

/// Asks the core at its end.
macro_rules! reached {
    ($self:ident, $spot:ident => $ask:expr) => {
        Box::pin(async move {
            match $self.asked().await {
                Ok($spot) => $ask.await,
                Err(cause) => Heard::Nothing(cause),
            }
        })
    };
}

impl Ledger for Way {
    fn id(&self) -> LedgerId {
        LedgerId::SPOT
    }

    fn form(&self) -> Form {
        self.inner().form
    }

    fn know(&self, assets: &[Asset]) {
        self.spot().know(assets);
    }

    fn hello(&self) -> Fut<'_, Heard<()>> {
        if matches!(self.inner().mood, Mood::Silent) {
            return Box::pin(async { Heard::Nothing(TIMEOUT) });
        }
        reached!(self, spot => spot.hello())
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(self.call(known, ops))
    }

    fn execute_after(
        &self,
        known: Known,
        ops: Arc<[Op]>,
        earlier: Arc<[EarlierSends]>,
    ) -> Fut<'_, Heard<Vec<Answer>>> {
        let keys = ops.iter().map(|op| op.key);
        self.inner().earlier.extend(keys.zip(earlier.iter().copied()));
        Box::pin(self.call(known, ops))
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move {
            let heard = match self.asked().await {
                Ok(spot) => spot.query(known, key).await,
                Err(cause) => Heard::Nothing(cause),
            };
            let mut heard = self.proven(heard).await;
            if let Heard::Said(_, stored) = &mut heard
                && self.denies()
            {
                *stored = Stored::Nothing;
            }
            heard
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        let lost = matches!(self.inner().mood, Mood::LoseFences);
        Box::pin(async move {
            let heard = match self.asked().await {
                Ok(spot) => spot.fence(known, key).await,
                Err(cause) => Heard::Nothing(cause),
            };
            let mut heard = self.proven(heard).await;
            if let Heard::Said(_, Stored::Found(operation)) = &mut heard
                && self.denies()
            {
                operation.outcome = Outcome::Fenced;
            }
            if lost { Heard::Nothing(TIMEOUT) } else { heard }
        })
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        let Inner { lie, hides, .. } = *self.inner();
        Box::pin(async move {
            let spot = match self.asked().await {
                Ok(spot) => spot,
                Err(cause) => return Heard::Nothing(cause),
            };
            let mut heard = self.proven(spot.totals().await).await;
            if let Heard::Said(_, told) = &mut heard {
                told.retain(|(asset, _)| hides != Some(*asset));
            }
            if let (Heard::Said(_, told), Some(Lie::Totals { users, clearing })) = (&mut heard, lie)
            {
                for (_, totals) in told {
                    totals.users += users;
                    totals.clearing += clearing;
                }
            }
            heard
        })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        let Inner { lie, hides, .. } = *self.inner();
        Box::pin(async move {
            let spot = match self.asked().await {
                Ok(spot) => spot,
                Err(cause) => return Heard::Nothing(cause),
            };
            let most = if hides.is_some() { usize::MAX } else { limit };
            let mut heard = spot.operations(after, most).await;
            if let Heard::Said(_, listed) = &mut heard {
                listed.retain(|operation| hides != Some(operation.op.asset));
                listed.truncate(limit);
            }
            if let (Heard::Said(_, listed), Some(Lie::Amount)) = (&mut heard, lie) {
                listed.iter_mut().take(1).for_each(|operation| operation.op.amount.0 += 1);
            }
            heard
        })
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        reached!(self, spot => spot.horizon(known, id, open))
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        let Inner { lie, hides, .. } = *self.inner();
        Box::pin(async move {
            let spot = match self.asked().await {
                Ok(spot) => spot,
                Err(cause) => return Heard::Nothing(cause),
            };
            let mut heard = spot.accounts(whose).await;
            if let Heard::Said(_, told) = &mut heard {
                told.retain(|holding| hides != Some(holding.asset));
                if let (Some(Lie::Users), [one, .., other]) = (lie, &mut **told) {
                    one.available.0 += 1;
                    other.available.0 -= 1;
                }
            }
            heard
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        reached!(self, spot => spot.status(known, change))
    }
}
