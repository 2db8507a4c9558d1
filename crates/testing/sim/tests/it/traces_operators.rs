//! The simulated journal may stand for a real one where operators act: on the same schedule of cases,
//! pauses, actions, approvals, assets and limits both answer alike and show alike.

use crate::real_stores::embedded;
use conformance::journal::Site;
use kernel::answer::Cause;
use kernel::ids::{AssetId, ChainId, Day, Id, LedgerId, UserId};
use kernel::limits::DailyCount;
use kernel::money::{Amount, Asset};
use kernel::operation::Identity;
use kernel::operators::{
    Accepted, Action, ApprovalStatus, Case, Note, OpenCase, PastAction, Paused, Proposal, Scope,
    Severity, Subject,
};
use kernel::ports::clock::Clock;
use kernel::ports::journal::{Journal, ServiceStatus};
use kernel::unit::{Guard, Put, Then, Unit, Wrote};
use sim::journal::Place;
use sim::service::simulated;
use sim::world::{Sim, SplitMix};
use std::sync::Arc;

/// Chance, and what it may speak of: few things, so that they meet.
struct Draws(SplitMix);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next() % n
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        let at = self.below(u64::try_from(all.len()).unwrap());
        all[usize::try_from(at).unwrap()].clone()
    }

    fn text(&mut self, what: &str, n: u64) -> Arc<str> {
        format!("{what} {}", self.below(n)).into()
    }

    fn id(&mut self) -> Id {
        Id(u128::from(1 + self.below(8)))
    }

    fn subject(&mut self) -> Subject {
        let user = Subject::User(UserId(self.below(2)));
        let all = [Subject::Service, Subject::Ledger(LedgerId::SPOT), user];
        self.of(&all)
    }

    fn count(&mut self, day: Day) -> DailyCount {
        DailyCount {
            user: UserId(1 + self.below(2)),
            day,
            asset: AssetId(u32::try_from(3 + self.below(2)).unwrap()),
            amount: Amount(self.0.next().into()),
        }
    }

    fn guard(&mut self, day: Day, version: u32) -> Guard {
        match self.below(7) {
            0 => Guard::NotHalted,
            6 => Guard::Halt(self.below(9)),
            1 => Guard::DayCount { user: UserId(1), day, most: self.below(4) },
            2 => Guard::DayAmount { count: self.count(day), most: Amount(1 << 63) },
            3 => Guard::NoPastAction { caller: self.text("ops", 2), key: self.text("key", 9) },
            4 => Guard::Pending(self.id()),
            _ => Guard::Resource { name: "assets".into(), version },
        }
    }

    fn put(&mut self, day: Day, status: &ServiceStatus, cases: &[OpenCase]) -> Put {
        let (reason, caller) = (self.text("reason", 99), self.text("ops", 2));
        match self.below(16) {
            0..3 => {
                let severity = self.of(&[Severity::Warning, Severity::Critical]);
                let kind = self.of(&["CHECK", "ANOTHER"]);
                Put::Case(Case { kind, severity, subject: self.subject(), facts: reason })
            }
            3 => Put::Close { kind: "CHECK".into(), subject: self.subject(), fact: reason },
            4 => {
                let note = self.of(&[Note::Assigned(reason.clone()), Note::Comment(reason)]);
                let numbers: Vec<_> = cases.iter().map(|c| c.number).chain([999]).collect();
                Put::Note { case: self.of(&numbers), caller, note }
            }
            5 => Put::Halt { reason },
            6 => {
                let amount = i128::from(self.below(2)) - 1;
                Put::Resume { accepted: vec![Accepted { key: self.text("break", 2), amount }] }
            }
            7 => {
                let scopes = [
                    Scope::Asset(AssetId(3)),
                    Scope::Chain(ChainId(20)),
                    Scope::Account(UserId(1), LedgerId::SPOT),
                    Scope::Transfer(Id(7)),
                ];
                Put::Pause { scope: self.of(&scopes), reason, caller }
            }
            8 => {
                let numbers = status.paused.iter().map(|paused| paused.number);
                Put::Unpause(self.of(&numbers.chain([999]).collect::<Vec<_>>()))
            }
            9 => {
                let (subject, value) = (self.text("subject", 3), self.text("value", 3));
                let (key, result, kind) = (self.text("key", 9), "{}".into(), "HALT");
                Put::Action(Action { caller, key, kind, subject, value, reason, result })
            }
            10 => {
                let (subject, value, kind) = (self.text("a", 3), self.text("b", 3), "RESUME");
                let (id, lasts) = (self.id(), self.below(3) * 4_000_000);
                Put::Propose(Proposal { id, kind, subject, value, reason, caller, lasts })
            }
            11 => {
                let stand = self.of(&[ApprovalStatus::Approved, ApprovalStatus::Rejected]);
                Put::Decide { id: self.id(), stand, caller }
            }
            12 => Put::Asset(Asset {
                daily: self.of(&[None, Some(Amount(7))]),
                ..Asset::plain(u32::try_from(5 + self.below(3)).unwrap(), &reason, 6)
            }),
            13 => Put::Count(self.count(day)),
            14 => Put::Uncount(self.count(day)),
            _ => Put::ForgetDays(Day(day.0 + u32::try_from(self.below(2)).unwrap())),
        }
    }
}

