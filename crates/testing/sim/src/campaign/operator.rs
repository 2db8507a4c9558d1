//! Simulates one operator: freezes, pauses, retries, queries, suspends, halts and judges while money moves.

use super::clients::{ASSETS, NextProcess, over};
use super::env::{Env, Process};
use super::oracles::{Halts, Oracles};
use super::stats::Stats;
use super::{Knob, Options};
use crate::world::{Sim, SplitMix};
use engine::operators::{
    ActionResult, Actor, AdminAction, AssetChange, Objection, PerformedAction, Verdict,
};
use kernel::ids::{FlowId, Id, LedgerId, UserId};
use kernel::money::AssetStatus;
use kernel::operators::Scope;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::AccountStatus;

/// What a person halts for; any other reason is the engine's own.
pub(super) const DRILL: &str = "a drill";

/// The operator, over all processes of a run.
#[derive(Debug, Clone)]
pub(super) struct OneOperator {
    options: Options,
    sim: Sim,
    oracles: Oracles,
    stats: Stats,
    flow: FlowId,
    /// Of this process's time.
    draws: SplitMix,
    /// Number of actions that were begun in it.
    done: u64,
    life: u64,
}

/// What is said to a person.
type Came = Result<PerformedAction, Objection>;

pub(super) fn one_of<T: Copy>(draws: &mut SplitMix, all: &[T]) -> Option<T> {
    let many = u64::try_from(all.len()).unwrap_or(1);
    let at = usize::try_from(draws.next().checked_rem(many)?).ok()?;
    all.get(at).copied()
}

impl OneOperator {
    /// The operator of a process.
    pub(super) fn new(env: &Env, life: u64) -> Self {
        Self {
            options: env.options.clone(),
            sim: env.sim.clone(),
            oracles: env.oracles.clone(),
            stats: env.stats.clone(),
            flow: env.flow,
            draws: SplitMix(env.options.seed ^ 6 ^ (life << 32)),
            done: 0,
            life,
        }
    }

    fn actor(&mut self, who: &str) -> Actor {
        self.done += 1;
        let key = format!("action {} {}", self.life, self.done);
        Actor { caller: format!("ops|{who}").into(), key: key.into(), reason: DRILL.into() }
    }

