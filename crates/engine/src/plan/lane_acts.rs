//! The acts that the chain carried out for a lane's attempts, as the lane's row keeps them: of each act and asset the
//! last one. A process that tries a refused transfer again finds there what other processes have proven.

use kernel::attempt::AttemptId;
use kernel::ids::{AssetId, Id};
use serde_json::{Value, json};
use std::sync::Arc;

/// An attempt that the chain carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaneAct {
    /// The name of the act in the flow's table.
    pub act: Arc<str>,
    /// The asset of the members.
    pub asset: AssetId,
    /// The attempt, whose members say for which accounts.
    pub attempt: AttemptId,
    /// The height of its block.
    pub height: u64,
}

/// The last attempt of each act and asset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LaneActs(Vec<LaneAct>);

impl LaneActs {
    /// The value in the lane's row; `None` where there is nothing to keep.
    pub(crate) fn value(&self) -> Option<Value> {
        let each = self.0.iter().map(|LaneAct { act, asset, attempt, height }| {
            let attempt = Id(attempt.0).to_string();
            json!({ "act": &**act, "asset": asset.0, "attempt": attempt, "height": height })
        });
        (!self.0.is_empty()).then(|| each.collect())
    }

    /// Reads the value; `None` where it is none of this release's.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let one = |value: &Value| {
            Some(LaneAct {
                act: value.get("act")?.as_str()?.into(),
                asset: AssetId(value.get("asset")?.as_u64()?.try_into().ok()?),
                attempt: AttemptId(value.get("attempt")?.as_str()?.parse::<Id>().ok()?.0),
                height: value.get("height")?.as_u64()?,
            })
        };
        value.as_array()?.iter().map(one).collect::<Option<_>>().map(Self)
    }

    /// These acts and one more.
    pub(crate) fn with(mut self, act: LaneAct) -> Self {
        self.0.retain(|known| (&known.act, known.asset) != (&act.act, act.asset));
        self.0.push(act);
        self
    }

    /// Those of blocks above that height.
    pub(crate) fn above(&self, height: Option<u64>) -> impl Iterator<Item = &LaneAct> {
        self.0.iter().filter(move |act| Some(act.height) > height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(act: &str, attempt: u128, height: u64) -> LaneAct {
        LaneAct { act: act.into(), asset: AssetId(3), attempt: AttemptId(attempt), height }
    }

    /// Turns red where a lane forgets its last payment at its next registration, or its row does not read what it wrote.
    #[test]
    fn the_last_attempt_of_each_act_is_kept() {
        let none = LaneActs::default();
        assert_eq!(none.value(), None);
        let all = none.with(act("pay", 1, 10)).with(act("register", 2, 11)).with(act("pay", 3, 12));
        let kept: Vec<&LaneAct> = all.above(None).collect();
        assert_eq!(kept, [&act("register", 2, 11), &act("pay", 3, 12)]);
        assert_eq!(all.above(Some(11)).count(), 1);
        assert_eq!(all.value().and_then(|value| LaneActs::read(&value)), Some(all));
        assert_eq!(LaneActs::read(&json!([{ "act": "pay" }])), None);
    }
}
