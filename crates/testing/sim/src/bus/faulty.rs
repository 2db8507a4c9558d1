//! The faulty link between an engine and the broker: it loses calls, repeats them, delivers them in part, panics,
//! and kills the process at a call.

use super::broker_fault::{PUBLISH_TIMEOUT, Taken};
use super::faulty_member::FaultyMember;
use super::port::SimBus;
use crate::event_log::{EventLog, LoggedEvent};
use crate::world::{Crash, breath, die};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{
    Acknowledgement, Bus, BusDelivery, BusMessage, Member, PartitionLag, Seek, acknowledged,
};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which call of the broker it is, beside what names it in a log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum BusCall {
    /// Messages are published on these topics.
    Publish {
        /// The number of messages.
        messages: usize,
        /// The topics of the messages, each once.
        topics: Vec<Arc<str>>,
    },
    /// A member joins this group.
    Subscribe(Arc<str>),
    /// A member of this group is given something.
    Poll(Arc<str>),
    /// A member of this group commits.
    Commit(Arc<str>),
}

/// What goes wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BusTrouble {
    /// The broker gets nothing of it.
    LoseRequest,
    /// The broker did it, and its reply is lost.
    LoseReply,
    /// The client panics before anything is sent.
    PanicBefore,
    /// The client panics when the broker has done it.
    PanicAfter,
    /// Our process dies before it.
    CrashBefore,
    /// Our process dies when it is done.
    CrashAfter,
    /// Of several messages the first half arrives and is acknowledged.
    Half,
    /// Our process dies when the first half of several messages has arrived.
    CrashHalf,
    /// The messages arrive twice, as by a retry below the port.
    Twice,
    /// Of several messages the last arrives first, as where two publishers had them.
    Reversed,
    /// The broker takes the member for dead just before it.
    PutOut,
}

impl BusTrouble {
    /// What the process dies of.
    pub const fn kills(self) -> bool {
        matches!(self, Self::CrashBefore | Self::CrashAfter | Self::CrashHalf)
    }
}

impl BusCall {
    /// Everything that can go wrong with it, and leaves the process alive or not.
    pub fn troubles(&self) -> Vec<BusTrouble> {
        use BusTrouble::*;
        match self {
            Self::Publish { messages, .. } => {
                let mut all = vec![LoseRequest, LoseReply, PanicBefore, PanicAfter, Twice];
                all.extend([CrashBefore, CrashAfter]);
                if *messages > 1 {
                    all.extend([Half, CrashHalf, Reversed]);
                }
                all
            }
            Self::Subscribe(_) => vec![LoseRequest, LoseReply, CrashBefore, CrashAfter],
            Self::Poll(_) => vec![LoseReply, CrashAfter, PutOut],
            Self::Commit(_) => vec![LoseRequest, LoseReply, CrashBefore, CrashAfter, PutOut],
        }
    }
}

#[derive(Debug, Default)]
struct Plan {
    calls: u64,
    planned: BTreeMap<u64, BusTrouble>,
}

/// What goes wrong with a call by what it is, whichever number it has.
type Chosen = Arc<dyn Fn(&BusCall) -> Option<BusTrouble> + Send + Sync>;

/// The state that a link shares with its members.
#[derive(Clone)]
pub(super) struct Link {
    plan: Arc<Mutex<Plan>>,
    pub(super) crash: Crash,
    log: EventLog,
    chosen: Chosen,
}

/// A broker at the end of a bad link. It outlives the processes that use it.
#[derive(Clone)]
pub struct FaultyBus {
    inner: SimBus,
    link: Link,
}

impl fmt::Debug for FaultyBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyBus").finish_non_exhaustive()
    }
}

/// A panic that no hook prints: it is meant.
fn panic(why: &'static str) -> ! {
    resume_unwind(Box::new(why))
}

pub(super) fn lost() -> Cause {
    Cause::of("TIMEOUT")
}

impl Link {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins: what goes wrong with it.
    pub(super) fn begin(&self, call: BusCall) -> Option<BusTrouble> {
        let mut plan = self.plan();
        let n = plan.calls;
        plan.calls += 1;
        let trouble = plan.planned.remove(&n).or_else(|| (self.chosen)(&call));
        self.log.add(LoggedEvent::Bus { n, call });
        trouble
    }
}

impl FaultyBus {
    /// A link to this broker on which nothing goes wrong yet; its calls are added to the log.
    pub fn new(inner: SimBus, crash: Crash, log: EventLog) -> Self {
        let chosen: Chosen = Arc::new(|_| None);
        Self { inner, link: Link { plan: Arc::default(), crash, log, chosen } }
    }

    /// The same link, where what a call is decides what goes wrong with it.
    #[must_use]
    pub fn choosing(
        mut self,
        chosen: impl Fn(&BusCall) -> Option<BusTrouble> + Send + Sync + 'static,
    ) -> Self {
        self.link.chosen = Arc::new(chosen);
        self
    }

    /// The n-th call, counted from 0 over all processes, goes wrong.
    pub fn plan(&self, n: u64, trouble: BusTrouble) {
        self.link.plan().planned.insert(n, trouble);
    }

