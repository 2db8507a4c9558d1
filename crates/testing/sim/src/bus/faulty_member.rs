//! A member of a group behind the faulty link.

use super::faulty::{BusCall, BusTrouble, Link, lost};
use super::member::SimMember;
use crate::world::die;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{Member, Partition, Polled};
use std::sync::Arc;

pub(super) struct FaultyMember {
    inner: SimMember,
    group: Arc<str>,
    link: Link,
}

impl FaultyMember {
    pub(super) const fn new(inner: SimMember, group: Arc<str>, link: Link) -> Self {
        Self { inner, group, link }
    }
}

impl Member for FaultyMember {
    /// Polls that give nothing change nothing: they are no calls that could go wrong.
    fn poll(&mut self, limit: usize, wait: Millis) -> Fut<'_, Result<Polled, Cause>> {
        Box::pin(async move {
            let polled = self.inner.poll(limit, wait).await?;
            if polled == Polled::default() {
                return Ok(polled);
            }
            match self.link.begin(BusCall::Poll(self.group.clone())) {
                Some(BusTrouble::LoseRequest | BusTrouble::LoseReply) => {
                    self.inner.rewind(&polled);
                    return Err(lost());
                }
                Some(BusTrouble::CrashBefore | BusTrouble::CrashAfter) => {
                    die(&self.link.crash, "crashed with messages in hand").await;
                }
                Some(BusTrouble::PutOut) => self.inner.put_out(),
                _ => {}
            }
            Ok(polled)
        })
    }

    fn pause(&mut self, partition: &Partition) {
        self.inner.pause(partition);
    }

    fn resume(&mut self, partition: &Partition) {
        self.inner.resume(partition);
    }

    fn commit(&mut self, next: Vec<(Partition, u64)>) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move {
            let trouble = self.link.begin(BusCall::Commit(self.group.clone()));
            match trouble {
                Some(BusTrouble::LoseRequest) => return Err(lost()),
                Some(BusTrouble::CrashBefore) => {
                    die(&self.link.crash, "crashed before a commit of offsets").await;
                }
                Some(BusTrouble::PutOut) => self.inner.put_out(),
                _ => {}
            }
            let done = self.inner.commit(next).await;
            match trouble {
                Some(BusTrouble::LoseReply) => return Err(lost()),
                Some(BusTrouble::CrashAfter) => {
                    die(&self.link.crash, "crashed after a commit of offsets").await;
                }
                _ => {}
            }
            done
        })
    }
}
