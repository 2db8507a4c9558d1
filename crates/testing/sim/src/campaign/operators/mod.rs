//! Simulates several operators at the same time, each at the process that answers next.
//!
//! They halt, propose, approve (late, twice, two at once at two processes), reject, pause, judge and book external
//! money. The oracles compare the journal with the answers that the operators got.

mod proposals;

use super::clients::{ASSETS, NextProcess, over};
use super::env::{Env, Process};
use super::operator::{DRILL, one_of};
use super::oracles::{Halts, Oracles};
use super::stats::Stats;
use super::{Build, Knob, Options};
use crate::world::{Sim, SplitMix};
use engine::operators::{ActionResult, Actor, AdminAction, Objection, PerformedAction, Verdict};
use kernel::ids::{FlowId, Id, LedgerId, Millis, UserId};
use kernel::operators::Scope;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Direction, External};
use proposals::{Proposals, Proposed};
use std::sync::Arc;
use testkit::deposit;

/// Who they are; the last one is the first under another issuer.
const PERSONS: [&str; 5] = ["ops|cid", "ops|dee", "ops|eve", "ops|fay", "sso|cid"];
/// How long a person waits before the next step of something, in milliseconds at most.
const HESITATION: Millis = 3_000;
/// The most that one external movement books.
const MOVED: u128 = 200;

#[derive(Clone)]
pub(super) struct Operator {
    who: &'static str,
    options: Options,
    build: Arc<dyn Build>,
    sim: Sim,
    oracles: Oracles,
    stats: Stats,
    flow: FlowId,
    proposals: Proposals,
    draws: SplitMix,
    done: u64,
    life: u64,
}

/// What an operator was answered; none where the process died meanwhile.
type Answered = Option<Result<PerformedAction, Objection>>;

