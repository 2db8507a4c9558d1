//! How a sentence about a swap is told: the page of a swap is public, so only an operator reads the code
//! of the last refusal or cause.

use kernel::answer::Evidence;
use kernel::flow::life::Audience;

/// The sentence for its reader.
pub(crate) fn message(sentence: &str, audience: Audience, error: Option<&Evidence>) -> String {
    match (audience, error) {
        (Audience::Operator, Some(error)) => format!("{sentence}; the last: {}", error.code),
        (Audience::Operator, None) | (Audience::User, _) => sentence.to_owned(),
    }
}
