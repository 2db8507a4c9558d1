//! Repeats a create until its outcome is known, and looks at a transfer until it ends.

use crate::cli::exit::{Exit, Fault};
use client::{Error, state};
use std::time::Duration;

/// Times that an unclear outcome is cleared up by sending the same again.
pub(super) const TRIES: u32 = 4;
/// The wait between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// Sends until there is an answer, but not for ever; `key` is the option that names its key. Once a try was unclear,
/// a later one that was not sent, or turned away, says nothing of it.
pub(super) async fn until_known<T>(
    send: impl AsyncFn() -> Result<T, Error>,
    key: &str,
) -> Result<T, Fault> {
    let (mut tries, mut unknown) = (0, None);
    loop {
        tries += 1;
        match send().await {
            Ok(created) => return Ok(created),
            Err(Error::Unknown(why)) => unknown = Some(why),
            Err(fault) if unknown.is_none() => return Err(fault.into()),
            Err(_) => {}
        }
        if let Some(why) = unknown.as_ref().filter(|_| tries == TRIES) {
            let sentence =
                format!("outcome unknown: {why}; repeat it with {key}: it is never made twice");
            return Err(Fault { unknown: true, ..Fault::new(Exit::TempFail, sentence) });
        }
        pause(tries).await;
    }
}

/// The wait before the same is sent again.
pub(super) async fn pause(tries: u32) {
    tokio::time::sleep(Duration::from_millis(250 << tries)).await;
}

/// Looks until `ended`, or for so many seconds; what was seen last. A server that restarts carries its transfers on.
pub(super) async fn until_ended<T>(
    seconds: u64,
    look: impl AsyncFn() -> Result<T, Error>,
    ended: impl Fn(&T) -> bool,
) -> Result<T, Fault> {
    let mut looks = seconds.saturating_mul(4);
    loop {
        match look().await {
            Ok(seen) if looks == 0 || ended(&seen) => return Ok(seen),
            Err(Error::Unknown(_) | Error::Unreachable(_)) if looks > 0 => {}
            Ok(_) => {}
            Err(other) => return Err(other.into()),
        }
        looks = looks.saturating_sub(1);
        tokio::time::sleep(LOOK).await;
    }
}

/// How a command ends that made a transfer and looked at it.
pub(super) fn ended(status: &str, id: &str, why: &str) -> Result<(), Fault> {
    match status {
        state::COMPLETED => Ok(()),
        state::FAILED => Err(Fault::new(Exit::Data, why)),
        _ => Err(Fault::new(Exit::TempFail, format!("{id} is {status}; it goes on by itself"))),
    }
}

/// True for the last statuses of account transfers and of the relay's.
pub(super) fn has_ended(status: &str) -> bool {
    matches!(status, state::COMPLETED | state::FAILED)
}

#[cfg(test)]
mod tests {
    use super::until_ended;
    use client::Error;
    use std::cell::Cell;

    #[tokio::test]
    async fn a_look_ends_with_the_transfer_or_in_time() {
        let looks = Cell::new(0);
        let look = async || {
            looks.set(looks.get() + 1);
            Ok::<_, Error>(looks.get())
        };
        assert_eq!(until_ended(9, look, |seen| *seen == 3).await, Ok(3));
        assert_eq!(until_ended(0, look, |_| false).await, Ok(4));
    }
}
