//! The state of a lane, as its row in the journal has it. The unit that claims and the unit that closes each compare
//! and swap that row.

use crate::plan::lane_acts::LaneActs;
use kernel::answer::Answer;
use kernel::attempt::{Attempt, AttemptId, Lock, MemberVerdict};
use kernel::ids::{ChainId, Id, Millis};
use kernel::ports::chain::{LaneSpent, LaneStart, NewLane, SpentLock};
use kernel::ports::journal::Resource;
use kernel::unit::{Guard, Put};
use serde_json::{Value, json};
use std::sync::Arc;

/// The name of a lane's row.
pub(crate) fn resource_name(chain: ChainId, lane: &str) -> Arc<str> {
    format!("{}{lane}", prefix(chain)).into()
}

/// What the names of a chain's lanes begin with.
pub(crate) fn prefix(chain: ChainId) -> String {
    format!("lane:{}:", chain.name())
}

/// The retirement of a lane: it takes no further attempt, for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneRetirement {
    /// Who retired it: `issuer|sub`.
    pub by: Arc<str>,
    /// When, by the journal's time.
    pub at: Millis,
    /// The final block at which providers agreed that the chain no longer has it; `None`: that is not
    /// proven, or the chain has it again.
    pub gone_at: Option<u64>,
    /// The final block at which providers agreed that the chain has it again, after it was proven gone.
    pub returned_at: Option<u64>,
}

impl LaneRetirement {
    fn value(&self) -> Value {
        let Self { by, at, gone_at, returned_at } = self;
        json!({ "by": &**by, "at": at, "gone_at": gone_at, "returned_at": returned_at })
    }

    fn read(value: &Value) -> Option<Self> {
        let height = |value: &Value| match value.as_u64() {
            None if !value.is_null() => None,
            height => Some(height),
        };
        Some(Self {
            by: value.get("by")?.as_str()?.into(),
            at: value.get("at")?.as_u64()?,
            gone_at: height(value.get("gone_at")?)?,
            // a row without the field is of a release before
            returned_at: height(value.get("returned_at").unwrap_or(&Value::Null))?,
        })
    }
}

/// A lock and the height of it, as a lane's row has them.
fn read_start(value: &Value) -> Option<LaneStart> {
    let lock = Lock::from(value.get("lock")?.as_str()?);
    Some(LaneStart { lock, height: value.get("height")?.as_u64()? })
}

fn start_value(LaneStart { lock, height }: &LaneStart) -> Value {
    json!({ "lock": &*lock.0, "height": height })
}

/// The state of a lane in the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LaneState {
    /// The version of its row; 0: there is none, and it was never used.
    pub version: u32,
    /// The attempt that has it.
    pub open: Option<AttemptId>,
    /// The lock of its last attempt.
    pub lock: Option<Lock>,
    /// The lock from which on the journal has to know what the lane spent, where no attempt was stored since:
    /// the chain had it when it was first seen or began it again with it, or two persons accepted what was spent.
    pub start: Option<LaneStart>,
    /// What the chain was seen to have spent of it beyond every attempt, and at which height. It stopped the
    /// chain; the unit that lifts that stop takes it away.
    pub ahead: Option<LaneStart>,
    /// The highest height of the chain that its attempts had: one that a form was signed against, or a receipt's.
    pub height: Option<u64>,
    /// The last attempt of each act that the chain carried out.
    pub carried_out: LaneActs,
    /// No attempt takes it any more. Every later state keeps that.
    pub retired: Option<LaneRetirement>,
}

/// The heights that the forms of an attempt were signed against.
pub(crate) fn anchors(attempt: &Attempt) -> impl Iterator<Item = u64> {
    attempt.forms.iter().filter_map(|form| form.anchor)
}

impl LaneState {
    /// The value of the lane's row, as JSON.
    pub(crate) fn value(&self) -> Arc<str> {
        let open = self.open.map(|id| Id(id.0).to_string());
        let mut value = json!({ "lock": self.lock.as_ref().map(|lock| &*lock.0), "open": open });
        if let (Some(fields), Some(retired)) = (value.as_object_mut(), &self.retired) {
            fields.insert("retired".to_owned(), retired.value());
        }
        for (name, at) in [("start", &self.start), ("ahead", &self.ahead)] {
            if let (Some(fields), Some(at)) = (value.as_object_mut(), at) {
                fields.insert(name.to_owned(), start_value(at));
            }
        }
        if let (Some(fields), Some(height)) = (value.as_object_mut(), self.height) {
            fields.insert("height".to_owned(), height.into());
        }
        if let (Some(fields), Some(acts)) = (value.as_object_mut(), self.carried_out.value()) {
            fields.insert("carried_out".to_owned(), acts);
        }
        value.to_string().into()
    }

