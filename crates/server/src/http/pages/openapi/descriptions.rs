//! The descriptions of answers that routes of one kind share. The codes in a sentence are those of the answer.

pub(crate) const CREATE_400: &str = "Refused before anything was opened: `BAD_REQUEST`, `IDEMPOTENCY_KEY_REQUIRED`, \
    `SAME_ACCOUNT`, `INVALID_ACCOUNT_TYPE`, `UNSUPPORTED_ACCOUNT_TYPE`, `INVALID_ASSET`, `INVALID_AMOUNT`, \
    `PRECISION_OVERFLOW`, `OVERFLOW`, `AMOUNT_TOO_SMALL`, `AMOUNT_TOO_LARGE`";
pub(crate) const RELAY_400: &str = "Refused before anything was opened: `BAD_REQUEST`, \
    `IDEMPOTENCY_KEY_REQUIRED`, `INVALID_RECEIVER`, `SAME_ACCOUNT`, `INVALID_AMOUNT`, `OVERFLOW`, \
    `AMOUNT_TOO_SMALL`, `AMOUNT_TOO_LARGE`";
pub(crate) const CREATE_409: &str = "The key is bound to another body: `DUPLICATE_REQUEST`";
pub(crate) const CREATE_422: &str = "With a `req_id` it was opened, ended FAILED or ROLLED_BACK, and moved \
    nothing: `INSUFFICIENT_BALANCE`, `ACCOUNT_FROZEN`, `ACCOUNT_DISABLED`, \
    `SOURCE_ACCOUNT_NOT_FOUND`, `TARGET_ACCOUNT_NOT_FOUND`. Without one nothing was opened: \
    `ASSET_SUSPENDED`, `TRANSFER_NOT_ALLOWED`";
pub(crate) const CREATE_429: &str = "A limit of the user's; nothing was opened. `Retry-After` says when: \
    `RATE_LIMIT_EXCEEDED`, `REFUSAL_LIMIT_EXCEEDED`, `DAILY_LIMIT_EXCEEDED`, `DAILY_AMOUNT_EXCEEDED`";
pub(crate) const CREATE_500: &str = "Outcome unknown, repeat with the same key: `SYSTEM_ERROR`";
pub(crate) const CREATE_503: &str = "Nothing was opened: `HALTED`, `OVERLOADED`";
pub(crate) const RELAY_503: &str =
    "Nothing was opened: `HALTED`, `TOKEN_CONTRACT_INVALID`, `OVERLOADED`";
pub(crate) const UNSEEN: &str = "None of that id that the caller may see: `NOT_FOUND`";
