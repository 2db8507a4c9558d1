//! The port to metrics: what the engine and the store measure.

use crate::code::Code;
use crate::ids::{AssetId, Millis};
use crate::operators::Severity;

/// Something that was measured. Every label is of bounded cardinality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen<'a> {
    /// The journal made a group of units durable.
    Commit {
        /// How long the write and its sync took.
        nanos: u64,
        /// How many units it carried.
        units: usize,
    },
    /// A call was answered.
    Step {
        /// The stored name of the flow.
        flow: &'a str,
        /// The name of the act in the flow's table.
        act: &'a str,
        /// What was answered: `done`, `rejected`, `dead` or `unknown`.
        answer: &'a str,
        /// How long the call took.
        nanos: u64,
    },
    /// A transfer was opened.
    Opened {
        /// The stored name of the flow.
        flow: &'a str,
        /// The name of the state that it begins in.
        state: &'a str,
    },
    /// A transfer reached its end.
    Ended {
        /// The stored name of the flow.
        flow: &'a str,
        /// The name of the state that it ended in.
        state: &'a str,
        /// From its opening to its end, by the journal's time.
        took: Millis,
    },
    /// A station took a batch.
    Batch {
        /// `intake`, or the flow, state and system that the station works for.
        station: &'a str,
        /// The number of transfers in the batch.
        items: usize,
    },
    /// How many records wait at a station.
    Queue {
        /// `intake`, or the flow, state and system that the station works for.
        station: &'a str,
        /// The number of transfers that wait there now.
        items: usize,
    },
    /// An unknown answer: the call is made again later.
    Retry {
        /// The stored name of the flow.
        flow: &'a str,
        /// The name of the act that is made again.
        act: &'a str,
    },
    /// A request was refused before anything was opened.
    Refused {
        /// The code that the caller got.
        code: Code,
    },
    /// A client's key came again with the same body.
    Replay {
        /// The stored name of the flow.
        flow: &'a str,
    },
    /// A client's key came again with another body.
    Conflict {
        /// The stored name of the flow.
        flow: &'a str,
    },
    /// How many cases of a kind are open, by the journal.
    Cases {
        /// The listed word of the cases' kind.
        kind: &'a str,
        /// How much they matter.
        severity: Severity,
        /// The number of those that are open.
        open: usize,
    },
    /// How many open transfers wait for a clear answer of a system.
    UnknownOpen {
        /// The stored name of the flow.
        flow: &'a str,
        /// The name of the ledger or chain that is asked.
        system: &'a str,
        /// The number of those that are open.
        open: usize,
    },
    /// A conservation round ended.
    Round {
        /// The asset that the round added up.
        asset: AssetId,
        /// What does not add up, in base units.
        drift: i128,
        /// Money between two ledgers, in base units.
        in_flight: i128,
    },
    /// A group was given a message.
    Consumed {
        /// The name of the group of consumers.
        group: &'a str,
        /// What became of it: `moved`, `seen`, `passed`, `failed`, `poison`, `parked`, `audited`, `gap`,
        /// `mismatch`.
        outcome: &'a str,
    },
    /// A message of the outbox was sent to the bus.
    Published {
        /// Whether the bus has it for sure.
        sure: bool,
    },
    /// A message can never be consumed.
    DeadLetter {
        /// The topic of dead letters.
        topic: &'a str,
        /// The reason code of the failure.
        reason: &'a str,
    },
    /// A dead letter was sent back to its topic.
    Redriven {
        /// The topic of dead letters.
        topic: &'a str,
        /// Whether the bus has it for sure.
        sure: bool,
    },
    /// What waits in the outbox.
    Outbox {
        /// How many messages of the partition wait.
        messages: u64,
        /// How long the oldest of them has waited.
        age: Millis,
    },
    /// How far a group is behind in a partition.
    Lag {
        /// The name of the group of consumers.
        group: &'a str,
        /// The topic that the group consumes.
        topic: &'a str,
        /// The number of the partition.
        partition: u32,
        /// How many messages are not committed.
        messages: u64,
        /// How long the oldest of them has waited.
        age: Millis,
    },
    /// What a group has parked.
    Parked {
        /// The name of the group of consumers.
        group: &'a str,
        /// How many keys of it are parked.
        keys: u64,
        /// How many messages of them there are.
        messages: u64,
    },
    /// Dead letters that did not go back yet.
    DeadLetters {
        /// The topic of dead letters.
        topic: &'a str,
        /// How many dead letters wait there.
        messages: u64,
        /// How long the oldest of them has waited.
        age: Millis,
    },
    /// Whether persons paused a group.
    GroupPaused {
        /// The name of the group of consumers.
        group: &'a str,
        /// Whether an operator paused the group.
        paused: bool,
    },
    /// A provider of a chain was called.
    ChainCall {
        /// The name of the chain as settings and cases have it.
        chain: &'a str,
        /// Host and port of the provider, which the settings name.
        provider: &'a str,
        /// The method of its API.
        method: &'a str,
        /// `answered`, `refused`, or the class of the cause for which there was no answer.
        outcome: &'a str,
        /// How long the call took.
        nanos: u64,
    },
    /// The state of one lane of a chain that this process may use.
    Lane {
        /// The name of the chain as settings and cases have it.
        chain: &'a str,
        /// The key or account that the settings name.
        lane: &'a str,
        /// How long its attempt has been open here, by the journal's time; `None`: it is free.
        open_for: Option<Millis>,
    },
    /// How many lanes of a chain that this process may use are in that state.
    Lanes {
        /// The name of the chain as settings and cases have it.
        chain: &'a str,
        /// How many carry no attempt of this process.
        free: usize,
        /// How many carry one.
        busy: usize,
    },
    /// What the account that pays for transactions has in the chain's own coin, as it was read last.
    FeeBalance {
        /// The name of the chain as settings and cases have it.
        chain: &'a str,
        /// In the coin's smallest unit.
        units: u128,
        /// The decimals of the coin.
        precision: u8,
    },
    /// What the account of a chain has of an asset that it pays, as it was read last.
    ChainBalance {
        /// The name of the chain as settings and cases have it.
        chain: &'a str,
        /// The asset of the transfers that are paid with it.
        asset: AssetId,
        /// In base units of that asset.
        units: u128,
    },
    /// No money moves, or again.
    Halted(bool),
}

/// Takes measurements. Cheap; called from hot paths.
pub trait Meter: Send + Sync {
    /// Takes one measurement; it must not block.
    fn see(&self, seen: Seen<'_>);
}

/// A meter that drops each measurement.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn see(&self, _: Seen<'_>) {}
}
