//! The port to a chain, for the engine's gatherers and provers: a chain spends each lock at most once, and
//! the port says what a form pays and what is proven of an attempt.
//!
//! Nothing that a chain or its node answers decides anything but an [`AttemptProof`]. Each method ends its
//! own waits; where it knows nothing, it says so.

use super::Fut;
use super::sending::SendPermission;
use crate::answer::{Cause, Evidence};
use crate::attempt::{Attempt, Form, Lock, MemberVerdict, Purpose};
use crate::ids::{AssetId, ChainId, Id, Millis};
use crate::money::Amount;
use crate::operators::Severity;
use crate::record::{Account, Record};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The request to sign a form of an attempt.
#[derive(Debug, Clone)]
pub struct SignRequest {
    /// The stored name of the flow.
    pub flow: &'static str,
    /// The name of the act in the flow's table, e.g. `ft_transfer`.
    pub act: &'static str,
    /// The key or account whose sequence the lock is taken from.
    pub lane: Arc<str>,
    /// What the chain spends at most once in the lane.
    pub lock: Lock,
    /// The transfers to pay, in order: of one asset and one source account.
    pub members: Arc<[Record]>,
    /// Whether they are paid, or the lock is taken without a payment.
    pub purpose: Purpose,
    /// The forms that were signed under the lock before.
    pub forms: Vec<Form>,
}

/// What a form pays to one member, as the port reads it out of the signed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// The account at the chain that is paid, or registered.
    pub account: Account,
    /// The asset that is paid.
    pub asset: AssetId,
    /// How much of it; zero for an act that moves none of the transfer's money.
    pub amount: Amount,
}

/// A signed form, and its payments.
#[derive(Debug, Clone)]
pub struct Signed {
    /// The form, which may be sent once it is stored.
    pub form: Form,
    /// One payment for each member from the first, in their order. Members without one did not fit: they
    /// wait for the next attempt. A form that replaces another under its lock pays all; one that only takes
    /// the lock pays none.
    pub pays: Vec<Payment>,
}

/// Why nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    /// The cause for all members, or for one of them.
    pub cause: Cause,
    /// The place of the member that cannot be signed for, where it is one: the others go on without it.
    pub culprit: Option<usize>,
}

impl From<Cause> for Unsigned {
    fn from(cause: Cause) -> Self {
        Self { cause, culprit: None }
    }
}

/// The result of a look at the chain for an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptProof {
    /// One verdict for each member, in order. Closes the attempt.
    Closed(Vec<MemberVerdict>),
    /// Nothing is clear: look again later, for ever.
    NotYet(Cause),
    /// Sign another form under the same lock, store it, then send it.
    Form(Purpose),
    /// A transaction that is no form of the attempt spent the lock. Closes the attempt: every member is dead.
    SpentElsewhere(SpentLock),
}

/// The proof that a lock was spent by a transaction that is no form of its attempt, so that no form can land.
/// Two providers at least show the block alike, with every transaction of the lane in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentLock {
    /// The block and its transactions, stored with the verdict of each member.
    pub evidence: Evidence,
    /// The last lock that the lane had spent before that block, and the height of the block before it. What
    /// the lane spent from there on is still to be read: it may have paid transfers.
    pub before: LaneStart,
    /// The last lock of the lane that the block spent, and the height of the block.
    pub left: LaneSpent,
}

/// The class of a cause that stops the pool: the chain has spent locks of a lane beyond every attempt that
/// is stored, so its key is used elsewhere.
pub const LANE_AHEAD: &str = "LANE_AHEAD";

/// The class of a cause for which a lane has no next lock: the account on the chain does not have its key.
pub const KEY_ABSENT: &str = "KEY_ABSENT";

