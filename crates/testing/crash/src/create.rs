//! A create as the driver sends it, and the meaning of its answer.

use crate::Outcome;
use crate::book::Wish;
use crate::history::Kind;
use crate::store::body;
use client::types::{CreateTransfer, Movement, UserIdText};
use client::{Client, Error};

/// What a create was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateResult {
    /// The service knows it: it was opened, now or before.
    Known {
        id: String,
        /// What it is, in the driver's spelling.
        body: String,
        /// Its state; empty where it has none.
        state: String,
        /// The key had been used before.
        replayed: bool,
    },
    /// It was refused with this code, and opened nothing.
    Refused(String),
    /// It was not even sent.
    Unreachable,
    /// It may have been opened: what was seen of the call.
    Unknown(String),
}

/// Sends a create.
///
/// # Errors
/// An answer that none may be.
pub(crate) async fn put(client: &Client, key: &str, wish: &Wish) -> Outcome<CreateResult> {
    match wish.kind {
        Kind::Transfer => transfer(client, key, wish).await,
        Kind::Deposit | Kind::Withdrawal => outside(client, key, wish).await,
    }
}

async fn transfer(client: &Client, key: &str, wish: &Wish) -> Outcome<CreateResult> {
    let (from, to) = if wish.in_to_spot { ("FUNDING", "SPOT") } else { ("SPOT", "FUNDING") };
    let new = CreateTransfer {
        from: from.to_owned(),
        to: to.to_owned(),
        asset: wish.asset.to_owned(),
        amount: wish.amount(),
        cid: Some(key.to_owned()),
        user_id: Some(UserIdText(wish.user)),
        reference: None,
        metadata: None,
    };
    match client.create(&new).await {
        Ok(made) => {
            let found = made.transfer;
            let in_to_spot = found.from == "FUNDING" && found.to == "SPOT";
            Ok(CreateResult::Known {
                id: found.req_id,
                body: body(wish.user, in_to_spot, units(&found.amount)?),
                state: found.state,
                replayed: made.replayed,
            })
        }
        Err(fault) => told(fault),
    }
}

async fn outside(client: &Client, key: &str, wish: &Wish) -> Outcome<CreateResult> {
    let movement = Movement {
        user_id: UserIdText(wish.user),
        asset: wish.asset.to_owned(),
        amount: wish.amount(),
        reference: key.to_owned(),
        reason: "campaign".to_owned(),
    };
    let booked = if wish.kind == Kind::Deposit {
        client.deposit(&movement).await
    } else {
        client.withdraw(&movement).await
    };
    match booked {
        Ok((booked, fresh)) => Ok(CreateResult::Known {
            id: booked.operation_id.to_string(),
            body: format!("{} {}", booked.user_id, units(&booked.amount)?),
            state: String::new(),
            replayed: !fresh,
        }),
        Err(fault) => told(fault),
    }
}

fn told(fault: Error) -> Outcome<CreateResult> {
    match fault {
        Error::Refused { status: 401 | 403, sentence, .. } => Err(format!("no way in: {sentence}")),
        Error::Refused { code, .. } => Ok(CreateResult::Refused(code)),
        Error::Unreachable(_) => Ok(CreateResult::Unreachable),
        Error::Unknown(why) => Ok(CreateResult::Unknown(why)),
        Error::Unfit(why) => Err(why),
    }
}

/// Base units of an amount with six decimals.
pub(crate) fn units(text: &str) -> Outcome<i64> {
    let odd = || format!("`{text}` is no amount");
    let (whole, fraction) = text.split_once('.').ok_or_else(odd)?;
    if fraction.len() != 6 {
        return Err(odd());
    }
    format!("{whole}{fraction}").parse().map_err(|_| odd())
}

#[cfg(test)]
mod tests {
    use super::units;

    #[test]
    fn printed_amounts_are_read() {
        assert_eq!(units("1000.500000"), Ok(1_000_500_000));
        assert!(units("1.5").is_err() && units("x").is_err() && units("1.00000x").is_err());
    }
}
