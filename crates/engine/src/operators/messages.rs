//! Executes the actions on messages: to try parked keys again, to send dead letters back, to send published
//! messages again, and to set a group to other offsets.
//!
//! The effect comes before the row of the audit. After a crash between the two, the repeat under the same
//! key has the effect once more, under the same numbers.

use crate::messaging::dead_letter::header;
use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::{ActionResult, Objection, Redrive, Reemission};
use crate::state::parts::BusParts;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::bus::Seek;
use kernel::ports::inbox::{NextTry, ParkedName};
use kernel::ports::outbox::PublishedRange;
use std::sync::Arc;

/// How many messages one write sends again.
const AT_ONCE: usize = 1_000;
/// How many parked keys of a group are read.
const KEYS: usize = 10_000;
/// The most messages that one redrive looks at, and the most that it sends in a second.
const REDRIVE: (u64, u32) = (1_000, 1_000);

impl Operators {
    fn bus_parts(&self) -> Result<&BusParts, Objection> {
        let none =
            || Objection::NotPossible("no flow that messages carry is offered here".to_owned());
        self.shared.parts.bus.as_ref().ok_or_else(none)
    }

    pub(super) async fn unpark_by_hand(
        &self,
        context: &ActionContext,
        [group, topic, key]: [Arc<str>; 3],
    ) -> Result<(ActionResult, Millis), Stop> {
        let inbox = &self.bus_parts()?.inbox;
        let name = ParkedName { group, topic, key };
        let parked = inbox.parked_keys(Some(name.group.clone()), KEYS).await?;
        let found = parked.into_iter().find(|parked| parked.name == name);
        let found = found.ok_or(Objection::NotFound("parked key"))?;
        let next = NextTry { failures: 0, cause: found.next.cause, due: 0 };
        inbox.try_again(name, next).await?;
        self.write_unguarded(context, Vec::new(), ActionResult::Unparked).await
    }

    pub(super) async fn redrive_by_hand(
        &self,
        context: &ActionContext,
        asked: &Redrive,
    ) -> Result<(ActionResult, Millis), Stop> {
        self.bus_parts()?;
        self.may_redrive(asked)?;
        let redriven = self.messaging.redrive(asked).await?;
        let (messages, left) = (redriven.messages, redriven.left);
        let outcome = ActionResult::Redriven { messages, passed_over: redriven.passed_over, left };
        self.write_unguarded(context, Vec::new(), outcome).await
    }

    /// A dry run of a redrive: by the reason of each dead letter, how many would go back, and how many
    /// would be passed over.
    ///
    /// # Errors
    /// As of the redrive.
    pub async fn redrive_preview(
        &self,
        asked: &Redrive,
    ) -> Result<Vec<(String, u64, u64)>, Objection> {
        self.bus_parts()?;
        self.may_redrive(asked)?;
        let most = usize::try_from(asked.most).unwrap_or(usize::MAX);
        let found =
            self.messaging.dead_letters(&asked.topic, most).await.map_err(Objection::Unknown)?;
        let mut reasons = std::collections::BTreeMap::<String, (u64, u64)>::new();
        for letter in &found.letters {
            let (back, over) = reasons.entry(letter.header(header::REASON).to_owned()).or_default();
            let counted = if letter.is_passed_over(asked.replays) { over } else { back };
            *counted = counted.saturating_add(1);
        }
        Ok(reasons.into_iter().map(|(reason, (back, over))| (reason, back, over)).collect())
    }

    fn may_redrive(&self, asked: &Redrive) -> Result<(), Objection> {
        if !self.messaging.dead_letter_topics().contains(&asked.topic) {
            return Err(Objection::NotFound("topic"));
        }
        let (most, per_second) = REDRIVE;
        if !(1..=most).contains(&asked.most) || !(1..=per_second).contains(&asked.per_second) {
            let why = format!("1 to {most} messages, 1 to {per_second} in a second");
            return Err(Objection::Invalid(why));
        }
        Ok(())
    }

    pub(super) async fn reemit_by_hand(
        &self,
        context: &ActionContext,
        asked: Reemission,
    ) -> Result<(ActionResult, Millis), Stop> {
        let outbox = &self.bus_parts()?.outbox;
        let range = self.range(asked)?;
        let mut messages = 0_u64;
        loop {
            let again = outbox.emit_again(range, AT_ONCE).await?;
            if again == 0 {
                break;
            }
            messages = messages.saturating_add(again);
            self.messaging.outbox_written();
        }
        self.write_unguarded(context, Vec::new(), ActionResult::Reemitted { messages }).await
    }

    /// A dry run of a re-emission: how many messages it would send.
    ///
    /// # Errors
    /// As of the re-emission.
    pub async fn reemit_preview(&self, asked: Reemission) -> Result<u64, Objection> {
        let range = self.range(asked)?;
        self.bus_parts()?.outbox.published(range).await.map_err(Objection::Unknown)
    }

    fn range(&self, Reemission { from, to }: Reemission) -> Result<PublishedRange, Objection> {
        // what is published while it runs lies behind it
        if from >= to || to > self.shared.parts.journal.now() {
            let why = "`from` lies before `to`, and `to` not in the future".to_owned();
            return Err(Objection::Invalid(why));
        }
        Ok(PublishedRange { from, to })
    }

    pub(super) async fn seek_by_hand(
        &self,
        context: &ActionContext,
        group: &Arc<str>,
        to: Millis,
    ) -> Result<(ActionResult, Millis), Stop> {
        let moved = self.seek(group, to, true).await?;
        let partitions = moved.iter().filter(|seek| seek.from != seek.to).count();
        let partitions = u64::try_from(partitions).unwrap_or(u64::MAX);
        self.write_unguarded(context, Vec::new(), ActionResult::Sought { partitions }).await
    }

    /// A dry run of a seek: the offsets to which it would set a group.
    ///
    /// # Errors
    /// As of the seek.
    pub async fn seek_preview(&self, group: &str, to: Millis) -> Result<Vec<Seek>, Objection> {
        self.seek(group, to, false).await
    }

    async fn seek(&self, group: &str, to: Millis, apply: bool) -> Result<Vec<Seek>, Objection> {
        let bus = &self.bus_parts()?.bus;
        let group = self.messaging.group(group).ok_or(Objection::NotFound("group"))?;
        let sought = bus.seek(group.name().into(), group.topics(), to, apply).await;
        sought.map_err(|cause: Cause| match cause.class {
            "GROUP_IN_USE" => Objection::NotPossible(
                "the group has consumers: pause it, and seek when they have left it".to_owned(),
            ),
            _ => Objection::Unknown(cause),
        })
    }
}