    /// The result of an action; none where the process died meanwhile.
    async fn act(&self, process: &Process, actor: Actor, action: AdminAction) -> Option<Came> {
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

    /// One action after the other, each at whichever process is nearest.
    pub(super) async fn work(mut self, next_process: NextProcess) {
        let every = self.options.get(Knob::Actions);
        if every == 0 {
            return;
        }
        loop {
            let wait = 1 + self.draws.next() % (2 * every);
            self.sim.sleep(wait).await;
            let process = next_process();
            let Some((kind, action)) = self.drawn(&process).await else { continue };
            self.stats.action(kind);
            let actor = self.actor("ann");
            if action == AdminAction::Halt {
                self.oracles.halts(Halts::ByHand);
            }
            let judged =
                if let AdminAction::Resolve { id, .. } = &action { Some(*id) } else { None };
            let came = self.act(&process, actor.clone(), action.clone()).await;
            if self.draws.once_in(1, 4) {
                // the same key again
                let _same = self.act(&next_process(), actor, action).await;
            }
            match came.map(|came| came.map(|performed| performed.outcome)) {
                Some(Ok(ActionResult::Proposed { approval })) => {
                    self.decide(&next_process, approval, judged).await;
                }
                Some(Ok(ActionResult::Halted { .. })) => {
                    let wait = self.draws.next() % 5_000;
                    self.sim.sleep(wait).await;
                    self.resume(&next_process()).await;
                }
                Some(Ok(_) | Err(_)) | None => {}
            }
        }
    }

    /// Another person decides, sometimes after a while, sometimes against it.
    async fn decide(&mut self, next_process: &NextProcess, approval: Id, judged: Option<Id>) {
        let wait = self.draws.next() % 3_000;
        self.sim.sleep(wait).await;
        let against = self.draws.once_in(1, 5);
        let action =
            if against { AdminAction::Reject(approval) } else { AdminAction::Approve(approval) };
        if !against && let Some(id) = judged {
            self.oracles.may_fence(id);
        }
        let actor = self.actor("bob");
        // it may have been superseded
        let _came = self.act(&next_process(), actor, action).await;
    }

    /// What the operator does next.
    async fn drawn(&mut self, process: &Process) -> Option<(&'static str, AdminAction)> {
        let open: Vec<Id> = self.oracles.open().into_iter().map(|(id, _)| id).collect();
        let ledgers = [LedgerId::FUNDING, LedgerId::SPOT];
        let draws = &mut self.draws;
        let user = UserId(1 + draws.next() % self.options.some(Knob::Users));
        let ledger = one_of(draws, &ledgers)?;
        Some(match draws.next() % 16 {
            0..4 => {
                let all = [AccountStatus::Active, AccountStatus::Frozen, AccountStatus::Disabled];
                let status = one_of(draws, &all)?;
                ("status", AdminAction::Status { ledger, user, status })
            }
            4 | 5 => ("retry", AdminAction::Retry(one_of(draws, &open)?)),
            6 => ("ask", AdminAction::Ask(one_of(draws, &open)?)),
            7 => ("pause a transfer", AdminAction::PauseTransfer(one_of(draws, &open)?)),
            8 => ("resume a transfer", AdminAction::ResumeTransfer(one_of(draws, &open)?)),
            9 => {
                let [asset, _] = ASSETS;
                let scopes = [
                    Scope::Flow(self.flow),
                    Scope::Ledger(ledger),
                    Scope::Asset(asset),
                    Scope::Account(user, ledger),
                ];
                ("pause", AdminAction::Pause(one_of(draws, &scopes)?))
            }
            10 | 11 => {
                let engine = process.engine.clone();
                let status = async move { engine.journal().service_status().await };
                let status = over(process, status).await?.ok()?;
                let numbers: Vec<u64> = status.paused.iter().map(|p| p.number).collect();
                ("unpause", AdminAction::Unpause(one_of(draws, &numbers)?))
            }
            12 => {
                let status = one_of(draws, &[AssetStatus::Suspended, AssetStatus::Active])?;
                let symbol = process.engine.assets().get(2).map(|asset| asset.symbol.clone())?;
                let change = AssetChange { symbol, status: Some(status), ..AssetChange::default() };
                ("change an asset", AdminAction::ChangeAsset(change))
            }
            13 => ("halt", AdminAction::Halt),
            _ => {
                let verdict = one_of(draws, &[Verdict::Rejected, Verdict::Done])?;
                let (id, evidence) = (one_of(draws, &open)?, "campaign".into());
                ("resolve", AdminAction::Resolve { id, verdict, evidence })
            }
        })
    }

    /// Two persons let money move again.
    async fn resume(&mut self, process: &Process) {
        let actor = self.actor("ann");
        let came = self.act(process, actor, AdminAction::Resume { accept: Vec::new() }).await;
        if let Some(Ok(ActionResult::Proposed { approval })) =
            came.map(|came| came.map(|performed| performed.outcome))
        {
            let actor = self.actor("bob");
            self.oracles.approves(approval);
            let came = self.act(process, actor, AdminAction::Approve(approval)).await;
            if let Some(Err(Objection::Breaks(breaks))) = came
                && self.options.get(Knob::Misread) == 0
            {
                self.oracles.fail(format!("a resume finds breaks: {breaks:?}"));
            }
        }
    }

    /// The operator clears up: nothing stays open but what cannot go on.
    pub(super) async fn clear_up(mut self, next_process: NextProcess) {
        loop {
            let process = next_process();
            let engine = process.engine.clone();
            if engine.halted().is_some() {
                self.resume(&process).await;
            }
            let asked = engine.clone();
            let status =
                over(&process, async move { asked.journal().service_status().await }).await;
            if let Some(Ok(status)) = status {
                // who paused an account only proposes to lift that: the other one does
                for (paused, who) in
                    status.paused.iter().flat_map(|paused| ["ann", "bob"].map(|who| (paused, who)))
                {
                    let actor = self.actor(who);
                    let _unpaused =
                        self.act(&process, actor, AdminAction::Unpause(paused.number)).await;
                }
            }
            for asset in engine.assets().iter().filter(|a| a.status != AssetStatus::Active) {
                let (symbol, status) = (asset.symbol.clone(), Some(AssetStatus::Active));
                let change = AssetChange { symbol, status, ..AssetChange::default() };
                let actor = self.actor("ann");
                let _active = self.act(&process, actor, AdminAction::ChangeAsset(change)).await;
            }
            self.sim.sleep(2_000).await;
        }
    }
}
