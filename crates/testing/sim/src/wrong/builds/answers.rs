//! Wrong builds of the answers to calls: each takes an answer for another one, or makes one up.

use super::{Lie, held, woven};
use crate::wrong::wrapper::{LedgerMutation, MutatedLedger};
use kernel::answer::{Answer, Evidence, Receipt};
use kernel::flow::life::Leg;
use kernel::money::Asset;
use kernel::operation::{Key, Known, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::{AccountStatus, Ledger, Reply, Whose};
use kernel::record::Account;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use testkit::wrapper::{LedgerWrapper, Wrapper};

/// Maximum number of unknown answers; after one more [`gives_up`] calls a leg failed.
const MOST: u32 = 3;

/// FAILED at the most retries: what stays unknown for long is taken for a refusal.
pub(super) fn gives_up() -> Lie {
    Lie::near(|_, inner| {
        Arc::new(Wrapper(MutatedLedger { inner, mutation: Box::new(GivesUp(Mutex::default())) }))
    })
}

struct GivesUp(Mutex<BTreeMap<Key, u32>>);

impl LedgerMutation for GivesUp {
    fn answer(&self, op: &Op, answer: Answer) -> Answer {
        let Answer::Unknown(_) = &answer else { return answer };
        let mut tried = held(&self.0);
        let tries = tried.entry(op.key).or_insert(0);
        *tries += 1;
        let over = *tries > MOST && op.key.leg.refusable();
        if over { refusal("MAX_RETRIES") } else { answer }
    }
}

fn refusal(code: &'static str) -> Answer {
    Answer::Rejected(Evidence::code(code), Receipt::seq(0))
}

/// The strict-FSM source's check for work that is done (§5.2), `state >= state after it`, by the
/// numbers of the states: COMPENSATING is above ROLLED_BACK.
pub(super) fn by_number() -> Lie {
    Lie::near(|_, inner| Arc::new(Wrapper(ByNumber(inner))))
}

struct ByNumber(Arc<dyn Ledger>);

impl LedgerWrapper for ByNumber {
    fn inner(&self) -> &dyn Ledger {
        &*self.0
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let processed = |op: &Op| match op.key.leg {
            Leg::Withdraw => 10 >= 20,
            Leg::Deposit => 30 >= 40,
            Leg::Refund => -20 >= -30,
            Leg::Settle | Leg::Move | Leg::Quarantine | Leg::Cost => false,
        };
        let own = ops.iter().map(|op| processed(op).then(|| Answer::Done(Receipt::seq(0))));
        let own = own.collect();
        Box::pin(woven(self, known, ops, own))
    }
}

/// The engine looks at the asset again after the claim, and calls what it finds a refusal.
pub(super) fn checks_again() -> Lie {
    Lie::near(|_, inner| Arc::new(Wrapper(ChecksAgain { inner, assets: Mutex::default() })))
}

struct ChecksAgain {
    inner: Arc<dyn Ledger>,
    assets: Mutex<Vec<Asset>>,
}

impl LedgerWrapper for ChecksAgain {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn know(&self, assets: &[Asset]) {
        *held(&self.assets) = assets.to_vec();
        self.inner.know(assets);
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let assets = held(&self.assets).clone();
        let check = |op: &Op| {
            let asset = assets.iter().find(|asset| asset.id == op.asset)?;
            let code = asset.usable().and_then(|()| asset.limits(op.amount)).err()?;
            op.key.leg.refusable().then(|| refusal(code.name()))
        };
        let own = ops.iter().map(check).collect();
        Box::pin(woven(self, known, ops, own))
    }
}

/// A refund into an account that is not active is refused, and the refusal is stored.
pub(super) fn refuses_refunds() -> Lie {
    let refused = Arc::default();
    Lie::near(move |_, inner| {
        Arc::new(Wrapper(RefusesRefunds { inner, refused: Arc::clone(&refused) }))
    })
}

struct RefusesRefunds {
    inner: Arc<dyn Ledger>,
    refused: Arc<Mutex<BTreeSet<Key>>>,
}

impl LedgerWrapper for RefusesRefunds {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            for op in ops.iter().filter(|op| op.key.leg == Leg::Refund) {
                let Account::User(user) = op.account else { continue };
                let reply = self.inner.accounts(Whose::User(user)).await;
                if let Reply::Answered(_, holdings) = reply
                    && holdings.iter().any(|holding| holding.status != AccountStatus::Active)
                {
                    held(&self.refused).insert(op.key);
                }
            }
            let refused = |op: &Op| held(&self.refused).contains(&op.key);
            let own = ops.iter().map(|op| refused(op).then(|| refusal("ACCOUNT_FROZEN")));
            let own = own.collect();
            woven(self, known, ops, own).await
        })
    }
}
