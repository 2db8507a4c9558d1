//! Shows a ledger in use as a fresh one: with users, keys and sums of its own, which begin at nothing.

use kernel::answer::{Answer, Cause};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, Millis, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use kernel::ports::sending::SendPermission;
use kernel::record::{Account, System};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The suite's ids count milliseconds from here on; those below belong to what a fresh ledger is given.
const FIRST_MS: Millis = 1_699_999_999_000;
/// The first deposit of a view: below every id of the suite.
const FUNDING_MS: Millis = FIRST_MS + 500;
/// The random part of the suite's ids.
const RANDOM: u128 = 7;
/// How far apart two views of a run are, in an id, and two ids of a view.
const STRIDE: [u32; 2] = [60, 20];
/// How many users a run has, and how many a view has.
const USERS: [u64; 2] = [1_000_000, 1_000];

/// A view of a ledger. Its users and keys are the suite's, moved to numbers that no other view has; of the sums it
/// shows what was added since it was opened. It holds as long as no other caller uses the ledger.
pub struct FreshView {
    ledger: Arc<dyn Ledger>,
    /// The view's first id.
    first_id: u128,
    /// The number that is added to a user's.
    users: u64,
    /// What stands before the suite's keys of status changes.
    status_keys: String,
    totals: Vec<(AssetId, Totals)>,
    /// The highest HALT that the ledger was told of before, where it keeps their numbers.
    halt: u64,
    /// The users that were named, for a ledger that lists none.
    named: Mutex<BTreeSet<UserId>>,
    /// The contract does not demand it: else the view lists those that were named.
    lists_accounts: bool,
}

impl fmt::Debug for FreshView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreshView").field("users", &self.users).finish_non_exhaustive()
    }
}

/// The suite's permission to send, with HALTs as numbers of the ledger.
struct Moved {
    permission: Option<Arc<dyn SendPermission>>,
    halt: u64,
}

impl SendPermission for Moved {
    fn may_send(&self, system: System, transfers: &[Id]) -> bool {
        self.permission.as_ref().is_none_or(|one| one.may_send(system, transfers))
    }

    fn last_halt(&self) -> u64 {
        let suite = self.permission.as_ref().map_or(0, |one| one.last_halt());
        self.halt.saturating_add(suite)
    }
}

impl FreshView {
    /// The `n`-th view of a run that began at this time. Runs begin at times that differ, and a later view has higher
    /// ids and users.
    ///
    /// # Errors
    /// The cause where the ledger does not say who it is or what its sums are.
    pub async fn open(ledger: Arc<dyn Ledger>, began: Millis, n: u64) -> Result<Self, Cause> {
        let [view, _] = STRIDE;
        let first_id = Id::new(began, 0).0 | (u128::from(n) << view);
        let users = Self::first_user(began, n);
        let (known, totals) = answered(ledger.totals().await)?;
        let (_, halt) = answered(ledger.note_halt(known, 0).await)?;
        let halt = halt.unwrap_or(0);
        let permission: Arc<dyn SendPermission> = Arc::new(Moved { permission: None, halt });
        ledger.ask_before_sending(&permission);
        let listed = ledger.accounts(Whose::After(users, 1)).await;
        let lists_accounts = matches!(listed, Reply::Answered(..));
        let status_keys = format!("check-{began}-{n}-");
        let named = Mutex::default();
        Ok(Self { ledger, first_id, users, status_keys, totals, halt, named, lists_accounts })
    }

    /// The number at the ledger of the user whom the suite calls 0, in the `n`-th view of a run.
    pub const fn first_user(began: Millis, n: u64) -> u64 {
        let [run, view] = USERS;
        began.wrapping_mul(run).wrapping_add(n.wrapping_mul(view))
    }

    /// Gives user 1 these funds. What the ledger does not do shows in what user 1 begins with.
    pub async fn fund(&self, funds: Vec<(AssetId, Amount)>) {
        let deposit = |(asset, amount): (AssetId, Amount)| {
            let id = Id::new(FUNDING_MS + u64::from(asset.0), RANDOM);
            let key = Key { id, leg: Leg::Deposit };
            Op { key, account: Account::User(UserId(1)), other: None, asset, amount }
        };
        if let Reply::Answered(known, ()) = self.hello().await {
            self.execute(known, funds.into_iter().map(deposit).collect()).await;
        }
    }

    fn id(&self, id: Id) -> Id {
        let [_, each] = STRIDE;
        Id(self.first_id | (u128::from(id.at().wrapping_sub(FIRST_MS)) << each) | RANDOM)
    }

    fn suites_id(&self, id: Id) -> Id {
        let [view, each] = STRIDE;
        match id.0 ^ self.first_id {
            within if within >> view == 0 => {
                let ms = u64::try_from(within >> each).unwrap_or(u64::MAX);
                Id::new(ms.wrapping_add(FIRST_MS), RANDOM)
            }
            _ => id,
        }
    }

    /// No user has the number 0, in a view either.
    const fn user(&self, user: UserId) -> UserId {
        if user.0 == 0 { user } else { UserId(user.0.wrapping_add(self.users)) }
    }

    const fn suites_user(&self, user: UserId) -> UserId {
        UserId(user.0.wrapping_sub(self.users))
    }

    fn key(&self, key: Key) -> Key {
        Key { id: self.id(key.id), ..key }
    }

