//! Compares numbered accounts, and the status of users' accounts at Funding, with what operators set.

use super::performed::Performed;
use super::{ActionTable, ReplayFindings, StoredRow};
use crate::accounts::NumberedAccount;
use crate::ids::Millis;
use crate::operators::ActionResult;
use crate::ports::ledger::AccountStatus;
use crate::principal::action_key;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The places of the columns of `status_changes`.
const REASON: usize = 2;
const CALLER: usize = 3;
const FOUND: usize = 4;
const AT: usize = 5;

/// The numbered accounts, as the chain has left them.
#[derive(Debug, Default)]
pub(super) struct NumberedReplay(BTreeMap<Arc<str>, NumberedAccount>);

impl NumberedReplay {
    pub(super) fn take(&mut self, performed: &Performed) {
        if let Some(ActionResult::NumberedAccount { account }) = &performed.result {
            self.0.insert(account.number.clone(), account.clone());
        }
    }

    pub(super) fn compare(mut self, rows: &[StoredRow], found: &mut ReplayFindings) {
        let table = ActionTable::NumberedAccounts;
        for row in rows {
            let Some(account) = self.0.remove(row.key.as_str()) else {
                let proven = "that it was never opened".to_owned();
                found.row(table, &row.key, "there is such a row", proven);
                continue;
            };
            let NumberedAccount { owner, asset, status, .. } = account;
            found.differs(table, row, 0, Some(&owner.to_string()));
            found.differs(table, row, 1, Some(&asset.to_string()));
            found.differs(table, row, 2, Some(status.name()));
        }
        for number in self.0.into_keys() {
            let proven = "that it was opened".to_owned();
            found.row(table, &number, "it was removed", proven);
        }
    }
}

/// A change of a status at Funding, as its action says it.
#[derive(Debug)]
struct Change {
    subject: String,
    status: String,
    reason: String,
    caller: String,
    /// When its action was written, where Funding had the change before.
    at: Option<Millis>,
}

/// The changes of the chain, by the key under which Funding stored them, and the last one of each user: an account has one
/// change on its way at a time, so Funding makes them in the order in which their actions are written.
#[derive(Debug, Default)]
pub(super) struct StatusReplay {
    changes: BTreeMap<String, Change>,
    last_of_user: BTreeMap<String, String>,
    /// The changes that wait for another person, or did, by the id of their approval.
    proposed: BTreeMap<String, ProposedChange>,
}

/// The account and the status of a change that one person proposed.
#[derive(Debug, Clone)]
struct ProposedChange {
    user: String,
    status: String,
}

impl ProposedChange {
    fn read(performed: &Performed) -> Option<Self> {
        let account = performed.subject.strip_prefix("account/")?;
        let user = account.strip_suffix("/FUNDING")?.to_owned();
        let status = performed.value.get("status")?.as_str()?.to_owned();
        Some(Self { user, status })
    }
}

impl StatusReplay {
    pub(super) fn take(&mut self, performed: &Performed) {
        if let Some(ActionResult::Proposed { approval }) = &performed.result {
            let proposed = ProposedChange::read(performed);
            self.proposed.extend(proposed.map(|change| (approval.to_string(), change)));
        }
        if !matches!(performed.result, Some(ActionResult::StatusSet)) {
            return;
        }
        let approved = performed.subject.strip_prefix("approval/");
        let change = match approved {
            Some(id) => self.proposed.get(id).cloned(),
            None => ProposedChange::read(performed),
        };
        let Some(ProposedChange { user, status }) = change else { return };
        let Performed { at, caller, reason, key, .. } = performed;
        let change = Change {
            subject: format!("FUNDING/{user}"),
            status: status.clone(),
            reason: reason.clone(),
            caller: caller.clone(),
            // what two persons decided is written first, and carried out then
            at: approved.is_none().then_some(*at),
        };
        self.changes.insert(action_key(caller, key), change);
        self.last_of_user.insert(user, status);
    }

    pub(super) fn compare(
        mut self,
        changes: &[StoredRow],
        statuses: &[StoredRow],
        found: &mut ReplayFindings,
    ) {
        changes.iter().for_each(|row| self.change(row, found));
        for (key, Change { subject, status, .. }) in self.changes {
            let proven = format!("that {subject} was set to {status}");
            found.row(ActionTable::StatusChanges, &key, "it was removed", proven);
        }
        let (table, active) = (ActionTable::Statuses, AccountStatus::Active.name());
        for row in statuses {
            let set = self.last_of_user.remove(&row.key);
            found.differs(table, row, 0, Some(set.as_deref().unwrap_or(active)));
        }
        for (user, set) in self.last_of_user {
            let row = StoredRow { key: user, fields: vec![Some(active.to_owned())] };
            found.differs(table, &row, 0, Some(&set));
        }
    }

    /// Compares one row of `status_changes`.
    fn change(&mut self, row: &StoredRow, found: &mut ReplayFindings) {
        let table = ActionTable::StatusChanges;
        let Some(change) = self.changes.remove(&row.key) else {
            // where no account was there nothing was set, and no action written
            if matches!(row.field(FOUND), Some("1" | "true")) {
                let proven = "nothing of it: where a process ended between the two, repeat the \
                              action with its key"
                    .to_owned();
                found.row(table, &row.key, "there is such a row", proven);
            }
            return;
        };
        let Change { subject, status, reason, caller, at } = change;
        let said = [(0, &subject), (1, &status), (REASON, &reason), (CALLER, &caller)];
        for (place, proven) in said {
            found.differs(table, row, place, Some(proven));
        }
        if !matches!(row.field(FOUND), Some("1" | "true")) {
            found.column(table, row, FOUND, "that the account was there".to_owned());
        }
        let before = row.field(AT).and_then(|stored| stored.parse::<Millis>().ok());
        if let Some(at) = at
            && before.is_none_or(|before| before > at)
        {
            found.column(table, row, AT, format!("at most `{at}`"));
        }
    }
}