/// The class of a cause of *not yet* that stops the pool: a final transaction did less, or another thing, than
/// its members say.
pub const EVENTS_MISMATCH: &str = "EVENTS_MISMATCH";
/// The class of a cause of *not yet* that stops the pool: a stored form is not of its attempt.
pub const FOREIGN_FORM: &str = "FOREIGN_FORM";
/// The class of a cause of *not yet*: the lock is spent, and no form of the attempt is found.
pub const LOCK_SPENT: &str = "LOCK_SPENT";

/// The class of a cause for which nothing at a chain is believed, signed or sent: another chain answers
/// than the settings or the journal name.
pub const WRONG_CHAIN: &str = "WRONG_CHAIN";
/// The class of a cause for which nothing at a chain is believed, signed or sent: the journal is not bound
/// to a chain yet, so no chain can be told from another.
pub const CHAIN_UNBOUND: &str = "CHAIN_UNBOUND";

/// The identity of a chain: two networks differ in their names, and two chains of one name in their first
/// block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainIdentity {
    /// The name of the network, as its nodes spell it.
    pub name: Arc<str>,
    /// The hash of its first block, as its nodes spell it.
    pub genesis: Arc<str>,
}

impl fmt::Display for ChainIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, genesis } = self;
        write!(f, "{name} (genesis {genesis})")
    }
}

/// Whether the answers of a provider count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderState {
    /// It shows the chain that the journal is bound to, and answers.
    Usable,
    /// It showed another chain when it answered last: none of its answers counts.
    WrongChain,
    /// It is not known which chain it shows: it does not answer, or the journal is not bound yet.
    Unknown,
}

/// One provider of a chain, as this process saw it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderReport {
    /// The host and the port of its address.
    pub provider: Arc<str>,
    /// Whether its answers count.
    pub state: ProviderState,
    /// The chain that it showed last; `None`: it never did.
    pub shows: Option<ChainIdentity>,
    /// How many requests in a row had no answer.
    pub failures: u32,
}

/// A fact about a chain as a whole that operators should know, as its port sees it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concern {
    /// The kind of the case.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The fact, as text for operators.
    pub facts: Arc<str>,
}

/// A lane as the journal has it, for a port that looks for what the chain has beyond it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneMark {
    /// The key or account that it is.
    pub lane: Arc<str>,
    /// The last lock of the lane for which an attempt is stored.
    pub lock: Lock,
    /// A height, on the chain's own clock, at which nothing beyond that lock was spent; `None`: not known.
    pub anchor: Option<u64>,
    /// What the chain was seen to have spent of it before, and at which height. The lane is ahead until its
    /// last stored lock is as high, whatever the chain shows now: its key may be deleted since.
    pub seen: Option<LaneStart>,
}

/// A lane of which the chain has spent more than its mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneSpent {
    /// The key or account that it is.
    pub lane: Arc<str>,
    /// The last lock that the chain has spent of it.
    pub lock: Lock,
    /// The lowest of the final blocks that show that.
    pub height: u64,
}

/// A lane that the journal has no row of, as the chain shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLane {
    /// The key or account that it is.
    pub lane: Arc<str>,
    /// The last lock that the chain has spent of it, and the lowest of the final blocks that show that.
    pub now: LaneStart,
    /// The lock from which on the journal has to know what the lane spent, with a height at which nothing
    /// beyond it was spent. `None`: the blocks that would show it are not kept.
    pub start: Option<LaneStart>,
}

/// The keys of the account that pays, as several providers show them at final blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanesOnChain {
    /// The lowest of the blocks that were looked at.
    pub height: u64,
    /// The lanes that any of the providers shows.
    pub lanes: BTreeSet<Arc<str>>,
    /// How many providers showed all that the account has.
    pub providers: usize,
}

/// A lane that the chain was proven not to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoneLane {
    /// The key or account that it is.
    pub lane: Arc<str>,
    /// The final block without it, as the proof has it.
    pub height: u64,
}

/// The lock with which a lane begins that the chain did not have before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneStart {
    /// The lock that counts as its last one: the chain set it, and no transaction spent it.
    pub lock: Lock,
    /// The final block that added the lane.
    pub height: u64,
}

