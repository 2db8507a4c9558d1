//! The client of the account cases: it opens and funds accounts, repeats its transfers until they end, and waits
//! until no task has work left.

use super::cases::{AccountCase, CaseAccount, CaseTransfer};
use crate::bus::SimBus;
use crate::service::SimProcess;
use engine::{Accepted, Refused};
use kernel::accounts::{AccountsOf, NumberedStatus};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{AssetId, FlowId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::clock::Clock;
use kernel::ports::inbox::ParkedKey;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{External, Moved};
use kernel::ports::outbox::PublishedRange;
use kernel::record::{Account, Binding, Party, Record, System, Terms};
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::deposit;

/// What all accounts hold.
pub(super) const COIN: AssetId = AssetId(3);
/// The user to whom all accounts belong.
const OWNER: UserId = UserId(4001);
/// How long after a parked key others follow, in milliseconds.
const AFTER: u64 = 3_000;

/// How often a client asks, and how often in all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tries {
    /// How many times it asks before it gives up.
    pub(super) most: u32,
    /// How long it waits between them, in milliseconds.
    pub(super) every: u64,
}

impl Default for Tries {
    /// A quarter of an hour of simulated time, in which nothing is sent again.
    fn default() -> Self {
        Self { most: 4_000, every: 250 }
    }
}

/// Opens the accounts of a case, each with what it has.
pub(super) async fn prepare(process: SimProcess, case: AccountCase) -> Result<(), String> {
    for account in &*case.accounts {
        put(&*process.opened.journal, account, (0, NumberedStatus::Active)).await?;
        if account.has > 0 {
            let number = Some(account.number.into());
            let money = deposit(account.number, OWNER.0, COIN, account.has);
            let movement = External { number, ..money };
            let moved = process.opened.world.external(movement).await;
            if !matches!(moved, Ok(Moved::Done { .. })) {
                return Err(format!("money for {}: {moved:?}", account.number));
            }
        }
        if account.status != NumberedStatus::Active {
            let asked = AccountsOf::Numbers(vec![account.number.into()]);
            let found = process.opened.journal.numbered_accounts(asked).await;
            let found = found.map_err(|cause| cause.to_string())?.pop();
            let version = found.map_or(0, |found| found.version);
            put(&*process.opened.journal, account, (version, account.status)).await?;
        }
    }
    Ok(())
}

async fn put(
    journal: &dyn Journal,
    account: &CaseAccount,
    (version, status): (u64, NumberedStatus),
) -> Result<(), String> {
    let number: Arc<str> = account.number.into();
    let guard = Guard::Account { number: number.clone(), version };
    let put = Put::Account { number, owner: OWNER, asset: COIN, status };
    let wrote = journal.write(vec![Unit::guarded(vec![guard], vec![put])]).await;
    match wrote.as_slice() {
        [Wrote::Written(_)] => Ok(()),
        other => Err(format!("the account {}: {other:?}", account.number)),
    }
}

/// The terms of a case's transfer, with a key of its own.
pub(super) fn terms(transfer: &CaseTransfer, key: String) -> Terms {
    let at = |number: &str| Party {
        system: System::Ledger(LedgerId::ACCOUNT),
        account: Account::Named(number.into()),
        asset: COIN,
        amount: Amount(transfer.amount),
    };
    let owner = TransferOwner::User(OWNER);
    let binding = Binding { scope: "sim|1".into(), key: key.into(), fingerprint: [0; 32] };
    Terms {
        binding: Some(binding),
        ..Terms::between("sim|1".into(), owner, at(transfer.from), at(transfer.to))
    }
}

/// A client of one process.
#[derive(Clone)]
pub(super) struct AccountClient {
    pub(super) process: SimProcess,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) flow: FlowId,
    pub(super) tries: Tries,
}

impl AccountClient {
    /// Creates a transfer with its key, or finds it; `None` where nothing is known yet.
    async fn create(&self, terms: &Terms) -> Result<Option<Record>, String> {
        match self.process.engine.intake.create(self.flow, terms.clone()).await {
            Ok(Accepted { record, .. }) => Ok(Some(record)),
            Err(Refused::Code(Code::Overloaded) | Refused::Unknown(_)) => Ok(None),
            Err(Refused::Code(code)) => Err(format!("refused with {code}")),
            Err(Refused::Mismatch(record)) => Err(format!("another body: {record:?}")),
        }
    }

