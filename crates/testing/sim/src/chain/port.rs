//! The chain port of one process on the simulated chain.

use super::proof::{BlockFacts, prove};
use super::state::{Locking, SimChain};
use super::transaction::{Effect, Paid, QUARANTINE, Transaction};
use crate::world::breath;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Form, Lock, Purpose};
use kernel::flow::life::{Leg, Side};
use kernel::flow::table::{A, ActRow, Flows};
use kernel::ids::ChainId;
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, CHAIN_UNBOUND, Chain, ChainIdentity, FeeBalance, ForeignUse, GoneLane,
    KEY_ABSENT, LANE_AHEAD, LaneMark, LanePresence, LaneSpent, LanesOnChain, NewLane, Payment,
    ReturnedLane, SignRequest, Signed, Unsigned, WRONG_CHAIN,
};
use kernel::record::{Account, Record};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// An adapter that believes two nodes where they agree.
pub struct SimPort {
    chain: SimChain,
    /// What the acts of each flow are: those of the process, which may have flows of a test among them.
    flows: Arc<Flows>,
    /// The session of the node that signs for this process.
    session: AtomicU64,
    /// The chain that the journal of the process is bound to.
    bound: OnceLock<ChainIdentity>,
    /// The height below which no view of all lanes counts.
    floor: AtomicU64,
}

