//! Repeats a create until its outcome is known, and looks at a transfer until it ends.

use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output};
use client::{Client, Error, state};
use std::time::Duration;

/// Times that an unclear outcome is cleared up by sending the same again.
pub(super) const TRIES: u32 = 4;
/// The most seconds that a command waits for an end.
const MOST: u64 = 3_600;
/// The wait between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// The options of a command that makes a transfer which goes on by itself.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct FollowArgs {
    /// Your own key, the transfer's name; without it a fresh one is made and printed.
    #[arg(long)]
    key: Option<String>,
    /// Give up waiting for the end after this number of seconds.
    #[arg(long = "patience", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(..=MOST))]
    pub seconds: u64,
    #[command(flatten)]
    pub remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

impl FollowArgs {
    /// The key of the transfer. One that is made here is said before anything is sent: the wait may be long.
    pub(super) fn key(&self) -> String {
        let made = || {
            let key = client::fresh_cid();
            output::eprint_line(&format!("its key is {key}"));
            key
        };
        self.key.clone().unwrap_or_else(made)
    }

    /// The client that makes it and the one that looks at it, both before anything is sent: what fails behind that
    /// would sound as if nothing was done.
    pub(super) fn clients(
        &self,
        global: &Global,
        minted: &Minted,
        scopes: [Scope; 2],
    ) -> Result<[Client; 2], Fault> {
        let remote = self.remote.with_token_read()?;
        let client = |scope| remote.client_for(global, minted.clone(), scope, self.seconds);
        let [creates, reads] = scopes;
        Ok([client(creates)?, client(reads)?])
    }
}

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

/// What is said of a key that was used before.
pub(super) const REPLAYED: &str = "this key had been used before; nothing was done now";

/// The wait before the same is sent again.
pub(super) async fn pause(tries: u32) {
    tokio::time::sleep(Duration::from_millis(250 << tries)).await;
}

/// Looks until `ended`, for this number of seconds at most; what was seen last, where anything was. A server that
/// restarts or has no time carries its transfers on.
pub(super) async fn until_ended<T>(
    seconds: u64,
    look: impl AsyncFn() -> Result<T, Error>,
    ended: impl Fn(&T) -> bool,
) -> Result<Option<T>, Error> {
    let mut last = None;
    let follow = async {
        loop {
            match look().await {
                Ok(seen) => {
                    let over = ended(&seen);
                    last = Some(seen);
                    if over {
                        return Ok(());
                    }
                }
                Err(Error::Unknown(_) | Error::Unreachable(_)) => {}
                Err(Error::Refused { status: 429 | 503, .. }) => {}
                Err(other) => return Err(other),
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(Duration::from_secs(seconds), follow).await {
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) | Err(_) => Ok(last),
    }
}

/// How a command ends that made a transfer and looked at it; `get` are the words that show it.
pub(super) fn ended(status: &str, why: &str, get: &str) -> Result<(), Fault> {
    match status {
        state::COMPLETED => Ok(()),
        state::FAILED => Err(Fault::new(Exit::Data, why)),
        _ => {
            let sentence =
                format!("under way ({status}: {why}); follow it with `portage transfer get {get}`");
            Err(Fault::new(Exit::TempFail, sentence))
        }
    }
}

/// What was seen last of a transfer that was made; `get` are the words that show it.
pub(super) fn seen<T>(looked: Result<Option<T>, Error>, key: &str, get: &str) -> Result<T, Fault> {
    match looked {
        Ok(Some(seen)) => Ok(seen),
        Ok(None) => Err(unseen(None, key, get)),
        Err(error) => Err(unseen(Some(error), key, get)),
    }
}

/// The transfer was made, and what became of it was not seen: no word of the look may sound as if nothing was done.
fn unseen(look: Option<Error>, key: &str, get: &str) -> Fault {
    let why = look.map_or_else(|| "its end was not seen".to_owned(), |error| error.to_string());
    let sentence = format!(
        "it was made, and goes on by itself: {why}. Look at it with `portage transfer get {get}`; a repeat with --key \
         {key} makes no other"
    );
    Fault { unknown: true, ..Fault::new(Exit::TempFail, sentence) }
}

/// True for the last statuses of account transfers and of the relay's.
pub(super) fn has_ended(status: &str) -> bool {
    matches!(status, state::COMPLETED | state::FAILED)
}

#[cfg(test)]
mod tests {
    use super::{unseen, until_ended};
    use crate::cli::exit::Exit;
    use client::Error;
    use std::cell::Cell;

    #[tokio::test]
    async fn a_look_ends_with_the_transfer_or_in_time() {
        let looks = Cell::new(0);
        let look = async || {
            looks.set(looks.get() + 1);
            Ok::<_, Error>(looks.get())
        };
        assert!(matches!(until_ended(9, look, |seen| *seen == 2).await, Ok(Some(2))));
        assert!(matches!(until_ended(1, look, |_| false).await, Ok(Some(3..))));
        let silent = async || Err::<(), _>(Error::Unreachable("no route".to_owned()));
        assert!(matches!(until_ended(1, silent, |()| true).await, Ok(None)));
    }

    /// Turns red where a look that fails after a create sounds as if nothing was done.
    #[test]
    fn what_was_made_is_never_said_to_be_unsent() {
        let look = Error::Unreachable("Connection refused".to_owned());
        let fault = unseen(Some(look), "k", "ID --flow account");
        assert!(fault.unknown && fault.exit == Exit::TempFail, "{fault:?}");
        assert!(fault.sentence.starts_with("it was made") && fault.sentence.contains("--key k"));
    }
}
