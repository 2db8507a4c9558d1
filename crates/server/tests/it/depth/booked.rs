//! Outside money, asked of the door, and of Funding past the door.
#![expect(clippy::wildcard_enum_match_arm, reason = "a wrong thing concerns few layers")]

use super::Wrong;
use super::bare_service::{Bare, UNIT, USDT, USER};
use kernel::ids::{AssetId, UserId};
use kernel::money::Amount;
use kernel::ports::ledger::{AccountStatus, Direction, External, Moved};
use serde_json::json;

impl Wrong {
    /// It is about money from or to the world.
    pub(super) const fn books(self) -> bool {
        matches!(
            self,
            Self::BookNoAsset
                | Self::BookNothing
                | Self::BookUserZero
                | Self::BookNoAccount
                | Self::BookFrozen
                | Self::BookDisabled
                | Self::BookPoor
                | Self::BookSameReference
        )
    }
}

impl Bare {
    /// What is asked for, once what it needs besides is done.
    async fn movement(&self, wrong: Wrong) -> External {
        let mut movement = External {
            direction: Direction::Out,
            reference: "r".into(),
            user: USER,
            number: None,
            asset: USDT,
            amount: Amount(5 * UNIT),
            reason: "a test".into(),
            caller: "test".into(),
        };
        let funding = self.service.store.funding();
        match wrong {
            Wrong::BookNoAsset => movement.asset = AssetId(99),
            Wrong::BookNothing => movement.amount = Amount::ZERO,
            Wrong::BookUserZero => movement.user = UserId(0),
            Wrong::BookNoAccount => movement.user = UserId(4003),
            Wrong::BookFrozen => self.set(&*funding, AccountStatus::Frozen).await,
            Wrong::BookDisabled => {
                movement.direction = Direction::In;
                self.set(&*funding, AccountStatus::Disabled).await;
            }
            Wrong::BookPoor => movement.amount = Amount(1_000 * UNIT),
            Wrong::BookSameReference => {
                // what funded the user
                movement.direction = Direction::In;
                movement.reference = format!("{USER}-{USDT}").into();
            }
            _ => panic!("{wrong:?} is no booking"),
        }
        movement
    }

    /// What Funding says to it, with no check before it.
    pub(super) async fn booked(&self, wrong: Wrong) -> String {
        let movement = self.movement(wrong).await;
        match self.service.store.funding().external(movement).await {
            Ok(Moved::Done { .. }) => "done".to_owned(),
            Ok(Moved::Refused(code)) => code.name().to_owned(),
            Ok(Moved::Conflict(_)) => "DUPLICATE_REQUEST".to_owned(),
            Err(cause) => format!("unknown {}", cause.class),
        }
    }

    /// What the door says to it.
    pub(super) async fn asked_to_book(&self, wrong: Wrong) -> String {
        let External { direction, reference, user, asset, amount, reason, .. } =
            self.movement(wrong).await;
        let path = match direction {
            Direction::In => "/api/v1/ops/deposits",
            Direction::Out => "/api/v1/ops/withdrawals",
        };
        let asset = if asset == USDT { "USDT" } else { "XYZ" };
        let body = json!({
            "user_id": user.0, "asset": asset, "amount": (amount.0 / UNIT).to_string(),
            "ref": *reference, "reason": *reason,
        });
        self.code_of(path, "ops:act", body).await
    }
}
