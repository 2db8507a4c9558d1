//! One page for each code: what happened, is the money safe, what to do.

use crate::http::middleware::error::{sentence, status};
use kernel::code::Code;

macro_rules! pages {
    ($($code:ident = $file:literal),* $(,)?) => {
        /// The page of a code, in Markdown.
        pub const fn page(code: Code) -> &'static str {
            match code {
                $(Code::$code => {
                    include_str!(concat!("../../../../../../docs/errors/", $file, ".md"))
                })*
            }
        }
    };
}

pages! {
    Unauthorized = "UNAUTHORIZED",
    Forbidden = "FORBIDDEN",
    BadRequest = "BAD_REQUEST",
    IdempotencyKeyRequired = "IDEMPOTENCY_KEY_REQUIRED",
    InvalidReceiver = "INVALID_RECEIVER",
    SameAccount = "SAME_ACCOUNT",
    InvalidAccountType = "INVALID_ACCOUNT_TYPE",
    UnsupportedAccountType = "UNSUPPORTED_ACCOUNT_TYPE",
    InvalidAmount = "INVALID_AMOUNT",
    PrecisionOverflow = "PRECISION_OVERFLOW",
    AmountTooSmall = "AMOUNT_TOO_SMALL",
    AmountTooLarge = "AMOUNT_TOO_LARGE",
    Overflow = "OVERFLOW",
    InvalidAsset = "INVALID_ASSET",
    PayloadTooLarge = "PAYLOAD_TOO_LARGE",
    AssetSuspended = "ASSET_SUSPENDED",
    TransferNotAllowed = "TRANSFER_NOT_ALLOWED",
    SourceAccountNotFound = "SOURCE_ACCOUNT_NOT_FOUND",
    TargetAccountNotFound = "TARGET_ACCOUNT_NOT_FOUND",
    AccountClosed = "ACCOUNT_CLOSED",
    CurrencyMismatch = "CURRENCY_MISMATCH",
    AccountFrozen = "ACCOUNT_FROZEN",
    AccountDisabled = "ACCOUNT_DISABLED",
    InsufficientBalance = "INSUFFICIENT_BALANCE",
    RateLimitExceeded = "RATE_LIMIT_EXCEEDED",
    DailyLimitExceeded = "DAILY_LIMIT_EXCEEDED",
    DailyAmountExceeded = "DAILY_AMOUNT_EXCEEDED",
    DuplicateRequest = "DUPLICATE_REQUEST",
    NotPossible = "NOT_POSSIBLE",
    AlreadyDecided = "ALREADY_DECIDED",
    SecondPersonRequired = "SECOND_PERSON_REQUIRED",
    BreaksNotAccepted = "BREAKS_NOT_ACCEPTED",
    WrongChain = "WRONG_CHAIN",
    NotFound = "NOT_FOUND",
    AccountNotFound = "ACCOUNT_NOT_FOUND",
    Halted = "HALTED",
    Overloaded = "OVERLOADED",
    SystemError = "SYSTEM_ERROR",
    MethodNotAllowed = "METHOD_NOT_ALLOWED",
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
}

/// Where a code's page is served.
pub fn address(code: Code) -> String {
    format!("/docs/errors/{code}")
}

/// The list of all codes, in Markdown.
pub fn index() -> String {
    let mut text = "\
# Error codes

Every error is JSON with a sentence (`error`), one of these codes (`code`), the address of the
code's page (`docs`), and the request's id (`request_id`), which stands in the log too. Each page
says what happened, whether the money is safe, and what to do. The server shows them under
`/docs/errors`.

What a client may conclude: an error without a `req_id` opened nothing, unless its code is
[SYSTEM_ERROR](SYSTEM_ERROR.md). With SYSTEM_ERROR, a timeout or a cut connection the outcome is
unknown: repeat the same request with the same key.

| code | status | in short |
|---|---|---|
"
    .to_owned();
    for code in Code::ALL {
        let (status, sentence) = (status(*code).as_u16(), sentence(*code));
        text.push_str(&format!("| [{code}]({code}.md) | {status} | {sentence} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Code, index, page};
    use crate::http::middleware::error::status;
    use expect_test::expect_file;

    #[test]
    fn every_code_has_a_page_of_one_form() {
        for code in Code::ALL {
            let page = page(*code);
            let head =
                format!("# {code}\n\nHTTP {}\n\n## What happened\n\n", status(*code).as_u16());
            assert!(page.starts_with(&head), "{code}");
            let parts: Vec<&str> = page.split("\n## ").skip(1).collect();
            let titles: Vec<&str> = parts.iter().filter_map(|part| part.lines().next()).collect();
            assert_eq!(titles, ["What happened", "Is the money safe", "What to do"], "{code}");
            for part in parts {
                assert!(part.lines().skip(1).any(|line| line.len() > 20), "{code}: {part}");
            }
            let lines = page.lines().count();
            assert!((10..=30).contains(&lines), "{code}: {lines} lines");
        }
    }

    #[test]
    fn every_page_is_of_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        for file in std::fs::read_dir(folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let code = name.strip_suffix(".md").unwrap();
            assert!(code == "README" || Code::parse(code).is_some(), "{name}");
        }
    }

    #[test]
    fn the_index_lists_every_code() {
        expect_file!["../../../../../../docs/errors/README.md"].assert_eq(&index());
    }
}
