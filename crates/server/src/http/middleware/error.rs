//! A refusal of a request: a code, its HTTP status, and a sentence for a person.

use crate::http::pages::docs::errors;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use kernel::ids::Millis;
use serde_json::{Map, Value};
use std::any::Any;

/// The reason why a request was refused. It becomes a body once the request's id is known.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub code: Code,
    /// The message for a person.
    pub sentence: String,
    /// Further fields of the body.
    pub details: Map<String, Value>,
}

impl Refusal {
    /// A refusal that its code explains.
    pub fn of(code: Code) -> Self {
        Self::because(code, sentence(code))
    }

    /// A refusal with a sentence of its own.
    pub fn because(code: Code, sentence: impl Into<String>) -> Self {
        Self { code, sentence: sentence.into(), details: Map::new() }
    }

    /// 400 `BAD_REQUEST` with a sentence of its own.
    pub fn bad(sentence: impl Into<String>) -> Self {
        Self::because(Code::BadRequest, sentence)
    }

    /// 404 `NOT_FOUND` of something that the request names.
    pub fn no_such(what: &str) -> Self {
        Self::because(Code::NotFound, format!("There is no such {what}"))
    }

    /// 500 `SYSTEM_ERROR`: it is not known whether it was done.
    pub fn unknown(sentence: impl Into<String>) -> Self {
        Self::because(Code::SystemError, sentence).with("outcome", "unknown")
    }

    /// With one more field in the body.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// The body without its request's id.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("error".to_owned(), self.sentence.as_str().into());
        body.insert("code".to_owned(), self.code.name().into());
        // a ledger's own word, under which a transfer failed, has no page
        let page = match self.details.get("code") {
            Some(word) => word.as_str().and_then(Code::parse),
            None => Some(self.code),
        };
        if let Some(code) = page {
            body.insert("docs".to_owned(), errors::address(code.name()).into());
        }
        body.extend(self.details.clone());
        body
    }

    /// The body, once the request's id is known.
    pub(super) fn body(&self, request_id: &str) -> Vec<u8> {
        let mut body = self.fields();
        body.insert("request_id".to_owned(), request_id.into());
        Value::Object(body).to_string().into_bytes()
    }
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Self::of(code)
    }
}

