//! The ledgers at their ports, asked for what no engine would ask for.
#![expect(clippy::wildcard_enum_match_arm, reason = "a wrong thing concerns few layers")]

use super::Wrong;
use super::bare_service::{Bare, OTHER, Of, UNIT, known, op};
use kernel::answer::Answer;
use kernel::flow::life::Leg;
use kernel::flow::life::Leg::{Deposit, Refund, Settle, Withdraw};
use kernel::ids::{AssetId, UserId};
use kernel::operation::{Identity, Incarnation, Known, Op};
use kernel::ports::ledger::{AccountStatus, Ledger, Reply};
use std::sync::Arc;

/// A transfer that was not made before.
const N: u64 = 1;

impl Bare {
    pub(super) async fn funding(&self, wrong: Wrong) -> String {
        self.at(self.service.store.funding(), wrong).await
    }

    pub(super) async fn spot(&self, wrong: Wrong) -> String {
        self.at(self.core(), wrong).await
    }

    /// What a ledger says to one operation.
    pub(super) async fn call(&self, ledger: &dyn Ledger, op: Op) -> String {
        said(ledger.execute(known(ledger).await, Arc::new([op])).await)
    }

    async fn at(&self, ledger: Arc<dyn Ledger>, wrong: Wrong) -> String {
        let ledger = &*ledger;
        let withdraw = || op(N, Withdraw, 5 * UNIT);
        let (first, last) = match wrong {
            Wrong::UserZero => (vec![], withdraw().of(UserId(0))),
            Wrong::UserTooLarge => {
                (vec![], op(N, Deposit, UNIT).of(UserId(i64::MAX.unsigned_abs() + 1)))
            }
            Wrong::NoSuchAsset => (vec![], Op { asset: AssetId(99), ..withdraw() }),
            Wrong::Nothing => (vec![], op(N, Withdraw, 0)),
            Wrong::TooMuchToCount => (vec![], op(N, Deposit, u128::MAX)),
            Wrong::NoAccount => (vec![], withdraw().of(UserId(4003))),
            Wrong::NoReceiver => (vec![], op(N, Deposit, UNIT).of(UserId(4003))),
            Wrong::Poor => (vec![], op(N, Withdraw, 100 * UNIT + 1)),
            Wrong::Frozen | Wrong::Disabled | Wrong::DisabledReceiver => {
                let frozen = wrong == Wrong::Frozen;
                let status = if frozen { AccountStatus::Frozen } else { AccountStatus::Disabled };
                self.set(ledger, status).await;
                let leg = if wrong == Wrong::DisabledReceiver { Deposit } else { Withdraw };
                (vec![], op(N, leg, UNIT))
            }
            Wrong::AfterFence => {
                let fenced = ledger.fence(known(ledger).await, withdraw().key).await;
                assert!(matches!(fenced, Reply::Answered(..)), "{fenced:?}");
                (vec![], withdraw())
            }
            Wrong::OtherAmount => (vec![withdraw()], op(N, Withdraw, 6 * UNIT)),
            Wrong::OtherUser => (vec![withdraw()], withdraw().of(OTHER)),
            Wrong::OtherAsset => (vec![withdraw()], Op { asset: AssetId(1), ..withdraw() }),
            Wrong::SettleAlone => (vec![], op(N, Settle, 5 * UNIT)),
            Wrong::RefundAlone => (vec![], op(N, Refund, 5 * UNIT)),
            Wrong::RefundOfRefused => {
                let much = 1_000 * UNIT;
                let refused = self.call(ledger, op(N, Withdraw, much)).await;
                assert_eq!(refused, "INSUFFICIENT_BALANCE");
                (vec![], op(N, Refund, much))
            }
            Wrong::RefundOfMore => (vec![withdraw()], op(N, Refund, 5 * UNIT + 1)),
            Wrong::RefundOfLess => (vec![withdraw()], op(N, Refund, 5 * UNIT - 1)),
            Wrong::RefundToAnother => (vec![withdraw()], op(N, Refund, 5 * UNIT).of(OTHER)),
            Wrong::RefundOfAnotherAsset => {
                (vec![withdraw()], Op { asset: AssetId(1), ..op(N, Refund, 5 * UNIT) })
            }
            Wrong::RefundAfterSettle => {
                (vec![withdraw(), op(N, Settle, 5 * UNIT)], op(N, Refund, 5 * UNIT))
            }
            Wrong::SettleAfterRefund => {
                (vec![withdraw(), op(N, Refund, 5 * UNIT)], op(N, Settle, 5 * UNIT))
            }
            Wrong::SecondRefund => {
                (vec![withdraw(), op(N, Refund, 5 * UNIT)], op(N, Refund, 5 * UNIT))
            }
            Wrong::Stranger | Wrong::OlderStart | Wrong::LostOperations => {
                return self.misled(ledger, wrong).await;
            }
            _ => panic!("{wrong:?} is not a ledger's to know"),
        };
        let steps = first.iter().map(|op| op.key.leg).collect::<Vec<_>>();
        for op in first {
            assert_eq!(self.call(ledger, op).await, "done", "{wrong:?}");
        }
        let before = self.seen().await;
        let said = self.call(ledger, last).await;
        assert_eq!(self.since(before).await, [""; 0], "{wrong:?}: something moved");
        self.back(ledger, &steps).await;
        said
    }

    /// What was done rightly before the wrong thing is given back, so that all is as it was.
    async fn back(&self, ledger: &dyn Ledger, steps: &[Leg]) {
        match steps {
            [] | [Withdraw, Refund] => {}
            [Withdraw] => {
                assert_eq!(self.call(ledger, op(N, Refund, 5 * UNIT)).await, "done");
            }
            _ => {
                // what was settled comes back as the deposit of another transfer
                assert_eq!(self.call(ledger, op(N + 1, Deposit, 5 * UNIT)).await, "done");
            }
        }
    }

    /// A request that means another ledger than this one.
    async fn misled(&self, ledger: &dyn Ledger, wrong: Wrong) -> String {
        let own = known(ledger).await;
        let known = match wrong {
            Wrong::Stranger => Known { identity: Identity(own.identity.0 ^ 1), ..own },
            Wrong::OlderStart => Known { incarnation: Incarnation(own.incarnation.0 ^ 1), ..own },
            _ => Known { highest: own.highest + 1, ..own },
        };
        said(ledger.execute(known, Arc::new([op(N, Withdraw, UNIT)])).await)
    }
}

fn said(reply: Reply<Vec<Answer>>) -> String {
    match reply {
        Reply::OtherLedger(_) => "WRONG_LEDGER".to_owned(),
        Reply::NoAnswer(cause) => format!("nothing: {cause}"),
        Reply::Answered(_, answers) => match answers.as_slice() {
            [Answer::Done(_)] => "done".to_owned(),
            [Answer::Rejected(evidence, _)] => evidence.code.to_string(),
            [Answer::Unknown(cause)] => format!("unknown {}", cause.class),
            other => panic!("one answer to one operation: {other:?}"),
        },
    }
}