    /// What the broker takes now is published in one call; the rest has its answer by the fault that lasts.
    async fn sent(&self, messages: Vec<BusMessage>) -> Vec<Acknowledgement> {
        let taken: Vec<Taken> = messages.iter().map(|one| self.inner.takes(one)).collect();
        let stored = messages.into_iter().zip(&taken).filter(|(_, taken)| **taken == Taken::Stored);
        let stored: Vec<BusMessage> = stored.map(|(message, _)| message).collect();
        let calls = taken.is_empty() || !stored.is_empty();
        let answers = if calls { self.published(stored).await } else { Vec::new() };
        let mut answers = answers.into_iter();
        let mut acknowledgement = |taken: Taken| -> Acknowledgement {
            match taken {
                Taken::Stored => acknowledged(answers.next().unwrap_or_else(|| Err(lost()))),
                Taken::Lost => acknowledged(Ok(())),
                Taken::TooLarge => acknowledged(Err(Cause::of("MESSAGE_TOO_LARGE"))),
                Taken::TimedOut => {
                    let waits = self.inner.clock.sleep(PUBLISH_TIMEOUT);
                    Box::pin(async move {
                        waits.await;
                        Err(lost())
                    })
                }
            }
        };
        taken.into_iter().map(&mut acknowledgement).collect()
    }

    async fn published(&self, messages: Vec<BusMessage>) -> Vec<Result<(), Cause>> {
        let asked = messages.len();
        let mut topics: Vec<Arc<str>> = messages.iter().map(|one| one.topic.clone()).collect();
        topics.sort();
        topics.dedup();
        let trouble = self.link.begin(BusCall::Publish { messages: asked, topics });
        let mut answers = vec![Ok(()); asked];
        match trouble {
            None | Some(BusTrouble::PutOut) => self.inner.append(messages),
            Some(BusTrouble::LoseRequest) => return vec![Err(lost()); asked],
            Some(BusTrouble::LoseReply) => {
                self.inner.append(messages);
                return vec![Err(lost()); asked];
            }
            Some(BusTrouble::PanicBefore) => panic("the bus panics before it runs"),
            Some(BusTrouble::PanicAfter) => {
                self.inner.append(messages);
                panic("the bus panics after it ran")
            }
            Some(BusTrouble::CrashBefore) => {
                die(&self.link.crash, "crashed before a publication").await;
            }
            Some(BusTrouble::CrashAfter) => {
                self.inner.append(messages);
                die(&self.link.crash, "crashed after a publication").await;
            }
            Some(half @ (BusTrouble::Half | BusTrouble::CrashHalf)) => {
                let first = asked.div_ceil(2);
                self.inner.append(messages.into_iter().take(first).collect());
                if half == BusTrouble::CrashHalf {
                    die(&self.link.crash, "crashed in a publication").await;
                }
                answers.iter_mut().skip(first).for_each(|answer| *answer = Err(lost()));
            }
            Some(BusTrouble::Twice) => {
                self.inner.append(messages.clone());
                self.inner.append(messages);
            }
            Some(BusTrouble::Reversed) => {
                self.inner.append(messages.into_iter().rev().collect());
            }
        }
        answers
    }
}

impl Bus for FaultyBus {
    fn send(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Acknowledgement>> {
        Box::pin(async move {
            breath().await;
            let acknowledgements = self.sent(messages).await;
            breath().await;
            acknowledgements
        })
    }

    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(messages.len());
            for acknowledgement in self.send(messages).await {
                answers.push(acknowledgement.await);
            }
            answers
        })
    }

    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        Box::pin(async move {
            breath().await;
            let trouble = self.link.begin(BusCall::Subscribe(group.clone()));
            match trouble {
                Some(BusTrouble::LoseRequest) => return Err(lost()),
                Some(BusTrouble::CrashBefore) => {
                    die(&self.link.crash, "crashed before joining").await
                }
                _ => {}
            }
            let inner = self.inner.member(group.clone(), topics);
            match trouble {
                // the member is dropped, and leaves its group
                Some(BusTrouble::LoseReply) => return Err(lost()),
                Some(BusTrouble::CrashAfter) => {
                    die(&self.link.crash, "crashed after joining").await
                }
                _ => {}
            }
            let member: Box<dyn Member> =
                Box::new(FaultyMember::new(inner, group, self.link.clone()));
            Ok(member)
        })
    }

    fn lag(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Vec<PartitionLag>, Cause>> {
        self.inner.lag(group, topics)
    }

    fn seek(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
        to: Millis,
        apply: bool,
    ) -> Fut<'_, Result<Vec<Seek>, Cause>> {
        self.inner.seek(group, topics, to, apply)
    }

    fn newest(
        &self,
        topics: Vec<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<BusDelivery>, Cause>> {
        self.inner.newest(topics, limit)
    }

    fn topics_name(&self) -> Fut<'_, Result<Arc<str>, Cause>> {
        self.inner.topics_name()
    }

    fn partition_count(&self, topic: &Arc<str>) -> Option<u32> {
        self.inner.partition_count(topic)
    }

    fn probe(&self) -> Fut<'_, Result<(), Cause>> {
        self.inner.probe()
    }
}
