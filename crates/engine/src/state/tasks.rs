//! Every background task of the engine, in one enum that says what stands still when the task dies.

use kernel::ports::spawn::{OnEnd, Task};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Opens the transfers of create requests. Without it nothing begins.
    Intake,
    /// Calls one system for one state of one flow. Without it money in that state does not move.
    Station,
    /// Looks after the attempts on one chain. Without it money that was sent does not arrive at an end.
    Prover,
    /// Finds out which chain the providers show. Without it nothing is signed for it.
    ChainIdentity,
    /// Finds deposits in a vault. Without it none becomes a transfer.
    VaultWatch,
    /// Finds keys that are used elsewhere. Without it nothing is claimed on its chain.
    LaneWatch,
    /// Brings transfers that are due and that no worker holds. Without it nothing is ever recovered.
    Scanner,
    /// Proves conservation. Without it a loss would go unseen.
    Checker,
    /// Counts all rows and accounts once, beside the checker, which starts it again.
    Count,
    /// Finds out the identity of a ledger, and asks until it answers.
    Adopter,
    /// Acts on what writes have shown. Without it no flow is paused for a contradiction.
    Consequences,
    /// Writes one case or flag, and tries until it is durable.
    Case,
    /// Waits for one write that another session holds up.
    Write,
    /// Seals the audit. Without it changes would go unseen.
    Sealer,
    /// Compares what is open with the thresholds. Without it no operator is asked.
    Monitor,
    /// Finds out whether one ledger answers at all. Without it no case says that it is silent.
    HealthProbe,
    /// Tells callers of ends that another worker brought about. Without it they wait for nothing.
    Waker,
    /// Renews this worker's lease. Without it others take over what it holds.
    Lease,
    /// Executes a person's action, whether or not the person waits for it.
    Action,
    /// Carries out changes of statuses that a process decided and left, and closes proposals whose matter is over.
    /// Without it ledgers never have the statuses.
    LeftOver,
    /// Publishes the outbox. Without it no consumer gets a message.
    Publisher,
    /// Consumes the messages of one group. Without it the transfers of its flow do not move.
    Consumer,
    /// Tries the parked keys of a group that are due. Without it they stay parked.
    ParkedKeys,
    /// Publishes the stored dead letters of one topic.
    DeadLetterTopic,
    /// Publishes the dead letters that wait in the journal. Without it they stay there.
    DeadLetters,
    /// Finds messages that the bus lost. Without it the last message of a transfer could be lost unseen.
    MissingMessages,
    /// Measures what waits in the outbox and on the bus. Without it no case says that a group is behind.
    PipelineWatch,
    /// Raises the horizon below which ledgers forget. Without it their memory grows.
    Horizon,
}

impl Background {
    /// The name of the task and what its end means, for the spawner.
    pub const fn task(self) -> Task {
        let (name, on_end) = match self {
            Self::Intake => ("intake", OnEnd::EndsProcess),
            Self::Station => ("station", OnEnd::EndsProcess),
            Self::Prover => ("prover", OnEnd::EndsProcess),
            Self::ChainIdentity => ("chain_identity", OnEnd::EndsProcess),
            Self::VaultWatch => ("vault_watch", OnEnd::EndsProcess),
            Self::LaneWatch => ("lane_watch", OnEnd::EndsProcess),
            Self::Scanner => ("scanner", OnEnd::EndsProcess),
            Self::Checker => ("checker", OnEnd::EndsProcess),
            Self::Count => ("count", OnEnd::EndsWhenDone),
            Self::Adopter => ("adopter", OnEnd::EndsWhenDone),
            Self::Consequences => ("consequences", OnEnd::EndsProcess),
            Self::Case => ("case", OnEnd::EndsWhenDone),
            Self::Write => ("write", OnEnd::EndsWhenDone),
            Self::Sealer => ("sealer", OnEnd::EndsProcess),
            Self::Monitor => ("monitor", OnEnd::EndsProcess),
            Self::HealthProbe => ("health_probe", OnEnd::EndsProcess),
            Self::Waker => ("waker", OnEnd::EndsProcess),
            Self::Lease => ("lease", OnEnd::EndsProcess),
            Self::Action => ("action", OnEnd::EndsWhenDone),
            Self::LeftOver => ("left_over", OnEnd::EndsProcess),
            Self::Publisher => ("publisher", OnEnd::EndsProcess),
            Self::Consumer => ("consumer", OnEnd::EndsProcess),
            Self::ParkedKeys => ("parked_keys", OnEnd::EndsWhenDone),
            Self::DeadLetterTopic => ("dead_letter_topic", OnEnd::EndsWhenDone),
            Self::DeadLetters => ("dead_letters", OnEnd::EndsProcess),
            Self::MissingMessages => ("missing_messages", OnEnd::EndsProcess),
            Self::PipelineWatch => ("pipeline_watch", OnEnd::EndsProcess),
            Self::Horizon => ("horizon", OnEnd::EndsProcess),
        };
        Task { name, on_end }
    }
}
