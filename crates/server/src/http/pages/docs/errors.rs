//! The documentation pages of codes: what happened, whether the money is safe, what to do. Error codes come with an
//! HTTP status; end codes explain why a transfer of the relay is FAILED.

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
    RefusalLimitExceeded = "REFUSAL_LIMIT_EXCEEDED",
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
    TokenContractInvalid = "TOKEN_CONTRACT_INVALID",
    Overloaded = "OVERLOADED",
    SystemError = "SYSTEM_ERROR",
    MethodNotAllowed = "METHOD_NOT_ALLOWED",
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
}

/// The code of an end that no error has.
struct EndCode {
    name: &'static str,
    /// What it means in one line of the list.
    sentence: &'static str,
    page: &'static str,
}

macro_rules! ends {
    ($($name:literal: $sentence:literal),* $(,)?) => {
        const ENDS: &[EndCode] = &[$(EndCode {
            name: $name,
            sentence: $sentence,
            page: include_str!(concat!("../../../../../../docs/errors/", $name, ".md")),
        }),*];
    };
}

ends! {
    "RECEIVER_NOT_FOUND": "The chain has no account of that name; nothing was sent",
    "REGISTRATION_REFUSED": "The receiver was not registered with the token at the relay's cost",
    "RECEIVER_REFUSED": "The token's contract refuses payments to this receiver",
    "CANCELLED": "Two operators ended it before anything of it was sent",
}

/// The code of an internal transfer that was given back although no ledger refused it.
pub const FENCED: &str = "FENCED";

const GIVEN_BACK: EndCode = EndCode {
    name: FENCED,
    sentence: "Two operators ended a deposit that had no clear answer; the ledger will never make it",
    page: include_str!("../../../../../../docs/errors/FENCED.md"),
};

/// A code that has a page, and the page in Markdown.
pub fn page_of(word: &str) -> Option<(&'static str, &'static str)> {
    let end = || {
        ENDS.iter()
            .chain([&GIVEN_BACK])
            .find(|end| end.name == word)
            .map(|end| (end.name, end.page))
    };
    Code::parse(word).map(|code| (code.name(), page(code))).or_else(end)
}

/// Where a code's page is served.
pub fn address(code: &str) -> String {
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
    text.push_str(
        "
A transfer of the relay that FAILED says why by one of these, at the end of `error_message` in `GET /transfer/{key}` and
as `error_class` in the operators' lists; CANCELLED is also the `reason` of a transfer between numbered accounts. No money has moved:

| code | in short |
|---|---|
",
    );
    for EndCode { name, sentence, .. } in ENDS {
        text.push_str(&format!("| [{name}]({name}.md) | {sentence} |\n"));
    }
    let EndCode { name, sentence, .. } = GIVEN_BACK;
    text.push_str(&format!(
        "
A transfer between a user's ledgers may end `ROLLED_BACK` with this one. The money is in the source account again:

| code | in short |
|---|---|
| [{name}]({name}.md) | {sentence} |
"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::{Code, ENDS, EndCode, GIVEN_BACK, index, page, page_of};
    use crate::http::middleware::error::status;
    use expect_test::expect_file;

    #[test]
    fn every_code_has_a_page_of_one_form() {
        for code in Code::ALL {
            let page = page(*code);
            let head =
                format!("# {code}\n\nHTTP {}\n\n## What happened\n\n", status(*code).as_u16());
            assert!(page.starts_with(&head), "{code}");
            has_three_parts(code.name(), page);
        }
        for EndCode { name, page, .. } in ENDS {
            let head = format!("# {name}\n\nThe end of a transfer of the relay");
            assert!(page.starts_with(&head), "{name}");
            has_three_parts(name, page);
        }
        let EndCode { name, page, .. } = GIVEN_BACK;
        assert!(page.starts_with("# FENCED\n\nThe end of a transfer between"), "{page}");
        has_three_parts(name, page);
    }

    fn has_three_parts(code: &str, page: &str) {
        let parts: Vec<&str> = page.split("\n## ").skip(1).collect();
        let titles: Vec<&str> = parts.iter().filter_map(|part| part.lines().next()).collect();
        assert_eq!(titles, ["What happened", "Is the money safe", "What to do"], "{code}");
        for part in parts {
            assert!(part.lines().skip(1).any(|line| line.len() > 20), "{code}: {part}");
        }
        let lines = page.lines().count();
        assert!((10..=30).contains(&lines), "{code}: {lines} lines");
    }

    #[test]
    fn every_page_is_of_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        for file in std::fs::read_dir(folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let code = name.strip_suffix(".md").unwrap();
            assert!(code == "README" || page_of(code).is_some(), "{name}");
        }
    }

    #[test]
    fn the_index_lists_every_code() {
        expect_file!["../../../../../../docs/errors/README.md"].assert_eq(&index());
    }
}
