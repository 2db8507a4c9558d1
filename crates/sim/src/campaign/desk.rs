//! The people at the desk: they freeze, pause, hasten, ask, suspend, halt and judge, all of it while
//! money moves.

use super::crowd::{ASSETS, Doors, over};
use super::stage::{Process, Stage};
use super::tally::Tally;
use super::witness::{Halts, Witness};
use super::{Knob, Options};
use crate::world::{Sim, SplitMix};
use engine::deeds::{Actor, AssetChange, Deed, Objection, Outcome, Performed, Verdict};
use kernel::ids::{FlowId, Id, LedgerId, UserId};
use kernel::money::AssetStatus;
use kernel::people::Scope;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::AccountStatus;

/// What a person halts for; any other reason is the engine's own.
pub(super) const DRILL: &str = "a drill";

/// The people, over all processes of a run.
#[derive(Debug, Clone)]
pub(super) struct Desk {
    options: Options,
    sim: Sim,
    witness: Witness,
    tally: Tally,
    flow: FlowId,
    /// Of this process's time.
    draws: SplitMix,
    /// So many deeds were begun in it.
    done: u64,
    life: u64,
}

/// What is said to a person.
type Came = Result<Performed, Objection>;

pub(super) fn one_of<T: Copy>(draws: &mut SplitMix, all: &[T]) -> Option<T> {
    let many = u64::try_from(all.len()).unwrap_or(1);
    let at = usize::try_from(draws.next().checked_rem(many)?).ok()?;
    all.get(at).copied()
}

impl Desk {
    /// The people of a process.
    pub(super) fn new(stage: &Stage, life: u64) -> Self {
        Self {
            options: stage.options.clone(),
            sim: stage.sim.clone(),
            witness: stage.witness.clone(),
            tally: stage.tally.clone(),
            flow: stage.flow,
            draws: SplitMix(stage.options.seed ^ 6 ^ (life << 32)),
            done: 0,
            life,
        }
    }

    fn actor(&mut self, who: &str) -> Actor {
        self.done += 1;
        let key = format!("deed {} {}", self.life, self.done);
        Actor { caller: format!("desk|{who}").into(), key: key.into(), reason: DRILL.into() }
    }