/// Sets the operators of a run to work, as tasks of `sim`.
pub(super) fn work(env: &Env, (sim, life): (&Sim, u64), next_process: &NextProcess) {
    let many = usize::try_from(env.options.get(Knob::Operators)).unwrap_or(0);
    let proposals = Proposals::default();
    for (n, who) in (0..).zip(PERSONS.iter().take(many)) {
        let operator = Operator {
            who,
            options: env.options.clone(),
            build: env.build.clone(),
            sim: sim.clone(),
            oracles: env.oracles.clone(),
            stats: env.stats.clone(),
            flow: env.flow,
            proposals: proposals.clone(),
            draws: SplitMix(env.options.seed ^ 8 ^ (life << 32) ^ (n << 24)),
            done: 0,
            life,
        };
        sim.start(operator.acts(next_process.clone()));
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

    async fn act(&self, process: &Process, actor: Actor, action: AdminAction) -> Answered {
        let engine = process.engine.clone();
        let told = (action == AdminAction::Halt).then(|| actor.clone());
        let came =
            over(process, async move { engine.operators.execute(actor, action).await }).await;
        if let Some(Ok(PerformedAction {
            outcome: ActionResult::Halted { quiet: true, .. }, ..
        })) = &came
            && let Some(Actor { caller, key, .. }) = told
        {
            self.oracles.halted(&caller, &key);
        }
        came
    }

    /// One thing after the other.
    async fn acts(mut self, next_process: NextProcess) {
        let every = self.options.some(Knob::ActEvery);
        loop {
            let wait = 1 + self.below(2 * every);
            self.sim.sleep(wait).await;
            let process = next_process();
            match self.below(32) {
                0 | 1 => self.halts(&process, &next_process).await,
                2..9 => self.proposes_resume(&process).await,
                9..17 => self.decides(&process, &next_process).await,
                17 => self.rejects(&process).await,
                18 => self.pauses(&process).await,
                19..22 => self.judges(&process).await,
                _ => self.books(&process, &next_process).await,
            }
        }
    }

    async fn halts(&mut self, process: &Process, next_process: &NextProcess) {
        self.stats.action("an operator halts");
        self.oracles.halts(Halts::ByHand);
        // another one books at the same moment, where nobody may have heard of it yet
        let mut other = self.clone();
        other.life ^= self.draws.next() << 8;
        let at = next_process.clone();
        self.sim.start(async move { other.books(&at(), &at).await });
        let actor = self.actor();
        let came = self.act(process, actor.clone(), AdminAction::Halt).await;
        if !matches!(came, Some(Ok(_))) || self.draws.once_in(1, 3) {
            // the same key, wherever
            let _same = self.act(&next_process(), actor, AdminAction::Halt).await;
        }
        self.hesitates().await;
        if self.draws.once_in(1, 2) {
            self.proposes_resume(&next_process()).await;
        }
    }

    async fn proposes_resume(&mut self, process: &Process) {
        let actor = self.actor();
        let came = self.act(process, actor, AdminAction::Resume { accept: Vec::new() }).await;
        if let Some(Ok(PerformedAction { outcome: ActionResult::Proposed { approval }, .. })) = came
        {
            self.stats.action("an operator proposes a resume");
            self.proposals.add(Proposed { id: approval, judged: None });
        }
    }

    /// Approves what lies there, old or new; another person may approve it at the same moment.
    async fn decides(&mut self, process: &Process, next_process: &NextProcess) {
        let newest = self.draws.once_in(1, 2);
        let drawn = self.draws.next();
        let Some(Proposed { id, judged }) = self.proposals.one(newest, drawn) else { return };
        self.stats.action("an operator approves");
        self.oracles.approves(id);
        judged.into_iter().for_each(|transfer| self.oracles.may_fence(transfer));
        if self.draws.once_in(1, 3) {
            let mut other = self.clone();
            other.who = one_of(&mut self.draws, &PERSONS).unwrap_or(self.who);
            other.life ^= self.draws.next() << 8;
            let at = next_process();
            self.sim.start(async move {
                let actor = other.actor();
                let _either = other.act(&at, actor, AdminAction::Approve(id)).await;
            });
        }
        let actor = self.actor();
        let came = self.act(process, actor.clone(), AdminAction::Approve(id)).await;
        match came {
            Some(Ok(_)) => self.proposals.remove(id),
            // what lies about may be approved once more, under another key
            Some(Err(Objection::Decided(_))) if self.draws.once_in(1, 4) => {
                self.proposals.remove(id)
            }
            Some(Err(_)) => {}
            None => {
                let _same = self.act(&next_process(), actor, AdminAction::Approve(id)).await;
            }
        }
    }

    async fn rejects(&mut self, process: &Process) {
        let drawn = self.draws.next();
        let Some(Proposed { id, .. }) = self.proposals.one(false, drawn) else { return };
        self.stats.action("an operator rejects");
        let actor = self.actor();
        if let Some(Ok(_)) = self.act(process, actor, AdminAction::Reject(id)).await {
            self.proposals.remove(id);
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
        self.stats.action("an operator pauses");
        let actor = self.actor();
        let came = self.act(process, actor, AdminAction::Pause(scope)).await;
        self.hesitates().await;
        let stands = came.and_then(Result::ok).map(|performed| performed.outcome);
        if let Some(ActionResult::Paused { number: Some(number) }) = stands {
            let actor = self.actor();
            let came = self.act(process, actor, AdminAction::Unpause(number)).await;
            // one of an account ends by another person's word
            if let Some(ActionResult::Proposed { approval }) =
                came.and_then(Result::ok).map(|performed| performed.outcome)
            {
                self.proposals.add(Proposed { id: approval, judged: None });
            }
        }
    }

    async fn judges(&mut self, process: &Process) {
        let open: Vec<Id> = self.oracles.open().into_iter().map(|(id, _)| id).collect();
        let Some(id) = one_of(&mut self.draws, &open) else { return };
        let Some(verdict) = one_of(&mut self.draws, &[Verdict::Rejected, Verdict::Done]) else {
            return;
        };
        self.stats.action("an operator proposes a verdict");
        let (actor, evidence) = (self.actor(), "campaign".into());
        let came = self.act(process, actor, AdminAction::Resolve { id, verdict, evidence }).await;
        if let Some(Ok(PerformedAction { outcome: ActionResult::Proposed { approval }, .. })) = came
        {
            self.proposals.add(Proposed { id: approval, judged: Some(id) });
        }
    }

    /// Money comes from outside, or goes there.
    async fn books(&mut self, process: &Process, next_process: &NextProcess) {
        self.stats.action("an operator books external money");
        let inward = self.draws.once_in(1, 2);
        let Actor { caller, key, reason } = self.actor();
        let Some(asset) = one_of(&mut self.draws, &ASSETS) else { return };
        let direction = if inward { Direction::In } else { Direction::Out };
        let user = 1 + self.below(self.options.some(Knob::Users));
        let amount = 1 + u128::from(self.draws.next()) % MOVED;
        let movement = External { direction, reason, caller, ..deposit(&key, user, asset, amount) };
        let again = self.draws.once_in(1, 4).then(|| (next_process(), movement.clone()));
        for (at, movement) in [Some((process.clone(), movement)), again].into_iter().flatten() {
            let (engine, world) = (at.engine.clone(), at.world.clone());
            let booked = self.build.movement(engine, world, movement);
            let _came = over(&at, booked).await;
        }
    }
}