impl fmt::Debug for SimPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimPort").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl SimPort {
    /// The adapter of a process that begins.
    pub fn new(chain: SimChain, flows: Arc<Flows>) -> Self {
        let (session, bound) = (AtomicU64::new(0), OnceLock::new());
        let port = Self { chain, flows, session, bound, floor: AtomicU64::new(0) };
        port.opens_session();
        port
    }

    /// The same port where the journal of its process is bound to this very chain already.
    #[must_use]
    pub fn already_bound(self) -> Self {
        self.bound.get_or_init(|| self.shown());
        self
    }

    fn shown(&self) -> ChainIdentity {
        let state = self.chain.now();
        let (name, genesis) = (state.rules.id.name().into(), format!("{:016x}", state.genesis));
        ChainIdentity { name, genesis: genesis.into() }
    }

    /// What every call begins with: it takes a while, and is of the chain that the journal is bound to.
    async fn reached(&self) -> Result<(), Cause> {
        breath().await;
        match self.bound.get() {
            None => Err(Cause::of(CHAIN_UNBOUND)),
            Some(bound) if *bound != self.shown() => Err(Cause::of(WRONG_CHAIN)),
            Some(_) => Ok(()),
        }
    }

    /// A new session: what a fence leaves valid.
    fn opens_session(&self) -> u64 {
        let mut state = self.chain.now();
        state.session += 1;
        self.session.store(state.session, Ordering::SeqCst);
        state.session
    }

    /// The act that a form is signed for, as its flow's table has it, and what sort of thing it does.
    fn act(&self, request: &SignRequest) -> Result<(&ActRow, Effect), Unsigned> {
        let table = self.flows.named(request.flow).map(|flow| self.flows.table(flow));
        let named = |row: &&ActRow| row.name == request.act;
        let found = table.and_then(|table| Some((table, table.acts.iter().find(named)?)));
        let Some((table, act)) = found else { return Err(Cause::of("NO_ACT").into()) };
        // a registration takes the place of another one, and calls nothing back
        let calls_back = |other: &A| table.act(*other).leg != Some(Leg::Cost);
        let effect = match act.leg {
            Some(Leg::Cost) if act.undoes.iter().any(calls_back) => Effect::Voids,
            Some(Leg::Cost) => Effect::Registers,
            Some(Leg::Withdraw) => Effect::Credits,
            Some(Leg::Deposit | Leg::Settle | Leg::Refund | Leg::Move | Leg::Quarantine) | None => {
                Effect::Pays
            }
        };
        Ok((act, effect))
    }

    fn signs(&self, request: &SignRequest) -> Result<Signed, Unsigned> {
        let (act, effect) = self.act(request)?;
        let fences = request.purpose == Purpose::Void;
        let session = if fences { self.opens_session() } else { 0 };
        let mut state = self.chain.now();
        let rules = state.rules;
        let actions = match request.purpose {
            Purpose::Pay => {
                let all = request.members.iter().map(|member| paid(act, member));
                all.collect::<Result<Vec<_>, _>>()?
            }
            Purpose::Void => Vec::new(),
        };
        let height = state.height;
        let salt = state.draws.next() % 100_000;
        let name = format!("{}/{}/{height}.{salt}", request.lane, request.lock);
        let name: Arc<[u8]> = name.into_bytes().into();
        let node_signs = rules.locking == Locking::Reference;
        let expires = (!node_signs).then(|| height + rules.validity);
        let tx = Transaction {
            name: name.clone(),
            lane: request.lane.clone(),
            lock: request.lock.clone(),
            purpose: request.purpose,
            effect,
            actions: actions.clone(),
            expires,
            session,
        };
        state.signed.insert(name.clone(), tx);
        let form = Form {
            purpose: request.purpose,
            name: name.clone(),
            bytes: if node_signs { Arc::new([]) } else { name },
            repeatable: !node_signs || fences,
            expires,
            anchor: Some(height),
            reference: node_signs.then(|| format!(r#"{{"reference":"{}"}}"#, request.lock).into()),
        };
        let payment = |paid: Paid| Payment {
            account: Account::Named(paid.account),
            asset: paid.asset,
            amount: paid.amount,
        };
        Ok(Signed { form, pays: actions.into_iter().map(payment).collect() })
    }

    fn sends(&self, attempt: &Attempt) -> Result<(), Cause> {
        let Some(form) = attempt.forms.last() else { return Err(Cause::of("NO_FORM")) };
        let session = self.session.load(Ordering::SeqCst);
        let mut state = self.chain.now();
        let tx = state.signed.get(&form.name).cloned().ok_or(Cause::of("UNKNOWN_FORM"))?;
        state.send(&tx, session);
        // what comes back says nothing
        let loses = state.rules.loses;
        if state.draws.once_in(1, loses) { Err(Cause::of("TIMEOUT")) } else { Ok(()) }
    }

    fn lock(
        &self,
        lane: &str,
        stored: Option<&Lock>,
        first: Option<&Record>,
    ) -> Result<Lock, Cause> {
        let locking = self.chain.now().rules.locking;
        match locking {
            Locking::Nonce => {
                if self.chain.has_deleted(lane) {
                    return Err(Cause::of(KEY_ABSENT));
                }
                let [one, other] = self.chain.head_nonces(lane);
                let ahead = if one > other { one } else { other };
                let stored = stored.map(|lock| lock.0.parse().map_err(|_| Cause::of("BAD_LOCK")));
                let next = match stored.transpose()? {
                    Some(last) if ahead > last => {
                        return Err(Cause::because(LANE_AHEAD, format!("the chain has {ahead}")));
                    }
                    Some(last) => last + 1,
                    // a key that was never used here begins above what the chain has
                    None => ahead + 1,
                };
                Ok(Lock::from(next.to_string().as_str()))
            }
            Locking::Marker | Locking::Reference => {
                let mut state = self.chain.now();
                let (height, salt) = (state.height, state.draws.next());
                let id = first.map(|record| record.id).unwrap_or_default();
                Ok(Lock::from(format!("{id}.{height}.{salt:016x}").as_str()))
            }
        }
    }
}

/// What a transaction of this act does for this member.
fn paid(act: &ActRow, record: &Record) -> Result<Paid, Unsigned> {
    let party = match (act.leg, act.side) {
        (Some(Leg::Move), _) | (_, Side::Target) => record.target(),
        (_, Side::Source) => record.source(),
    };
    let account = match (act.leg, &party.account) {
        (Some(Leg::Quarantine), _) => QUARANTINE.into(),
        (_, Account::Named(account)) => account.clone(),
        (_, Account::User(_) | Account::Unnamed) => return Err(Cause::of("NO_ACCOUNT").into()),
    };
    let moved = act.share.and_then(|share| record.share(share));
    let (asset, amount) = moved.unwrap_or((party.asset, Amount::ZERO));
    Ok(Paid { id: record.id, account, asset, amount })
}

impl Chain for SimPort {
    fn id(&self) -> ChainId {
        self.chain.now().rules.id
    }

    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        Box::pin(async move {
            breath().await;
            match self.bound.get() {
                Some(bound) if *bound != self.shown() => Err(Cause::of(WRONG_CHAIN)),
                Some(_) | None => Ok(Some(self.shown())),
            }
        })
    }

    fn bind(&self, identity: &ChainIdentity) {
        self.bound.get_or_init(|| identity.clone());
    }

    fn cap(&self, _: &str) -> usize {
        self.chain.now().rules.cap
    }

    fn lanes(&self, _: &str) -> Vec<Arc<str>> {
        self.chain.now().lane_names().collect()
    }

    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(async move {
            self.reached().await?;
            self.lock(lane, stored, members.first())
        })
    }

    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(async move {
            self.reached().await?;
            self.chain.ahead(marks, self.floor.load(Ordering::SeqCst))
        })
    }

    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        Box::pin(async move {
            self.reached().await?;
            self.chain.new_lanes(lanes, since, self.floor.load(Ordering::SeqCst))
        })
    }

    fn is_trouble(&self, cause: &Cause) -> bool {
        matches!(cause.class, "TIMEOUT" | "NODES_DISAGREE" | WRONG_CHAIN)
    }

    fn raise_floor(&self, height: u64) {
        self.floor.fetch_max(height, Ordering::SeqCst);
    }

    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(async move {
            self.reached().await?;
            self.chain.foreign(mark)
        })
    }

    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        Box::pin(async move {
            self.reached().await?;
            Ok(self.chain.lanes_on_chain())
        })
    }

    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        Box::pin(async move {
            self.reached().await?;
            self.chain.lane_presence(lane, since)
        })
    }

    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        Box::pin(async move {
            self.reached().await?;
            self.chain.returned(gone)
        })
    }

    /// The simulated chain takes no fees.
    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            self.reached().await?;
            self.signs(request)
        })
    }

    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            if let Err(cause) = self.reached().await {
                return vec![Err(cause); attempts.len()];
            }
            attempts.iter().map(|attempt| self.sends(attempt)).collect()
        })
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(async move {
            if let Err(cause) = self.reached().await {
                return vec![AttemptProof::NotYet(cause); attempts.len()];
            }
            let proof = |attempt: &Attempt| {
                let names: Vec<_> = attempt.forms.iter().map(|form| form.name.clone()).collect();
                let views = self.chain.views(&attempt.lane, &names);
                let facts = BlockFacts {
                    spent: |upto| self.chain.spent_lock(&attempt.lane, &attempt.lock, upto),
                    is_to_blame: |name: &[u8], at| self.chain.now().is_to_blame(name, at),
                };
                prove(&self.chain.rules(), attempt, &views, facts)
            };
            attempts.iter().map(proof).collect()
        })
    }
}