    /// What came of a deed; none where the process died meanwhile.
    async fn act(&self, process: &Process, actor: Actor, deed: Deed) -> Option<Came> {
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

    /// One deed after the other, each at whichever process is nearest.
    pub(super) async fn work(mut self, doors: Doors) {
        let every = self.options.get(Knob::Deeds);
        if every == 0 {
            return;
        }
        loop {
            let wait = 1 + self.draws.next() % (2 * every);
            self.sim.sleep(wait).await;
            let process = doors();
            let Some((kind, deed)) = self.drawn(&process).await else { continue };
            self.tally.deed(kind);
            let actor = self.actor("ann");
            if deed == Deed::Halt {
                self.witness.halts(Halts::ByHand);
            }
            let judged = if let Deed::Resolve { id, .. } = &deed { Some(*id) } else { None };
            let came = self.act(&process, actor.clone(), deed.clone()).await;
            if self.draws.once_in(1, 4) {
                // the same key again
                let _same = self.act(&doors(), actor, deed).await;
            }
            match came.map(|came| came.map(|performed| performed.outcome)) {
                Some(Ok(Outcome::Proposed { approval })) => {
                    self.decide(&doors, approval, judged).await;
                }
                Some(Ok(Outcome::Halted { .. })) => {
                    let wait = self.draws.next() % 5_000;
                    self.sim.sleep(wait).await;
                    self.resume(&doors()).await;
                }
                Some(Ok(_) | Err(_)) | None => {}
            }
        }
    }

    /// Another person decides, sometimes after a while, sometimes against it.
    async fn decide(&mut self, doors: &Doors, approval: Id, judged: Option<Id>) {
        let wait = self.draws.next() % 3_000;
        self.sim.sleep(wait).await;
        let against = self.draws.once_in(1, 5);
        let deed = if against { Deed::Reject(approval) } else { Deed::Approve(approval) };
        if !against && let Some(id) = judged {
            self.witness.may_fence(id);
        }
        let actor = self.actor("bob");
        // it may have been overtaken
        let _came = self.act(&doors(), actor, deed).await;
    }

    /// What a person does next.
    async fn drawn(&mut self, process: &Process) -> Option<(&'static str, Deed)> {
        let open: Vec<Id> = self.witness.open().into_iter().map(|(id, _)| id).collect();
        let ledgers = [LedgerId::FUNDING, LedgerId::SPOT];
        let draws = &mut self.draws;
        let user = UserId(1 + draws.next() % self.options.some(Knob::Users));
        let ledger = one_of(draws, &ledgers)?;
        Some(match draws.next() % 16 {
            0..4 => {
                let all = [AccountStatus::Active, AccountStatus::Frozen, AccountStatus::Disabled];
                let status = one_of(draws, &all)?;
                ("status", Deed::Status { ledger, user, status })
            }
            4 | 5 => ("retry", Deed::Retry(one_of(draws, &open)?)),
            6 => ("ask", Deed::Ask(one_of(draws, &open)?)),
            7 => ("pause a transfer", Deed::PauseTransfer(one_of(draws, &open)?)),
            8 => ("resume a transfer", Deed::ResumeTransfer(one_of(draws, &open)?)),
            9 => {
                let [asset, _] = ASSETS;
                let scopes = [
                    Scope::Flow(self.flow),
                    Scope::Ledger(ledger),
                    Scope::Asset(asset),
                    Scope::Account(user, ledger),
                ];
                ("pause", Deed::Pause(one_of(draws, &scopes)?))
            }
            10 | 11 => {
                let engine = process.engine.clone();
                let standing = async move { engine.journal().standing().await };
                let standing = over(process, standing).await?.ok()?;
                let numbers: Vec<u64> = standing.paused.iter().map(|p| p.number).collect();
                ("unpause", Deed::Unpause(one_of(draws, &numbers)?))
            }
            12 => {
                let status = one_of(draws, &[AssetStatus::Suspended, AssetStatus::Active])?;
                let symbol = process.engine.assets().get(2).map(|asset| asset.symbol.clone())?;
                let change = AssetChange { symbol, status: Some(status), ..AssetChange::default() };
                ("change an asset", Deed::ChangeAsset(change))
            }
            13 => ("halt", Deed::Halt),
            _ => {
                let verdict = one_of(draws, &[Verdict::Rejected, Verdict::Done])?;
                let (id, evidence) = (one_of(draws, &open)?, "campaign".into());
                ("resolve", Deed::Resolve { id, verdict, evidence })
            }
        })
    }

    /// Two persons let money move again.
    async fn resume(&mut self, process: &Process) {
        let actor = self.actor("ann");
        let came = self.act(process, actor, Deed::Resume { accept: Vec::new() }).await;
        if let Some(Ok(Outcome::Proposed { approval })) =
            came.map(|came| came.map(|performed| performed.outcome))
        {
            let actor = self.actor("bob");
            self.witness.approves(approval);
            let came = self.act(process, actor, Deed::Approve(approval)).await;
            if let Some(Err(Objection::Breaks(breaks))) = came
                && self.options.get(Knob::Misread) == 0
            {
                self.witness.complain(format!("a resume finds breaks: {breaks:?}"));
            }
        }
    }

    /// The people clear up: nothing stands any more but what cannot go on.
    pub(super) async fn clear_up(mut self, doors: Doors) {
        loop {
            let process = doors();
            let engine = process.engine.clone();
            if engine.halted().is_some() {
                self.resume(&process).await;
            }
            let asked = engine.clone();
            let standing = over(&process, async move { asked.journal().standing().await }).await;
            if let Some(Ok(standing)) = standing {
                for paused in standing.paused {
                    let actor = self.actor("ann");
                    let _lifted = self.act(&process, actor, Deed::Unpause(paused.number)).await;
                }
            }
            for asset in engine.assets().iter().filter(|a| a.status != AssetStatus::Active) {
                let (symbol, status) = (asset.symbol.clone(), Some(AssetStatus::Active));
                let change = AssetChange { symbol, status, ..AssetChange::default() };
                let actor = self.actor("ann");
                let _active = self.act(&process, actor, Deed::ChangeAsset(change)).await;
            }
            self.sim.sleep(2_000).await;
        }
    }
}
