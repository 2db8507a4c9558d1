//! Writes messages to the topics that no publisher of the service made: garbage, made-up transfers, forged copies.

use super::draw::OURS;
use crate::bus::SimBus;
use crate::generic::draws::{one_of, within};
use crate::world::SplitMix;
use kernel::ids::{Id, Millis};
use kernel::ports::bus::BusMessage;
use std::sync::Arc;

/// The topics that strangers write to; a consumer moves transfers by the messages of the first two.
const TOPICS: [&str; 4] =
    ["transfer-validation", "transfer-execution", "transfer-completed", "transfer-failed"];

/// A message that a stranger wrote.
#[derive(Debug, Clone)]
pub(super) struct StrangersMessage {
    pub message: BusMessage,
    /// The transfer of this service that it pretends to report; `None`: it names none.
    pub about: Option<Id>,
    /// When it was written, in milliseconds of the run.
    pub at: Millis,
}

impl StrangersMessage {
    /// Whether this is the dead letter of it.
    pub(super) fn died_as(&self, letter: &BusMessage) -> bool {
        let topic = letter.topic.strip_suffix("-dlt");
        topic == Some(&*self.message.topic) && letter.number == self.message.number
    }

    /// Whether a consumer that moves transfers must have refused it.
    pub(super) fn must_die(&self) -> bool {
        TOPICS.iter().take(2).any(|topic| **topic == *self.message.topic)
    }
}

/// The next message of a stranger, who knows the keys and what is on the bus.
pub(super) fn message(
    draws: &mut SplitMix,
    bus: &SimBus,
    keys: &[&'static str],
    at: Millis,
) -> StrangersMessage {
    let number = (u128::from(draws.next()) << 64) | u128::from(draws.next());
    let topic: Arc<str> = one_of(draws, &TOPICS).unwrap_or_default().into();
    let key: Arc<str> = one_of(draws, keys).unwrap_or_default().into();
    let plain = |payload: String| BusMessage {
        topic: topic.clone(),
        key: key.clone(),
        number,
        payload: payload.into(),
        headers: "{}".into(),
    };
    let of_nothing = |message| StrangersMessage { message, about: None, at };
    match within(draws, 0, 5) {
        0 => of_nothing(plain(String::new())),
        1 => of_nothing(plain("no object".to_owned())),
        2 => of_nothing(plain("x".repeat(OURS + 1))),
        3 => {
            let id = Id(number);
            of_nothing(plain(format!(r#"{{"hash":"00","sequence":0,"transfer":"{id}"}}"#)))
        }
        forged => {
            let mut genuine = bus.messages(|topic| TOPICS.contains(&topic));
            // a copy on another topic, copied once more, may be genuine again
            genuine.retain(|message| {
                message.headers.contains(&format!(r#""ce_type":"{}""#, message.topic))
            });
            let drawn = usize::try_from(draws.next()).unwrap_or(0);
            let of = drawn.checked_rem(genuine.len()).and_then(|place| genuine.get(place));
            let about = of.and_then(|message| transfer(&message.payload));
            let (Some(of), Some(about)) = (of, about) else {
                return of_nothing(plain("null".to_owned()));
            };
            let message = if forged == 4 {
                let payload = of.payload.replace(r#""amount":""#, r#""amount":"9"#).into();
                BusMessage { number, payload, ..of.clone() }
            } else {
                let others = TOPICS.into_iter().filter(|topic| **topic != *of.topic);
                let others: Vec<&str> = others.collect();
                let topic = one_of(draws, &others).unwrap_or_default().into();
                BusMessage { topic, ..of.clone() }
            };
            StrangersMessage { message, about: Some(about), at }
        }
    }
}

/// The transfer that a payload names.
fn transfer(payload: &str) -> Option<Id> {
    let (_, rest) = payload.split_once(r#""transfer":""#)?;
    rest.split('"').next()?.parse().ok()
}