    /// The lane that a row describes; `None` where the row is none of this release's, so that no attempt
    /// takes the lane.
    pub(crate) fn read(row: &Resource) -> Option<Self> {
        let value: Value = serde_json::from_str(&row.value).ok()?;
        let text = |name: &str| match value.get(name)? {
            Value::Null => Some(None),
            Value::String(text) => Some(Some(text.as_str())),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let open = match text("open")? {
            Some(id) => Some(AttemptId(id.parse::<Id>().ok()?.0)),
            None => None,
        };
        let retired = match value.get("retired") {
            None | Some(Value::Null) => None,
            // one that cannot be read is no free lane
            Some(retired) => Some(LaneRetirement::read(retired)?),
        };
        let start = |name: &str| match value.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(start) => read_start(start).map(Some),
        };
        let (start, ahead) = (start("start")?, start("ahead")?);
        let lock = text("lock")?.map(Lock::from);
        // a row without it is of a release before
        let height = match value.get("height") {
            None | Some(Value::Null) => None,
            Some(height) => Some(height.as_u64()?),
        };
        let carried_out = match value.get("carried_out") {
            None | Some(Value::Null) => LaneActs::default(),
            Some(acts) => LaneActs::read(acts)?,
        };
        Some(Self { version: row.version, open, lock, start, ahead, height, carried_out, retired })
    }

    /// The lane after the unit that stores this attempt, which has it from then on unless it is closed.
    pub(crate) fn next(&self, attempt: &Attempt) -> Self {
        let lock = Some(Lock::from(attempt.lock.on_chain()));
        let open = attempt.closed.is_none().then_some(attempt.id);
        let height = anchors(attempt).chain(self.last_height()).max();
        Self { open, lock, start: None, height, ..self.written() }
    }

    /// The lane after the unit that closes its attempt. A start that is stored is behind that attempt.
    pub(crate) fn closed(&self, attempt: &Attempt, verdicts: &[MemberVerdict]) -> Self {
        let receipts = verdicts.iter().filter_map(|verdict| match &verdict.answer {
            Answer::Done(receipt) | Answer::Rejected(_, receipt) => Some(receipt.seq),
            Answer::Dead(_) | Answer::Unknown(_) => None,
        });
        let height = anchors(attempt).chain(receipts).chain(self.height).max();
        Self { open: None, height, ..self.written() }
    }

    /// The lane after such a unit, where it closes the attempt because another transaction spent the lock: what the
    /// lane spent from `before` on is still to be read.
    pub(crate) fn spent_elsewhere(self, SpentLock { before, left, .. }: &SpentLock) -> Self {
        let LaneSpent { lock, height, .. } = left.clone();
        let ahead = Some(LaneStart { lock, height });
        Self { start: Some(before.clone()), ahead, ..self }
    }

    /// The lane after one more write, which says where it begins.
    pub(crate) fn begun(&self, new: &NewLane) -> Self {
        Self { start: new.start.clone(), ..self.written() }
    }

    /// The lane after one more write, which says that the chain is ahead of it.
    pub(crate) fn seen_ahead(&self, seen: LaneStart) -> Self {
        Self { ahead: Some(seen), ..self.written() }
    }

    /// The lane after one more write, which says that an attempt is stored for each lock that the chain spent.
    pub(crate) fn explained(&self) -> Self {
        Self { ahead: None, ..self.written() }
    }

    /// The lane after one more write, in which two persons accepted what the chain was seen to have spent.
    pub(crate) fn accepted(&self) -> Self {
        let start = self.ahead.clone().or_else(|| self.start.clone());
        Self { start, ahead: None, ..self.written() }
    }

    /// The guard and the put of the write that brings the lane's row from this state to a later one.
    pub(crate) fn becomes(&self, chain: ChainId, lane: &str, after: &Self) -> (Guard, Put) {
        let name = resource_name(chain, lane);
        let guard = Guard::Resource { name: name.clone(), version: self.version };
        (guard, Put::Resource { name, value: after.value() })
    }