/// Everything that operators see, with the journal's numbers as their order.
async fn image(journal: &dyn Journal, day: Day) -> String {
    // each journal draws its own
    let identity = Identity(0);
    let mut status = ServiceStatus { identity, ..journal.service_status().await.unwrap() };
    status.paused.sort_by_key(|paused| paused.number);
    status.paused = status.paused.into_iter().map(|p| Paused { number: 0, ..p }).collect();
    status.accepted.sort_by(|a, b| (&a.key, a.amount).cmp(&(&b.key, b.amount)));
    status.assets.sort_by_key(|asset| asset.id);
    let mut cases = journal.open_cases().await.unwrap();
    cases.sort_by_key(|case| case.number);
    let cases: Vec<_> = cases.into_iter().map(|c| OpenCase { number: 0, ..c }).collect();
    let mut text = format!("{status:?}\n{cases:?}\n{:?}\n", journal.history(Id(0)).await);
    for n in 0..9 {
        text += &format!("{:?}\n", journal.approval(Id(n)).await);
        for caller in 0..2 {
            let (caller, key) = (format!("ops {caller}"), format!("key {n}"));
            let past_action = journal.past_action(caller.into(), key.into()).await.unwrap();
            text += &format!(
                "{:?}\n",
                past_action.map(|past_action| PastAction { number: 0, ..past_action })
            );
        }
    }
    for user in 1..3 {
        for asset in 3..5 {
            let spent = journal.daily_usage(UserId(user), day, AssetId(asset)).await;
            text += &format!("{user} {asset} {spent:?}\n");
        }
    }
    text
}

/// An answer without the words in which each journal says why.
fn answer(wrote: Wrote) -> Wrote {
    match wrote {
        Wrote::Unknown(cause) => Wrote::Unknown(Cause::of(cause.class)),
        wrote @ (Wrote::Written(_) | Wrote::Lost(_) | Wrote::Full | Wrote::Refused(_)) => wrote,
    }
}

/// What was answered and what was seen, round by round.
async fn lives(seed: u64, sim: Sim, mut site: Site) -> Vec<String> {
    let mut draws = Draws(SplitMix(seed));
    let mut opened = site().await;
    let mut trace = Vec::new();
    for _ in 0..150 {
        sim.sleep(draws.below(8_000_000)).await;
        let journal = opened.journal.clone();
        let day = Day::of(sim.now());
        let mut status = journal.service_status().await.unwrap();
        status.paused.sort_by_key(|paused| paused.number);
        let mut cases = journal.open_cases().await.unwrap();
        cases.sort_by_key(|case| case.number);
        let mut group = Vec::new();
        for _ in 0..=draws.below(3) {
            let version = status.assets_version;
            let guards = (0..draws.below(2)).map(|_| draws.guard(day, version)).collect();
            let puts = (0..=draws.below(3)).map(|_| draws.put(day, &status, &cases)).collect();
            group.push(Unit { guards, then: Then { puts, ..Then::default() } });
        }
        let wrote: Vec<_> = journal.write(group).await.into_iter().map(answer).collect();
        trace.push(format!("{wrote:?}\n{}", image(&*journal, day).await));
        drop(journal);
        if draws.0.once_in(1, 12) {
            drop(opened);
            opened = site().await;
        }
    }
    trace
}

/// The answers that a trace must have seen, or it would be too poor to say anything.
const ANSWERS: [&str; 9] = [
    "Lost(Halt(",
    "Written(",
    "Unknown(",
    "Lost(DayCount",
    "Lost(DayAmount",
    "Lost(NoPastAction",
    "Lost(Pending",
    "Lost(NotHalted",
    "Lost(Resource",
];

#[test]
fn the_embedded_store_keeps_operator_actions_alike() {
    let mut all = String::new();
    for seed in 0..6 {
        let sim = Sim::new(seed);
        let place = Place::new(Arc::new(flows::registry()));
        let site = simulated(&sim, &place);
        let should = sim.block_on(lives(seed, sim.clone(), site)).unwrap();
        let (sim, dir) = (Sim::new(seed), tempfile::tempdir().unwrap());
        let site = embedded(&sim, dir.path().to_owned());
        let is = sim.block_on(lives(seed, sim.clone(), site)).unwrap();
        for (n, (is, should)) in is.iter().zip(&should).enumerate() {
            assert_eq!(is, should, "seed={seed} round={n}");
        }
        assert_eq!(is.len(), should.len());
        all.extend(is);
    }
    for answer in ANSWERS {
        assert!(all.contains(answer), "no {answer}");
    }
}
