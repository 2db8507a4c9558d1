//! An attempt: one intent on a chain, whose members are paid under one lock of the chain.

use crate::answer::{Answer, Cause, Evidence};
use crate::flow::table::S;
use crate::ids::{ChainId, FlowId, Millis};
use crate::record::Record;
use std::fmt;
use std::sync::Arc;

/// Names an attempt on a chain; drawn once by the worker that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub u128);

/// What a chain spends at most once in a lane, as a text: a nonce in decimal, a marker or a
/// reference in hex. A number of SQL holds neither a reference of 64 bits nor a marker of 32 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock(pub Arc<str>);

impl Lock {
    /// Parts the lock of the chain from what is stored beside the attempt that had it first.
    const BESIDE: char = '/';

    /// The name under which another attempt of the same lock is stored: what a transaction of another program
    /// did with a lock of which an attempt of ours is dead.
    #[must_use]
    pub fn beside(&self, what: impl fmt::Display) -> Self {
        Self(format!("{}{}{what}", self.on_chain(), Self::BESIDE).into())
    }

    /// The lock as the chain has it.
    pub fn on_chain(&self) -> &str {
        self.0.split(Self::BESIDE).next().unwrap_or(&self.0)
    }
}

impl From<&str> for Lock {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a form does with the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Pays the members: all of them, in their order.
    Pay,
    /// Takes the lock and makes no payment: a tombstone, a fence, a self-transfer.
    Void,
}

/// One way to spend the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Whether it pays, and whom.
    pub purpose: Purpose,
    /// Its name on the chain: a hash of any length.
    pub name: Arc<[u8]>,
    /// The signed bytes; empty where the node signs.
    pub bytes: Arc<[u8]>,
    /// Identical bytes may go out again. False where a repeat is a second effect.
    pub repeatable: bool,
    /// The height, on the chain's own clock, after which it can no longer land; `None`: it can for
    /// ever.
    pub expires: Option<u64>,
    /// The height that it was signed against, where it names one.
    pub anchor: Option<u64>,
    /// Where the node signs: what the form is found by, as a JSON text of reference, head sequence
    /// and head txid.
    pub reference: Option<Arc<str>>,
}

/// One intent under one lock (nonce, marker, reference). It may hold several forms; the lock lets
/// at most one of them land.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The name under which the journal stores it.
    pub id: AttemptId,
    /// The chain that the attempt is made on.
    pub chain: ChainId,
    /// The flow of its members.
    pub flow: FlowId,
    /// The sending state in which its members stand.
    pub state: S,
    /// [`Attempt::FIRST`] where it is new; raised by every head and every form.
    pub version: u32,
    /// The key or account whose sequence the lock is taken from.
    pub lane: Arc<str>,
    /// What the chain spends at most once in the lane.
    pub lock: Lock,
    /// The transfers that it pays, in order.
    pub members: Arc<[Record]>,
    /// What was signed under the lock, in the order of signing.
    pub forms: Vec<Form>,
    /// A form may be on the wire.
    pub sent: bool,
    /// When to look again; `None` while a worker looks after it, and where it is closed.
    pub due_at: Option<Millis>,
    /// When it was closed, for ever.
    pub closed: Option<Millis>,
}

/// What a proof says of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberVerdict {
    /// `Done`, `Rejected` or `Dead`: `Unknown` is no proof, and [`Attempt::admit`] turns it away.
    pub answer: Answer,
    /// It spoiled the attempt: send it alone next time.
    pub alone: bool,
}

impl Attempt {
    /// The version of a new one: a guard of version 0 says that there is none.
    pub const FIRST: u32 = 1;

    /// The verdicts of an attempt that can never land: each member is dead.
    pub fn dead(&self, why: &Evidence) -> Vec<MemberVerdict> {
        let verdict = MemberVerdict { answer: Answer::Dead(why.clone()), alone: false };
        vec![verdict; self.members.len()]
    }

    /// Checks the verdicts of a chain port against the law (`design.md` §2): one answer for each member;
    /// all members share their fate; a refusal comes only from an attempt of one.
    ///
    /// # Errors
    /// The cause for which the verdicts are no proof; the attempt stays open.
    pub fn admit(&self, verdicts: &[MemberVerdict]) -> Result<(), Cause> {
        if verdicts.len() != self.members.len() || verdicts.is_empty() {
            return Err(Cause::of("VERDICT_COUNT"));
        }
        let count = |f: fn(&Answer) -> bool| verdicts.iter().filter(|v| f(&v.answer)).count();
        if count(|a| matches!(a, Answer::Unknown(_))) > 0 {
            return Err(Cause::of("VERDICT_UNKNOWN"));
        }
        if count(|a| matches!(a, Answer::Rejected(..))) > 0 && verdicts.len() > 1 {
            return Err(Cause::of("REJECTED_IN_COMPANY"));
        }
        let done = count(|a| matches!(a, Answer::Done(_)));
        if done != 0 && done != verdicts.len() {
            return Err(Cause::of("TORN_ATTEMPT"));
        }
        Ok(())
    }
}