    /// The highest height at which the row says how the lane stood.
    pub(crate) fn known_height(&self) -> Option<u64> {
        let retired = self.retired.iter().flat_map(|one| [one.gone_at, one.returned_at]).flatten();
        retired.chain(self.start.iter().map(|start| start.height)).max()
    }

    /// The highest height of the chain that the row has.
    pub(crate) fn last_height(&self) -> Option<u64> {
        let ahead = self.ahead.as_ref().map(|ahead| ahead.height);
        ahead.into_iter().chain(self.known_height()).chain(self.height).max()
    }

    fn written(&self) -> Self {
        Self { version: self.version.saturating_add(1), ..self.clone() }
    }

    /// The lane after one more write, which retires it. Its attempt, where one is open, goes on.
    pub(crate) fn retired(&self, retired: LaneRetirement) -> Self {
        Self { retired: Some(retired), ..self.written() }
    }

    /// The lane after one more write, which says that it is proven gone and signs nothing any more.
    pub(crate) fn gone(&self, height: u64) -> Option<Self> {
        let retired = self.retired.clone()?;
        let retired = LaneRetirement { gone_at: Some(height), returned_at: None, ..retired };
        Some(Self { start: None, ..self.retired(retired) })
    }

    /// The lane after one more write, which says that the chain has it again. It stays retired.
    pub(crate) fn returned(&self, height: u64, start: Option<LaneStart>) -> Option<Self> {
        let retired = self.retired.clone()?;
        let retired = LaneRetirement { gone_at: None, returned_at: Some(height), ..retired };
        Some(Self { start, ..self.retired(retired) })
    }

    /// The block at which it was proven gone, where that stands.
    pub(crate) fn gone_at(&self) -> Option<u64> {
        self.retired.as_ref()?.gone_at
    }

    /// The last lock of the lane that the journal knows, and a height at which nothing beyond it was spent,
    /// where the chain named one.
    pub(crate) fn last(&self) -> Option<(Lock, Option<u64>)> {
        match &self.start {
            Some(start) => Some((start.lock.clone(), Some(start.height))),
            None => Some((self.lock.clone()?, None)),
        }
    }

