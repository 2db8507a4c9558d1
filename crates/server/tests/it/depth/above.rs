//! The door and the engine, asked for what must not be.
#![expect(clippy::wildcard_enum_match_arm, reason = "a wrong thing concerns few layers")]

use super::Wrong;
use super::bare_service::{Bare, FUNDING, OTHER, SPOT, UNIT, USDT, USER};
use engine::Refused;
use kernel::ids::{AssetId, ChainId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::record::{Account, Binding, System, Terms};
use kernel::unit::{Put, Unit};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// How often one key asks before the answer counts.
const ASKED: usize = 20;

const ANY: &str = "transfers:create transfers:any";

fn too_large() -> u64 {
    i64::MAX.unsigned_abs() + 1
}

impl Bare {
    /// What both layers need done before.
    pub(super) async fn prepare(&self, wrong: Wrong) {
        if wrong == Wrong::Halted {
            let unit = Unit::puts(vec![Put::Halt { reason: "a test".into() }]);
            self.service.store.write(vec![unit]).await;
        }
        if matches!(wrong, Wrong::BoundKey | Wrong::DayFull) {
            let mut terms = terms();
            terms = with(terms, USDT, Amount(7 * UNIT));
            if wrong == Wrong::DayFull {
                terms.binding = terms.binding.map(|bound| Binding { key: "other".into(), ..bound });
            }
            let made = self.asked(terms).await.expect("it is opened");
            // on a slow machine the answer is PENDING, and the money moves later
            self.ends(made.record).await;
        }
    }

    /// The code under which the door refuses.
    pub(super) async fn door(&self, wrong: Wrong) -> String {
        let mut body = json!({
            "from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "5", "cid": "k",
        });
        let mut scope = "transfers:create";
        match wrong {
            Wrong::AnothersMoney => body["user_id"] = json!(OTHER.0),
            Wrong::UserZero => (body["user_id"], scope) = (json!(0), ANY),
            Wrong::UserTooLarge => (body["user_id"], scope) = (json!(too_large().to_string()), ANY),
            Wrong::SameAccount => body["to"] = json!("FUNDING"),
            Wrong::NoSuchType => body["to"] = json!("NEAR"),
            Wrong::NotConfigured => body["to"] = json!("MARGIN"),
            Wrong::NoSuchAsset => body["asset"] = json!("XYZ"),
            Wrong::Suspended => body["asset"] = json!("ETH"),
            Wrong::Delisted => body["asset"] = json!("USDC"),
            Wrong::NotTransferable => body["asset"] = json!("USD"),
            Wrong::Nothing => body["amount"] = json!("0"),
            Wrong::TooMuchToCount => body["amount"] = json!("9223372036854.775808"),
            Wrong::TooLittle => body["amount"] = json!("0.999999"),
            Wrong::TooMuch => body["amount"] = json!("500.000001"),
            Wrong::Draining => self.app.draining.store(true, Ordering::Relaxed),
            _ => {}
        }
        let mut said = self.code_of("/api/v1/internal_transfer", scope, body.clone()).await;
        for _ in 1..ASKED {
            if said == "SYSTEM_ERROR" {
                said = self.code_of("/api/v1/internal_transfer", scope, body.clone()).await;
            }
        }
        said
    }

    /// What the engine says. On a slow machine it may not be known in time: the same key asks again.
    async fn asked(&self, terms: Terms) -> Result<engine::Accepted, Refused> {
        let mut said = self.app.engine.intake.create(self.app.internal, terms.clone()).await;
        for _ in 1..ASKED {
            if matches!(said, Err(Refused::Unknown(_))) {
                said = self.app.engine.intake.create(self.app.internal, terms.clone()).await;
            }
        }
        said
    }

    /// The code of what the door answers to the user.
    pub(super) async fn code_of(&self, path: &str, scope: &str, body: Value) -> String {
        let reply = self.post((&USER.to_string(), scope), path, body).await;
        reply.body["code"].as_str().unwrap_or("done").to_owned()
    }

    /// The code under which the engine refuses, with no check before it.
    pub(super) async fn engine(&self, wrong: Wrong) -> String {
        let mut terms = terms();
        match wrong {
            Wrong::AnothersMoney => terms.source.account = Account::User(OTHER),
            Wrong::UserZero => terms = of(terms, UserId(0)),
            Wrong::UserTooLarge => terms = of(terms, UserId(too_large())),
            Wrong::SameAccount => terms.target = terms.source.clone(),
            Wrong::NoSuchType => terms.target.system = System::Chain(ChainId(20)),
            Wrong::NotConfigured => terms.target.system = System::Ledger(LedgerId::MARGIN),
            Wrong::NoSuchAsset => terms = with(terms, AssetId(99), Amount(5 * UNIT)),
            Wrong::Suspended => terms = with(terms, AssetId(2), Amount(5 * UNIT)),
            Wrong::Delisted => terms = with(terms, AssetId(4), Amount(5 * UNIT)),
            Wrong::NotTransferable => terms = with(terms, AssetId(5), Amount(5 * UNIT)),
            Wrong::Nothing => terms = with(terms, USDT, Amount::ZERO),
            Wrong::TooMuchToCount => terms = with(terms, USDT, Amount(9_223_372_036_854_775_808)),
            Wrong::TooLittle => terms = with(terms, USDT, Amount(999_999)),
            Wrong::TooMuch => terms = with(terms, USDT, Amount(500_000_001)),
            Wrong::Draining => self.app.engine.drain(0).await,
            _ => {}
        }
        match self.asked(terms).await {
            Ok(_) => "done".to_owned(),
            Err(Refused::Code(code)) => code.name().to_owned(),
            Err(Refused::Mismatch(_)) => "DUPLICATE_REQUEST".to_owned(),
            Err(Refused::Unknown(cause)) => format!("unknown {}", cause.class),
        }
    }
}

/// 5 USDT from Funding to Spot, which nothing is wrong with.
fn terms() -> Terms {
    Terms {
        binding: Some(Binding {
            scope: "portage|4001".into(),
            key: "k".into(),
            fingerprint: [0; 32],
        }),
        ..Terms::between_ledgers(
            "portage|4001".into(),
            USER,
            [FUNDING, SPOT],
            USDT,
            Amount(5 * UNIT),
        )
    }
}

fn with(mut terms: Terms, asset: AssetId, amount: Amount) -> Terms {
    for party in terms.parties_mut() {
        (party.asset, party.amount) = (asset, amount);
    }
    terms
}

fn of(mut terms: Terms, user: UserId) -> Terms {
    terms.owner = TransferOwner::User(user);
    terms.source.account = Account::User(user);
    terms.target.account = Account::User(user);
    terms
}