    fn op(&self, op: &Op) -> Op {
        let account = match &op.account {
            Account::User(user) => {
                let user = self.user(*user);
                self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(user);
                Account::User(user)
            }
            other @ (Account::Named(_) | Account::Unnamed) => other.clone(),
        };
        Op { key: self.key(op.key), account, ..op.clone() }
    }

    fn suites_operation(&self, operation: Operation) -> Operation {
        let mut op = operation.op;
        op.key.id = self.suites_id(op.key.id);
        if let Account::User(user) = &mut op.account {
            *user = self.suites_user(*user);
        }
        Operation { op, ..operation }
    }

    fn suites_stored(&self, stored: Stored) -> Stored {
        match stored {
            Stored::Found(operation) => Stored::Found(self.suites_operation(operation)),
            Stored::Nothing => Stored::Nothing,
        }
    }

    /// The contract demands an order of users, not one of a user's assets, which the suite expects.
    fn suites_holdings(&self, holdings: Vec<Holding>) -> Vec<Holding> {
        let user = |holding: Holding| Holding { user: self.suites_user(holding.user), ..holding };
        let mut holdings: Vec<Holding> = holdings.into_iter().map(user).collect();
        for one_users in holdings.chunk_by_mut(|one, next| one.user == next.user) {
            one_users.sort_by_key(|holding| holding.asset);
        }
        holdings
    }

    /// The accounts of named users above this one, each asked for by itself.
    async fn named_above(&self, user: UserId, limit: usize) -> Reply<Vec<Holding>> {
        let named: Vec<UserId> = {
            let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
            named.iter().filter(|one| **one > user).copied().collect()
        };
        let mut reply = self.ledger.hello().await.map(|()| Vec::new());
        for user in named {
            let Reply::Answered(_, found) = &mut reply else { return reply };
            match self.ledger.accounts(Whose::User(user)).await {
                Reply::Answered(_, holdings) => found.extend(holdings),
                other @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => return other,
            }
        }
        reply.map(|mut found| {
            found.truncate(limit);
            found
        })
    }
}

/// The answer of a ledger.
fn answered<T>(reply: Reply<T>) -> Result<(Known, T), Cause> {
    match reply {
        Reply::Answered(known, answer) => Ok((known, answer)),
        Reply::OtherLedger(_) => Err(Cause::of("WRONG_LEDGER")),
        Reply::NoAnswer(cause) => Err(cause),
    }
}

impl Ledger for FreshView {
    fn id(&self) -> LedgerId {
        self.ledger.id()
    }

    fn own_world(&self) -> bool {
        self.ledger.own_world()
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        self.ledger.hello()
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let ops: Vec<Op> = ops.iter().map(|op| self.op(op)).collect();
        self.ledger.execute(known, ops.into())
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        let key = self.key(key);
        Box::pin(async move {
            self.ledger.query(known, key).await.map(|stored| self.suites_stored(stored))
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        let key = self.key(key);
        Box::pin(async move {
            self.ledger.fence(known, key).await.map(|stored| self.suites_stored(stored))
        })
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        let before = |asset: AssetId| {
            let mut totals = self.totals.iter();
            totals.find(|(one, _)| *one == asset).map(|(_, totals)| *totals).unwrap_or_default()
        };
        let since = move |(asset, now): (AssetId, Totals)| {
            let before = before(asset);
            let totals = Totals {
                users: now.users.wrapping_sub(before.users),
                frozen: now.frozen.wrapping_sub(before.frozen),
                clearing: now.clearing.wrapping_sub(before.clearing),
                world: now.world.wrapping_sub(before.world),
            };
            (asset, totals)
        };
        Box::pin(async move {
            let reply = self.ledger.totals().await;
            reply.map(|totals| totals.into_iter().map(since).collect())
        })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        Box::pin(async move {
            let reply = self.ledger.operations(after, limit).await;
            reply.map(|all| all.into_iter().map(|one| self.suites_operation(one)).collect())
        })
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        let open: Vec<Id> = open.iter().map(|id| self.id(*id)).collect();
        self.ledger.horizon(known, self.id(id), open.into())
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        Box::pin(async move {
            let reply = match whose {
                Whose::User(user) => self.ledger.accounts(Whose::User(self.user(user))).await,
                Whose::After(after, limit) => {
                    let after = self.users.wrapping_add(after);
                    match self.lists_accounts {
                        true => self.ledger.accounts(Whose::After(after, limit)).await,
                        false => self.named_above(UserId(after), limit).await,
                    }
                }
            };
            reply.map(|holdings| self.suites_holdings(holdings))
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        let key = format!("{}{}", self.status_keys, change.key).into();
        self.ledger.status(known, StatusChange { user: self.user(change.user), key, ..change })
    }

    fn note_halt(&self, known: Known, number: u64) -> Fut<'_, Reply<Option<u64>>> {
        let told = self.halt.saturating_add(number);
        Box::pin(async move {
            let reply = self.ledger.note_halt(known, told).await;
            reply.map(|highest| highest.map(|highest| highest.saturating_sub(self.halt)))
        })
    }

    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        let moved = Moved { permission: Some(permission.clone()), halt: self.halt };
        let permission: Arc<dyn SendPermission> = Arc::new(moved);
        self.ledger.ask_before_sending(&permission);
    }
}