impl IntoResponse for Refusal {
    /// The body is added where the request's id is known.
    fn into_response(self) -> Response {
        let mut response = status(self.code).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// A handler panicked: the outcome is unknown.
pub(crate) fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a request's handler panicked");
    Refusal::unknown("Something broke on our side. Repeat the request with the same key")
        .into_response()
}

/// The contract's status of a code.
pub const fn status(code: Code) -> StatusCode {
    match code {
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::BadRequest
        | Code::IdempotencyKeyRequired
        | Code::SameAccount
        | Code::InvalidReceiver
        | Code::InvalidAccountType
        | Code::UnsupportedAccountType
        | Code::InvalidAmount
        | Code::PrecisionOverflow
        | Code::AmountTooSmall
        | Code::AmountTooLarge
        | Code::Overflow
        | Code::InvalidAsset => StatusCode::BAD_REQUEST,
        Code::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::AssetSuspended
        | Code::TransferNotAllowed
        | Code::SourceAccountNotFound
        | Code::TargetAccountNotFound
        | Code::AccountClosed
        | Code::CurrencyMismatch
        | Code::AccountFrozen
        | Code::AccountDisabled
        | Code::InsufficientBalance => StatusCode::UNPROCESSABLE_ENTITY,
        Code::RateLimitExceeded
        | Code::RefusalLimitExceeded
        | Code::DailyLimitExceeded
        | Code::DailyAmountExceeded => StatusCode::TOO_MANY_REQUESTS,
        Code::DuplicateRequest
        | Code::NotPossible
        | Code::AlreadyDecided
        | Code::SecondPersonRequired
        | Code::BreaksNotAccepted
        | Code::WrongChain => StatusCode::CONFLICT,
        Code::NotFound | Code::AccountNotFound => StatusCode::NOT_FOUND,
        Code::Halted | Code::TokenContractInvalid | Code::Overloaded => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Code::SystemError => StatusCode::INTERNAL_SERVER_ERROR,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
    }
}

/// After how many seconds the same request may fare better, where that is known: `Retry-After`.
/// `now` is in milliseconds since 1970; days are UTC. The wait after `REFUSAL_LIMIT_EXCEEDED` is the setting's.
pub const fn retry_after(code: Code, now: Millis) -> Option<u64> {
    match code {
        Code::RateLimitExceeded | Code::Overloaded => Some(1),
        Code::DailyLimitExceeded | Code::DailyAmountExceeded => Some(86_400 - now / 1000 % 86_400),
        Code::Unauthorized
        | Code::Forbidden
        | Code::BadRequest
        | Code::IdempotencyKeyRequired
        | Code::SameAccount
        | Code::InvalidReceiver
        | Code::InvalidAccountType
        | Code::UnsupportedAccountType
        | Code::InvalidAmount
        | Code::PrecisionOverflow
        | Code::AmountTooSmall
        | Code::AmountTooLarge
        | Code::Overflow
        | Code::InvalidAsset
        | Code::PayloadTooLarge
        | Code::AssetSuspended
        | Code::TransferNotAllowed
        | Code::SourceAccountNotFound
        | Code::TargetAccountNotFound
        | Code::AccountClosed
        | Code::CurrencyMismatch
        | Code::AccountFrozen
        | Code::AccountDisabled
        | Code::InsufficientBalance
        | Code::RefusalLimitExceeded
        | Code::DuplicateRequest
        | Code::NotPossible
        | Code::AlreadyDecided
        | Code::SecondPersonRequired
        | Code::BreaksNotAccepted
        | Code::WrongChain
        | Code::NotFound
        | Code::AccountNotFound
        | Code::Halted
        | Code::TokenContractInvalid
        | Code::SystemError
        | Code::MethodNotAllowed
        | Code::UnsupportedMediaType => None,
    }
}

/// The default message of a code, for a person.
pub const fn sentence(code: Code) -> &'static str {
    match code {
        Code::Unauthorized => "A valid token is required: `Authorization: Bearer …`",
        Code::Forbidden => "This token does not allow that",
        Code::BadRequest => "The request is not valid: a field, parameter or header is wrong",
        Code::IdempotencyKeyRequired => "A key is required: the header `Idempotency-Key`",
        Code::SameAccount => "`from` and `to` are the same account",
        Code::InvalidReceiver => "The receiver is no account that can be paid",
        Code::InvalidAccountType => "There is no such account type",
        Code::UnsupportedAccountType => "This account type is not configured here",
        Code::InvalidAmount => {
            "An amount is a positive decimal as a text: digits and at most one dot, such as 1000.50"
        }
        Code::PrecisionOverflow => "The amount has more decimals than the asset",
        Code::AmountTooSmall => "The amount is below the asset's least",
        Code::AmountTooLarge => "The amount is above the asset's most",
        Code::Overflow => "The amount is above what can be counted for this asset",
        Code::InvalidAsset => "There is no such asset",
        Code::PayloadTooLarge => "The body is above 16 KiB",
        Code::AssetSuspended => "The asset is suspended",
        Code::TransferNotAllowed => "The asset may not be transferred, or not to this receiver",
        Code::SourceAccountNotFound => "There is no such source account",
        Code::TargetAccountNotFound => "There is no target account that can receive this",
        Code::AccountClosed => "The account is closed: it may neither pay nor receive",
        Code::CurrencyMismatch => "The account holds another currency",
        Code::AccountFrozen => "The account is frozen: it may receive, not pay",
        Code::AccountDisabled => "The account is disabled",
        Code::InsufficientBalance => "The account has less available than asked",
        Code::RateLimitExceeded => "Too many requests within a second; nothing was begun",
        Code::RefusalLimitExceeded => {
            "Too many transfers of this user ended without effect within an hour; nothing was begun"
        }
        Code::DailyLimitExceeded => {
            "No more transfers until midnight UTC: the day's number is used up; nothing was begun"
        }
        Code::DailyAmountExceeded => {
            "The amount would pass what may be moved of this asset until midnight UTC; nothing was \
             begun"
        }
        Code::DuplicateRequest => "The key belongs to another request",
        Code::NotPossible => "The action is not possible in the present state; nothing was changed",
        Code::AlreadyDecided => "It was decided before; nothing was changed",
        Code::SecondPersonRequired => {
            "Above what one person may move by hand on a day; nothing was booked, another person has to \
             approve it"
        }
        Code::BreaksNotAccepted => {
            "The books do not add up in ways that were not accepted; the HALT stands"
        }
        Code::WrongChain => {
            "The providers are of another chain than this store is bound to; nothing was changed"
        }
        Code::NotFound => "No such route or resource: check the address and the id",
        Code::AccountNotFound => "There is no such account",
        Code::Halted => {
            "HALT: no money moves until persons have looked and resume it; nothing was begun"
        }
        Code::TokenContractInvalid => {
            "The relay cannot pay: the chain has not the account or the token's contract of its settings; nothing was begun"
        }
        Code::Overloaded => "Too much is under way; nothing was begun, try again later",
        Code::SystemError => "Something broke on our side",
        Code::MethodNotAllowed => "This path does not take this method",
        Code::UnsupportedMediaType => "The body must be declared `application/json`",
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Refusal, retry_after, sentence, status};

    #[test]
    fn a_used_up_day_ends_at_midnight_utc() {
        let noon = 1_734_955_200_500; // 2024-12-23T12:00:00.5Z
        assert_eq!(retry_after(Code::DailyLimitExceeded, noon), Some(43_200));
        assert_eq!(retry_after(Code::DailyAmountExceeded, noon - noon % 86_400_000), Some(86_400));
        assert_eq!(retry_after(Code::RateLimitExceeded, noon), Some(1));
        assert_eq!(retry_after(Code::Halted, noon), None, "a person must look first");
    }

    #[test]
    fn every_code_has_its_status_and_sentence() {
        for code in Code::ALL {
            assert!(status(*code).as_u16() >= 400, "{code}");
            assert!(!sentence(*code).is_empty(), "{code}");
        }
        assert_eq!(status(Code::InsufficientBalance).as_u16(), 422);
        assert_eq!(status(Code::DuplicateRequest).as_u16(), 409);
    }

    #[test]
    fn the_body_names_its_request() {
        let body = Refusal::unknown("x").body("R1");
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let expected = serde_json::json!({
            "error": "x", "code": "SYSTEM_ERROR", "request_id": "R1", "outcome": "unknown",
            "docs": "/docs/errors/SYSTEM_ERROR",
        });
        assert_eq!(body, expected);
    }
}