    /// Creates a transfer with its key, until it is known to be open.
    pub(super) async fn opens(&self, terms: &Terms) -> Result<Record, String> {
        for _ in 0..self.tries.most {
            if let Some(record) = self.create(terms).await? {
                return Ok(record);
            }
            self.clock.sleep(self.tries.every).await;
        }
        Err("it is not opened".to_owned())
    }

    /// Creates a transfer with its key and asks until it ended.
    pub(super) async fn insists(self, terms: Terms) -> Result<Record, String> {
        let table = self.process.engine.flows().table(self.flow);
        let mut last = String::new();
        for _ in 0..self.tries.most {
            if let Some(record) = self.create(&terms).await? {
                if table.ends(record.head.state) {
                    return Ok(record);
                }
                let state = table.state(record.head.state).name;
                last = format!("it is {state} {:?}", record.error);
            }
            self.clock.sleep(self.tries.every).await;
        }
        Err(format!("it does not end: {last}"))
    }

    /// Opens the first transfer, whose check says nothing, and the others when its key is parked; they join
    /// it. Then the check answers again.
    pub(super) async fn parks(
        self,
        all: Vec<Terms>,
        silent: Arc<AtomicBool>,
    ) -> Result<(), String> {
        let table = self.process.engine.flows().table(self.flow);
        let Some(first) = all.first() else { return Ok(()) };
        let behind = all.iter().filter(|terms| terms.source.account == first.source.account);
        let behind: Vec<&Terms> = behind.collect();
        let wanted = u64::try_from(behind.len()).unwrap_or(u64::MAX);
        self.opens(first).await?;
        let mut opened = false;
        for _ in 0..self.tries.most {
            let parked =
                self.parked().await.map_or(0, |keys| keys.iter().map(|key| key.messages).sum());
            if parked > 0 && !opened {
                // consumers have looked again at what waits, and bar it still
                self.clock.sleep(AFTER).await;
                for terms in &all {
                    self.opens(terms).await?;
                }
                opened = true;
            }
            if parked >= wanted || !silent.load(Ordering::SeqCst) {
                silent.store(false, Ordering::SeqCst);
                return Ok(());
            }
            if opened {
                for terms in &behind {
                    let record = self.opens(terms).await?;
                    if record.head.state != table.start {
                        return Err("a message overtook its parked key".to_owned());
                    }
                }
            }
            self.clock.sleep(self.tries.every).await;
        }
        Err("its key is not parked".to_owned())
    }

    async fn parked(&self) -> Result<Vec<ParkedKey>, Cause> {
        self.process.opened.inbox.parked_keys(None, 1_000).await
    }

    /// Waits until the outbox is published, every group has committed everything, and no key is parked.
    pub(super) async fn rests(&self, bus: &SimBus) -> Result<(), String> {
        let table = self.process.engine.flows().table(self.flow);
        let mut last = String::new();
        for _ in 0..self.tries.most {
            let backlog = self.process.opened.outbox.backlog().await;
            let waiting = backlog.map_or(1, |backlog| backlog.messages);
            // a key is parked until it is ended, which comes after its last message
            let parked = self.parked().await.map_or(1, |keys| keys.len());
            let mut behind: u64 =
                table.consumers.iter().map(|group| bus.behind(group.name, &[group.topic])).sum();
            behind += table.audit.map_or(0, |group| bus.behind(group.name, group.topics));
            if (waiting, parked, behind) == (0, 0, 0) {
                return Ok(());
            }
            last = format!(
                "{waiting} messages are not published, {parked} keys parked, {behind} not committed"
            );
            self.clock.sleep(self.tries.every).await;
        }
        Err(format!("it does not come to rest: {last}"))
    }

    /// Publishes everything again that was published.
    pub(super) async fn repeats(&self) -> Result<(), String> {
        self.clock.sleep(10).await;
        let range = PublishedRange { from: 0, to: self.process.opened.journal.now() };
        self.clock.sleep(10).await;
        let outbox = &self.process.opened.outbox;
        while outbox.emit_again(range, 1_000).await.map_err(|cause| cause.to_string())? > 0 {}
        Ok(())
    }
}