/// A lane that was proven gone and that the chain has again, as many providers as are needed show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedLane {
    /// The key or account that it is.
    pub lane: Arc<str>,
    /// The lowest of the final blocks that show it.
    pub height: u64,
    /// The lock with which it began; `None`: nothing that can still be asked proves that, so it is not
    /// known whether the lane was used since.
    pub start: Option<LaneStart>,
}

/// The balance of the paying account for the chain's fees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeBalance {
    /// What it has, in the smallest unit.
    pub units: u128,
    /// Nothing is signed while it has less.
    pub floor: u128,
    /// The decimals of the unit.
    pub precision: u8,
}

/// Whether a lane's key can still sign, by the chain's final blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LanePresence {
    /// The account has it, as one provider or more show.
    There {
        /// The lowest of the blocks that were looked at.
        height: u64,
        /// How many providers show it.
        shown_by: usize,
        /// How many were asked and answered.
        of: usize,
    },
    /// The account does not have it: as many providers as are needed, two at least, show all its keys without
    /// it, and none shows it.
    Absent {
        /// The lowest of the blocks that were looked at.
        height: u64,
        /// How many providers agree.
        providers: usize,
    },
}

/// The payments of one action of a foreign transaction, and the transfer that its memo names. The memo is
/// not evidence: any signer writes what it likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPayment {
    /// The transfer that the memo names.
    pub id: Id,
    /// The receivers and the amounts of its payments.
    pub payment: Payment,
}

/// A transaction under a lane of ours for which no attempt is stored: another program signed it, or the
/// journal was restored to an earlier time. As many providers as are needed show it in a final block, with
/// its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignUse {
    /// The lock that it took.
    pub lock: Lock,
    /// The name under which it is found and proven again. It has no bytes and is never sent.
    pub form: Form,
    /// The account that it paid from.
    pub payer: Account,
    /// What it pays to transfers, in the sequence of its actions, where each of its actions is a payment; else
    /// `None`.
    pub pays: Option<Vec<ForeignPayment>>,
    /// Every text in it that could be a transfer's id; empty where it had no effect.
    pub names: Vec<Id>,
    /// A description for operators.
    pub facts: Arc<str>,
}

/// An act that a final block carried out for transfers, as the journal has it: whichever process proved that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedOut {
    /// The name of the act in the flow's table.
    pub act: Arc<str>,
    /// The asset of the transfers.
    pub asset: AssetId,
    /// The accounts that it was carried out for.
    pub accounts: BTreeSet<Account>,
    /// The height of the block.
    pub height: u64,
}

