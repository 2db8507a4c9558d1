//! What must hold before anything of a unit is written, seen over what earlier units of the same
//! write did.

use super::group::Group;
use super::text;
use super::touch::Touches;
use kernel::ids::AssetId;
use kernel::money::Amount;
use kernel::people::Stand;
use kernel::unit::Guard;
use rusqlite::params;

/// What guards leave behind once their unit is written.
#[derive(Default)]
pub(super) struct Marks {
    /// Counters and what they grow by.
    additions: Vec<(String, u128)>,
    /// The key of the transfer that is opened was looked for.
    pub(super) unbound: bool,
    /// Events that were seen.
    inbox: Vec<(&'static str, String)>,
}

impl Group<'_> {
    pub(super) fn holds(
        &mut self,
        guard: &Guard,
        touches: &mut Touches,
        marks: &mut Marks,
    ) -> rusqlite::Result<bool> {
        Ok(match guard {
            Guard::NotHalted => !self.lane.halted,
            Guard::Fresh(id) => {
                let below = self.lane.horizon.is_some_and(|horizon| *id <= horizon);
                !below && self.standing(*id, touches)?.is_none()
            }
            Guard::Unbound { flow, scope, key } => {
                marks.unbound = true;
                !self.bound(*flow, scope, key)?
            }
            Guard::Transfer { id, state, version } => {
                let code =
                    |row: &super::touch::Standing| self.flows.table(row.flow).state(*state).code;
                let row = self.standing(*id, touches)?;
                row.is_some_and(|row| row.version == *version && row.code == code(&row))
            }
            Guard::Attempt { id, version } => self.attempt_version(*id)? == *version,
            Guard::Resource { name, version } => {
                let stored = self.value(&format!("resource/{name}"))?;
                stored.map_or(0, |(_, version)| version) == i64::from(*version)
            }
            Guard::Inbox { consumer, event } => self.unseen(consumer, *event, marks)?,
            Guard::Incarnation { ledger, known } => {
                let stored = super::read::current(self.db, *ledger)?;
                let who =
                    |known: &kernel::ports::ledger::Known| (known.identity, known.incarnation);
                stored.as_ref().map(who) == known.as_ref().map(who)
            }
            Guard::Owner { ledger, epoch } => self.epoch(*ledger)? == *epoch,
            Guard::AtMost { name, n, limit } => self.bounded(name, *n, *limit, marks)?,
            Guard::DayCount { user, day, most } => {
                let spent = self.spent(*user, *day, AssetId(0))?;
                spent.transfers.checked_add(1).is_some_and(|transfers| transfers <= *most)
            }
            Guard::DayAmount { count, most } => {
                let spent = self.spent(count.user, count.day, count.asset)?;
                spent.amount.plus(count.amount).is_some_and(|amount| amount <= *most)
            }
            Guard::Unacted { caller, key } => !self.has_acted(caller, key)?,
            Guard::Pending(id) => self.stand(*id)? == Some(Stand::Pending),
        })
    }

    /// Nobody saw the event, in the store or earlier in this unit.
    fn unseen(
        &self,
        consumer: &'static str,
        event: u128,
        marks: &mut Marks,
    ) -> rusqlite::Result<bool> {
        let event = format!("{event:032x}");
        let sql = "SELECT 1 FROM inbox WHERE consumer = ? AND event_id = ?";
        let seen = self.db.prepare_cached(sql)?.exists(params![consumer, event])?;
        let twice = marks.inbox.iter().any(|(c, e)| *c == consumer && *e == event);
        marks.inbox.push((consumer, event));
        Ok(!seen && !twice)
    }

    /// The counter stays within its limit after what this unit adds.
    fn bounded(
        &self,
        name: &str,
        n: u128,
        limit: u128,
        marks: &mut Marks,
    ) -> rusqlite::Result<bool> {
        let name = format!("counter/{name}");
        let mine = marks.additions.iter().filter(|(other, _)| *other == name);
        let mine: u128 = mine.map(|(_, n)| n).sum();
        let sum = self.counter(&name)?.checked_add(mine).and_then(|sum| sum.checked_add(n));
        marks.additions.push((name, n));
        Ok(sum.is_some_and(|sum| sum <= limit))
    }

    pub(super) fn mark(&self, marks: Marks) -> rusqlite::Result<()> {
        for (name, n) in marks.additions {
            let sum = self.counter(&name)?.saturating_add(n);
            self.set(&name, &text::amount(Amount(sum)))?;
        }
        let sql = "INSERT INTO inbox (consumer, event_id, at) VALUES (?, ?, ?)";
        for (consumer, event) in marks.inbox {
            self.db.prepare_cached(sql)?.execute(params![consumer, event, text::int(self.at)])?;
        }
        Ok(())
    }
}
