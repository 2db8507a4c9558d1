//! Operators: several persons, each at whichever process answers next, who do not wait for each other.
//!
//! They halt, propose, approve (late, twice, two at once at two processes), reject, pause, judge and
//! book external money. What each was answered is what the oracles hold the journal to.

mod board;

use super::crowd::{ASSETS, Doors, over};
use super::desk::{DRILL, one_of};
use super::stage::{Process, Stage};
use super::tally::Tally;
use super::witness::{Halts, Witness};
use super::{Build, Knob, Options};
use crate::world::{Sim, SplitMix};
use board::{Board, Proposed};
use engine::deeds::{Actor, Deed, Objection, Outcome, Performed, Verdict};
use kernel::ids::{FlowId, Id, LedgerId, Millis, UserId};
use kernel::money::Amount;
use kernel::people::Scope;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Direction, External};
use std::sync::Arc;

/// Who they are; the last one is the first under another issuer.
const PERSONS: [&str; 5] = ["desk|cid", "desk|dee", "desk|eve", "desk|fay", "sso|cid"];
/// How long a person waits before the next step of something, in milliseconds at most.
const HESITATION: Millis = 3_000;
/// The most that one external movement books.
const MOVED: u128 = 200;

/// One of them.
#[derive(Clone)]
pub(super) struct Operator {
    who: &'static str,
    options: Options,
    build: Arc<dyn Build>,
    sim: Sim,
    witness: Witness,
    tally: Tally,
    flow: FlowId,
    board: Board,
    draws: SplitMix,
    done: u64,
    life: u64,
}

/// What an operator was answered; none where the process died meanwhile.
type Answered = Option<Result<Performed, Objection>>;

/// Sets the operators of a run to work, as tasks of `sim`.
pub(super) fn work(stage: &Stage, (sim, life): (&Sim, u64), doors: &Doors) {
    let many = usize::try_from(stage.options.get(Knob::Operators)).unwrap_or(0);
    let board = Board::default();
    for (n, who) in (0..).zip(PERSONS.iter().take(many)) {
        let operator = Operator {
            who,
            options: stage.options.clone(),
            build: stage.build.clone(),
            sim: sim.clone(),
            witness: stage.witness.clone(),
            tally: stage.tally.clone(),
            flow: stage.flow,
            board: board.clone(),
            draws: SplitMix(stage.options.seed ^ 8 ^ (life << 32) ^ (n << 24)),
            done: 0,
            life,
        };
        sim.start(operator.acts(doors.clone()));
    }
}

impl Operator {
    fn below(&mut self, n: u64) -> u64 {
        self.draws.next().checked_rem(n).unwrap_or(0)
    }

    async fn hesitates(&mut self) {
        let wait = self.below(HESITATION);
        self.sim.sleep(wait).await;
    }

    /// The next action of this person, under a key of its own.
    fn actor(&mut self) -> Actor {
        self.done += 1;
        let key = format!("{} {} {}", self.who, self.life, self.done);
        Actor { caller: self.who.into(), key: key.into(), reason: DRILL.into() }
    }

    async fn act(&self, process: &Process, actor: Actor, deed: Deed) -> Answered {
        let engine = process.engine.clone();
        let told = (deed == Deed::Halt).then(|| actor.clone());
        let came = over(process, async move { engine.act(actor, deed).await }).await;
        if let Some(Ok(Performed { outcome: Outcome::Halted { quiet: true, .. }, .. })) = &came
            && let Some(Actor { caller, key, .. }) = told
        {
            self.witness.halted(&caller, &key);
        }
        came
    }

    /// One thing after the other.
    async fn acts(mut self, doors: Doors) {
        let every = self.options.some(Knob::Acts);
        loop {
            let wait = 1 + self.below(2 * every);
            self.sim.sleep(wait).await;
            let process = doors();
            match self.below(32) {
                0 | 1 => self.halts(&process, &doors).await,
                2..9 => self.proposes_resume(&process).await,
                9..17 => self.decides(&process, &doors).await,
                17 => self.rejects(&process).await,
                18 => self.pauses(&process).await,
                19..22 => self.judges(&process).await,
                _ => self.books(&process, &doors).await,
            }
        }
    }

    async fn halts(&mut self, process: &Process, doors: &Doors) {
        self.tally.deed("an operator halts");
        self.witness.halts(Halts::ByHand);
        // another one books at the same moment, where nobody may have heard of it yet
        let mut other = self.clone();
        other.life ^= self.draws.next() << 8;
        let at = doors.clone();
        self.sim.start(async move { other.books(&at(), &at).await });
        let actor = self.actor();
        let came = self.act(process, actor.clone(), Deed::Halt).await;
        if !matches!(came, Some(Ok(_))) || self.draws.once_in(1, 3) {
            // the same key, wherever
            let _same = self.act(&doors(), actor, Deed::Halt).await;
        }
        self.hesitates().await;
        if self.draws.once_in(1, 2) {
            self.proposes_resume(&doors()).await;
        }
    }