/// A chain, as the engine uses it.
pub trait Chain: Send + Sync {
    /// The number of the chain in the settings.
    fn id(&self) -> ChainId;
    /// Asks which chain the providers show now; as many as are needed must agree. It is one that fits the
    /// settings, and from [`Self::bind`] on the bound one. `None`: it is none that could be told from
    /// another.
    ///
    /// # Errors
    /// [`WRONG_CHAIN`] where too many of them show another one; otherwise why it is not known now.
    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>>;
    /// Binds the port to the chain of the journal, once. Before this, every other method answers that
    /// nothing is known ([`CHAIN_UNBOUND`]). From then on no answer of another chain counts, and nothing is
    /// signed for one.
    fn bind(&self, identity: &ChainIdentity);
    /// Has the port ask before the first byte of each transaction that it sends.
    fn ask_before_sending(&self, _permission: &Arc<dyn SendPermission>) {}
    /// Each provider, as this process saw it last. It is read in RAM and waits for nothing.
    fn providers(&self) -> Vec<ProviderReport> {
        Vec::new()
    }
    /// True for a cause that lies with the providers: they do not answer, refuse, or differ. The state of the
    /// chain, of an account or of its money is no such cause, nor is a provider that is some blocks behind.
    fn is_trouble(&self, _: &Cause) -> bool {
        false
    }
    /// The most members of one attempt of this act.
    fn cap(&self, act: &str) -> usize;
    /// For how many milliseconds nothing is signed for a record and this act on any lane, since its asset
    /// cannot be paid now; other assets go on. `None`: it may be signed for. It is read in RAM and waits
    /// for nothing.
    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        let _asked = (act, record);
        None
    }
    /// The keys or accounts from which locks may be taken now, in the order of preference. The journal says
    /// which of them are free.
    fn lanes(&self, act: &str) -> Vec<Arc<str>>;
    /// The lock that the lane's next attempt takes. `stored` is the last one of the lane that the journal
    /// has; its attempt is closed.
    ///
    /// # Errors
    /// [`LANE_AHEAD`] where the chain has spent more of the lane than that; [`KEY_ABSENT`] where the account does not
    /// have its key; otherwise why it is not known.
    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>>;
    /// The lanes of which the chain has spent more than these marks say, each with the last lock that it has
    /// spent. Another worker may have stored more since a mark was read: the caller reads it again.
    ///
    /// # Errors
    /// Why that is not known now: too few providers answer, or they do not agree.
    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>>;
    /// The chain's view of lanes that the journal has no row of; a lane that the chain does not have is left
    /// out. `since`: the highest height that the journal has stored of the chain. A lane counts from the lock that
    /// it had at that height, or with which a later block added it; without `since`, or where no transaction has
    /// spent any lock of it, from the one that it has now. `None`: nothing but the journal spends its lanes.
    ///
    /// # Errors
    /// Why that is not known now: too few providers answer, or they do not agree.
    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>>;
    /// Raises the height below which no answer about the newest final block counts: the journal has stored
    /// something of that height, so a provider that shows an older one is behind.
    fn raise_floor(&self, height: u64);
    /// True where what this port proves is shown alike by two providers at least, so that it may count against a
    /// transfer, in whichever process.
    fn proves_by_several(&self) -> bool {
        true
    }
    /// Notes what the journal knows of acts that the chain carried out for others, before a transfer that was refused
    /// is tried again alone. It is told more than once.
    fn note_carried_out(&self, _: &CarriedOut) {}
    /// What spent the locks of a lane beyond its mark, in the order of the locks and without a gap from the
    /// mark on. It may end before the last one: the next question, from a later mark, goes on.
    ///
    /// # Errors
    /// Why the next one is not known: blocks that no provider keeps, providers that do not agree, one that
    /// stands alone.
    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>>;
    /// The lanes that the chain has now; `None`: its lanes are no keys that can be deleted. A hint for people: it
    /// may be some seconds old.
    ///
    /// # Errors
    /// Why that is not known now.
    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>>;
    /// Whether the chain still has a lane. `since`: a height at which it had it; a block below that says
    /// nothing.
    ///
    /// # Errors
    /// Why that is not known now: too few providers answer, only one is named, or lanes of the chain are no keys
    /// that can be deleted.
    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>>;
    /// Those of these lanes that the chain has again.
    ///
    /// # Errors
    /// Why that is not known now: too few providers answer, or they do not agree.
    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>>;
    /// The balance of the account for fees, by one provider; `None`: the chain has no such balance.
    ///
    /// # Errors
    /// Why that is not known now.
    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>>;
    /// The facts about the chain that operators should know now. They are read in RAM and wait for nothing.
    fn concerns(&self) -> Vec<Concern> {
        Vec::new()
    }
    /// Signs. It may read, and sends nothing: a form that is not stored must not be known to anyone. Where
    /// the node signs, it draws the reference and reads the head of the sequence.
    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>>;
    /// Sends the newest form of each attempt. The replies decide nothing.
    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>>;
    /// Looks at every form and the lock of each attempt, and returns one proof for each. A worker that lost
    /// its lease may still send a form that is not repeatable: a proof that an attempt is dead has fenced
    /// that form.
    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>>;
}
