//! The errors of the client, divided by what the caller may conclude about its request.

use kernel::code::Code;

/// The reason why a request has no usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server refused the request: nothing was done.
    #[error("{code}: {sentence}")]
    Refused {
        /// The status of the HTTP response.
        status: u16,
        /// The code, as written.
        code: String,
        /// What is wrong, as a sentence for a person.
        sentence: String,
        /// The request's name in the server's log.
        request_id: String,
        /// With `DUPLICATE_REQUEST`: what differs.
        mismatched: Vec<String>,
    },
    /// It is not known whether it was done: repeat it with the same key.
    #[error("outcome unknown: {0}")]
    Unknown(String),
    /// Nothing was sent: the server cannot be reached.
    #[error("not reachable: {0}")]
    Unreachable(String),
    /// The client cannot be made of this address or this token; or a create has no key.
    #[error("{0}")]
    Unfit(String),
}

/// What a caller may conclude about a create that met an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// This request opened nothing, and never will. (With `DUPLICATE_REQUEST` an earlier one of the
    /// same key did.)
    NothingOpened,
    /// The outcome is unknown: send the same again, with the same key. It is never made twice.
    Unknown,
}

impl Error {
    /// What a caller may conclude about the create that met this error.
    pub const fn concludes(&self) -> Conclusion {
        match self {
            Self::Refused { .. } | Self::Unreachable(_) | Self::Unfit(_) => {
                Conclusion::NothingOpened
            }
            Self::Unknown(_) => Conclusion::Unknown,
        }
    }

    /// The code of a refusal, where it is one of ours.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { code, .. } => Code::parse(code),
            Self::Unknown(_) | Self::Unreachable(_) | Self::Unfit(_) => None,
        }
    }
}

/// A library's error with what lies below it, on one line.
pub fn whole(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut below = fault.source();
    while let Some(fault) = below {
        text = format!("{text}: {fault}");
        below = fault.source();
    }
    text
}