    async fn proposes_resume(&mut self, process: &Process) {
        let actor = self.actor();
        let came = self.act(process, actor, Deed::Resume { accept: Vec::new() }).await;
        if let Some(Ok(Performed { outcome: Outcome::Proposed { approval }, .. })) = came {
            self.tally.deed("an operator proposes a resume");
            self.board.add(Proposed { id: approval, judged: None });
        }
    }

    /// Approves what lies there, old or new; another person may approve it at the same moment.
    async fn decides(&mut self, process: &Process, doors: &Doors) {
        let newest = self.draws.once_in(1, 2);
        let drawn = self.draws.next();
        let Some(Proposed { id, judged }) = self.board.one(newest, drawn) else { return };
        self.tally.deed("an operator approves");
        self.witness.approves(id);
        judged.into_iter().for_each(|transfer| self.witness.may_fence(transfer));
        if self.draws.once_in(1, 3) {
            let mut other = self.clone();
            other.who = one_of(&mut self.draws, &PERSONS).unwrap_or(self.who);
            other.life ^= self.draws.next() << 8;
            let at = doors();
            self.sim.start(async move {
                let actor = other.actor();
                let _either = other.act(&at, actor, Deed::Approve(id)).await;
            });
        }
        let actor = self.actor();
        let came = self.act(process, actor.clone(), Deed::Approve(id)).await;
        match came {
            Some(Ok(_)) => self.board.remove(id),
            // what lies about may be approved once more, under another key
            Some(Err(Objection::Decided(_))) if self.draws.once_in(1, 4) => self.board.remove(id),
            Some(Err(_)) => {}
            None => {
                let _same = self.act(&doors(), actor, Deed::Approve(id)).await;
            }
        }
    }

    async fn rejects(&mut self, process: &Process) {
        let drawn = self.draws.next();
        let Some(Proposed { id, .. }) = self.board.one(false, drawn) else { return };
        self.tally.deed("an operator rejects");
        let actor = self.actor();
        if let Some(Ok(_)) = self.act(process, actor, Deed::Reject(id)).await {
            self.board.remove(id);
        }
    }

    /// Something stands for a while.
    async fn pauses(&mut self, process: &Process) {
        let user = UserId(1 + self.below(self.options.some(Knob::Users)));
        let [asset, _] = ASSETS;
        let ledger = LedgerId::SPOT;
        let scopes = [
            Scope::Flow(self.flow),
            Scope::Ledger(ledger),
            Scope::Asset(asset),
            Scope::Account(user, ledger),
        ];
        let Some(scope) = one_of(&mut self.draws, &scopes) else { return };
        self.tally.deed("an operator pauses");
        let actor = self.actor();
        let came = self.act(process, actor, Deed::Pause(scope)).await;
        self.hesitates().await;
        let stands = came.and_then(Result::ok).map(|performed| performed.outcome);
        if let Some(Outcome::Paused(Some(number))) = stands {
            let actor = self.actor();
            let _lifted = self.act(process, actor, Deed::Unpause(number)).await;
        }
    }

    async fn judges(&mut self, process: &Process) {
        let open: Vec<Id> = self.witness.open().into_iter().map(|(id, _)| id).collect();
        let Some(id) = one_of(&mut self.draws, &open) else { return };
        let Some(verdict) = one_of(&mut self.draws, &[Verdict::Rejected, Verdict::Done]) else {
            return;
        };
        self.tally.deed("an operator proposes a verdict");
        let (actor, evidence) = (self.actor(), "campaign".into());
        let came = self.act(process, actor, Deed::Resolve { id, verdict, evidence }).await;
        if let Some(Ok(Performed { outcome: Outcome::Proposed { approval }, .. })) = came {
            self.board.add(Proposed { id: approval, judged: Some(id) });
        }
    }

    /// Money comes from outside, or goes there.
    async fn books(&mut self, process: &Process, doors: &Doors) {
        self.tally.deed("an operator books external money");
        let inward = self.draws.once_in(1, 2);
        let Actor { caller, key, reason } = self.actor();
        let Some(asset) = one_of(&mut self.draws, &ASSETS) else { return };
        let movement = External {
            direction: if inward { Direction::In } else { Direction::Out },
            reference: key,
            user: UserId(1 + self.below(self.options.some(Knob::Users))),
            asset,
            amount: Amount(1 + u128::from(self.draws.next()) % MOVED),
            reason,
            caller,
        };
        let again = self.draws.once_in(1, 4).then(|| (doors(), movement.clone()));
        for (at, movement) in [Some((process.clone(), movement)), again].into_iter().flatten() {
            let (engine, world) = (at.engine.clone(), at.world.clone());
            let booked = self.build.movement(engine, world, movement);
            let _came = over(&at, booked).await;
        }
    }
}