    /// True where an attempt may take its next lock.
    pub(crate) fn is_free(&self) -> bool {
        self.open.is_none() && self.retired.is_none() && self.ahead.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::{LaneActs, LaneRetirement, LaneStart, LaneState, Resource, resource_name};
    use kernel::answer::{Answer, Evidence, Receipt};
    use kernel::attempt::{Attempt, AttemptId, Form, MemberVerdict, Purpose};
    use kernel::ids::{ChainId, FlowId};
    use std::sync::Arc;

    fn row(value: &str) -> Resource {
        Resource { name: "lane:NEAR:key-1".into(), version: 7, value: value.into() }
    }

    #[test]
    fn a_lane_reads_what_it_writes() {
        assert_eq!(&*resource_name(ChainId(20), "key-1"), "lane:NEAR:key-1");
        let busy = LaneState {
            version: 7,
            open: Some(AttemptId(1 << 90)),
            lock: Some("18446744073709551616".into()),
            start: None,
            ahead: None,
            height: Some(48),
            carried_out: LaneActs::default(),
            retired: None,
        };
        let free = LaneState { version: 7, open: None, ..busy.clone() };
        let retired = LaneState { version: 7, ..busy.retired(retirement(None)) };
        let gone = LaneState { version: 7, ..free.retired(retirement(Some(u64::MAX))) };
        let start = LaneStart { lock: "47000000".into(), height: 48 };
        let back = gone.returned(50, Some(start)).map(|back| LaneState { version: 7, ..back });
        let unknown = gone.returned(50, None).map(|back| LaneState { version: 7, ..back });
        let [back, unknown] = [back, unknown].map(Option::unwrap);
        let fresh = LaneState { version: 7, ..LaneState::default() };
        for state in [busy, free, retired, gone, back, unknown, fresh] {
            assert_eq!(LaneState::read(&row(&state.value())), Some(state));
        }
    }

    /// Turns red where the unit that closes a retired lane's attempt, or one that claims, forgets that.
    #[test]
    fn a_lane_stays_retired() {
        let busy = LaneState { open: Some(AttemptId(1)), ..LaneState::default() };
        let retired = busy.retired(retirement(None));
        assert_eq!((retired.open, retired.version), (Some(AttemptId(1)), 1));
        let free = retired.next(&over("7", 48));
        assert_eq!(free.retired, Some(retirement(None)));
        assert!(!free.is_free());
        // a row without the field is of a release before
        let old = LaneState::read(&row(r#"{"open":null,"lock":"7"}"#));
        assert_eq!(old.and_then(|state| state.retired), None);
        let old = r#"{"open":null,"lock":"7","retired":{"by":"portage|ada","at":5,"gone_at":9}}"#;
        let old = LaneState::read(&row(old)).and_then(|state| state.retired);
        assert_eq!(old, Some(retirement(Some(9))));
    }

    /// Turns red where what spent a lock since the chain has a key again is held against what was spent before it was
    /// deleted, and where the key's beginning outlives an attempt that is stored after it.
    #[test]
    fn a_lane_that_is_back_is_held_against_its_beginning() {
        let used = LaneState { lock: Some("7".into()), ..LaneState::default() };
        assert_eq!(used.last(), Some(("7".into(), None)));
        let start = LaneStart { lock: "47000000".into(), height: 48 };
        let gone = used.retired(retirement(None)).gone(40).unwrap();
        assert_eq!((gone.gone_at(), gone.last()), (Some(40), used.last()));
        let back = gone.returned(50, Some(start)).unwrap();
        assert_eq!((back.gone_at(), back.last()), (None, Some(("47000000".into(), Some(48)))));
        assert_eq!(back.lock, used.lock, "the lock of its last attempt");
        let used = back.next(&over("47000001", 48));
        assert_eq!(used.last(), Some(("47000001".into(), None)));
        let again = back.gone(60).unwrap();
        assert_eq!((again.gone_at(), again.start.is_none()), (Some(60), true));
        assert_eq!(again.retired.and_then(|retired| retired.returned_at), None);
    }

    /// Turns red where a row that cannot be read counts as a free lane.
    #[test]
    fn what_is_no_lane_is_none() {
        for value in [
            "",
            "{}",
            "[]",
            r#"{"open":7,"lock":null}"#,
            r#"{"open":"x","lock":null}"#,
            r#"{"open":null,"lock":null,"retired":true}"#,
            r#"{"open":null,"lock":null,"start":{"lock":7}}"#,
            r#"{"open":null,"lock":null,"height":"7"}"#,
        ] {
            assert_eq!(LaneState::read(&row(value)), None, "{value}");
        }
    }

    /// Turns red where the row forgets a height that the journal has stored of the chain: the next process believes
    /// providers that have not seen it.
    #[test]
    fn a_lane_keeps_the_highest_height_of_its_attempts() {
        let start = LaneStart { lock: "6".into(), height: 40 };
        let seen = LaneState { start: Some(start), ..LaneState::default() };
        let open = Attempt { closed: None, ..over("7", 30) };
        let taken = seen.next(&open);
        assert_eq!((taken.open, taken.last_height()), (Some(open.id), Some(40)));
        let receipt = |seq| MemberVerdict { answer: Answer::Done(Receipt::seq(seq)), alone: false };
        assert_eq!(taken.closed(&open, &[receipt(55)]).last_height(), Some(55));
        let dead = open.dead(&Evidence { code: "SPOILED".into(), doc: None });
        let later = Attempt { forms: over("7", 50).forms, ..open };
        let free = taken.closed(&later, &dead);
        assert_eq!((free.open, free.last_height()), (None, Some(50)));
        assert_eq!(free.next(&over("8", 45)).last_height(), Some(50));
    }

    /// A closed attempt of a lock, signed against a height.
    fn over(lock: &str, anchor: u64) -> Attempt {
        let form = Form {
            purpose: Purpose::Pay,
            name: Arc::new([1]),
            bytes: Arc::new([]),
            repeatable: true,
            expires: None,
            anchor: Some(anchor),
            reference: None,
        };
        Attempt {
            id: AttemptId(9),
            chain: ChainId(20),
            flow: FlowId(3),
            state: 0,
            version: Attempt::FIRST,
            lane: "key-1".into(),
            lock: lock.into(),
            members: Arc::new([]),
            forms: vec![form],
            sent: true,
            due_at: None,
            closed: Some(1),
        }
    }

    fn retirement(gone_at: Option<u64>) -> LaneRetirement {
        LaneRetirement { by: "portage|ada".into(), at: 5, gone_at, returned_at: None }
    }
}
