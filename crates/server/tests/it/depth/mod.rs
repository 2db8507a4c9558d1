//! Defence in depth: each layer's checks, with the other layers out of the way.
//!
//! One table says what must never pass and who refuses it. Every cell is tried on a house of its
//! own: at the door; at the engine, called without the door; at each ledger's port, called without
//! the engine. `docs/proof/depth.md` is that table.

mod above;
mod bare_service;
mod below;
mod booked;

use bare_service::Bare;

/// What an attacker tries and must not reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    AnothersMoney,
    UserZero,
    UserTooLarge,
    SameAccount,
    NoSuchType,
    NotConfigured,
    NoSuchAsset,
    Suspended,
    Delisted,
    NotTransferable,
    Nothing,
    TooMuchToCount,
    TooLittle,
    TooMuch,
    Halted,
    Draining,
    Crowded,
    DayFull,
    AmountFull,
    BoundKey,
    BookNoAsset,
    BookNothing,
    BookUserZero,
    BookNoAccount,
    BookFrozen,
    BookDisabled,
    BookPoor,
    BookSameReference,
    NoAccount,
    Frozen,
    Disabled,
    Poor,
    NoReceiver,
    DisabledReceiver,
    OtherAmount,
    OtherUser,
    OtherAsset,
    AfterFence,
    SettleAlone,
    RefundAlone,
    RefundOfRefused,
    RefundOfMore,
    RefundOfLess,
    RefundToAnother,
    RefundOfAnotherAsset,
    RefundAfterSettle,
    SettleAfterRefund,
    SecondRefund,
    Stranger,
    OlderStart,
    LostOperations,
}

/// What refuses it: the door, the engine, Funding, Spot. None: it is not that layer's to know.
struct Row {
    wrong: Wrong,
    what: &'static str,
    says: [Option<&'static str>; 4],
}

const fn row(wrong: Wrong, what: &'static str, says: [&'static str; 4]) -> Row {
    let mut all = [None; 4];
    let mut at = 0;
    while at < 4 {
        if !says[at].is_empty() {
            all[at] = Some(says[at]);
        }
        at += 1;
    }
    Row { wrong, what, says: all }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    row(Wrong::AnothersMoney, "money of another user", ["FORBIDDEN", "FORBIDDEN", "", ""]),
    row(Wrong::UserZero, "user 0", ["BAD_REQUEST", "FORBIDDEN", "unknown BAD_OPERATION", "unknown BAD_OPERATION"]),
    row(Wrong::UserTooLarge, "a user above 2^63 - 1", ["BAD_REQUEST", "FORBIDDEN", "unknown BAD_OPERATION", "unknown BAD_OPERATION"]),
    row(Wrong::SameAccount, "from an account to itself", ["SAME_ACCOUNT", "SAME_ACCOUNT", "", ""]),
    row(Wrong::NoSuchType, "an account type that does not exist", ["INVALID_ACCOUNT_TYPE", "INVALID_ACCOUNT_TYPE", "", ""]),
    row(Wrong::NotConfigured, "an account type that is not configured", ["UNSUPPORTED_ACCOUNT_TYPE", "UNSUPPORTED_ACCOUNT_TYPE", "", ""]),
    row(Wrong::NoSuchAsset, "an asset that does not exist", ["INVALID_ASSET", "INVALID_ASSET", "unknown BAD_OPERATION", "unknown BAD_OPERATION"]),
    row(Wrong::Suspended, "a suspended asset", ["ASSET_SUSPENDED", "ASSET_SUSPENDED", "", ""]),
    row(Wrong::Delisted, "a delisted asset", ["ASSET_SUSPENDED", "ASSET_SUSPENDED", "", ""]),
    row(Wrong::NotTransferable, "an asset that users may not move", ["TRANSFER_NOT_ALLOWED", "TRANSFER_NOT_ALLOWED", "", ""]),
    row(Wrong::Nothing, "an amount of nothing", ["INVALID_AMOUNT", "INVALID_AMOUNT", "unknown BAD_OPERATION", "unknown BAD_OPERATION"]),
    row(Wrong::TooMuchToCount, "an amount above what can be counted", ["OVERFLOW", "OVERFLOW", "unknown BAD_OPERATION", "unknown BAD_OPERATION"]),
    row(Wrong::TooLittle, "less than the asset's least", ["AMOUNT_TOO_SMALL", "AMOUNT_TOO_SMALL", "", ""]),
    row(Wrong::TooMuch, "more than the asset's most", ["AMOUNT_TOO_LARGE", "AMOUNT_TOO_LARGE", "", ""]),
    row(Wrong::Halted, "anything under HALT", ["HALTED", "HALTED", "", ""]),
    row(Wrong::Draining, "anything new while the process ends", ["OVERLOADED", "OVERLOADED", "", ""]),
    row(Wrong::Crowded, "more open transfers than `engine.max_open`", ["OVERLOADED", "OVERLOADED", "", ""]),
    row(Wrong::BoundKey, "a client's key with another request", ["DUPLICATE_REQUEST", "DUPLICATE_REQUEST", "", ""]),
    row(Wrong::DayFull, "more transfers than the day has: the journal's guard", ["DAILY_LIMIT_EXCEEDED", "DAILY_LIMIT_EXCEEDED", "", ""]),
    row(Wrong::AmountFull, "more of an asset than the day has: the journal's guard", ["DAILY_AMOUNT_EXCEEDED", "DAILY_AMOUNT_EXCEEDED", "", ""]),
    row(Wrong::BookNoAsset, "outside money of an asset that does not exist", ["INVALID_ASSET", "", "INVALID_AMOUNT", ""]),
    row(Wrong::BookNothing, "outside money that is nothing", ["INVALID_AMOUNT", "", "INVALID_AMOUNT", ""]),
    row(Wrong::BookUserZero, "outside money of user 0", ["BAD_REQUEST", "", "INVALID_AMOUNT", ""]),
    row(Wrong::BookNoAccount, "money out of no account", ["ACCOUNT_NOT_FOUND", "", "ACCOUNT_NOT_FOUND", ""]),
    row(Wrong::BookFrozen, "money out of a frozen account", ["ACCOUNT_FROZEN", "", "ACCOUNT_FROZEN", ""]),
    row(Wrong::BookDisabled, "money into a disabled account", ["ACCOUNT_DISABLED", "", "ACCOUNT_DISABLED", ""]),
    row(Wrong::BookPoor, "more money out than there is", ["INSUFFICIENT_BALANCE", "", "INSUFFICIENT_BALANCE", ""]),
    row(Wrong::BookSameReference, "outside money under a reference of other money", ["DUPLICATE_REQUEST", "", "DUPLICATE_REQUEST", ""]),
    row(Wrong::NoAccount, "a withdraw from no account", ["", "", "SOURCE_ACCOUNT_NOT_FOUND", "SOURCE_ACCOUNT_NOT_FOUND"]),
    row(Wrong::Frozen, "a withdraw from a frozen account", ["", "", "ACCOUNT_FROZEN", "ACCOUNT_FROZEN"]),
    row(Wrong::Disabled, "a withdraw from a disabled account", ["", "", "ACCOUNT_DISABLED", "ACCOUNT_DISABLED"]),
    row(Wrong::Poor, "a withdraw of more than there is", ["", "", "INSUFFICIENT_BALANCE", "INSUFFICIENT_BALANCE"]),
    row(Wrong::NoReceiver, "a deposit to no account", ["", "", "TARGET_ACCOUNT_NOT_FOUND", ""]),
    row(Wrong::DisabledReceiver, "a deposit to a disabled account", ["", "", "ACCOUNT_DISABLED", "ACCOUNT_DISABLED"]),
    row(Wrong::OtherAmount, "the same leg again with another amount", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::OtherUser, "the same leg again of another user", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::OtherAsset, "the same leg again of another asset", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::AfterFence, "a leg that was fenced", ["", "", "FENCED", "FENCED"]),
    row(Wrong::SettleAlone, "a settle without its withdraw", ["", "", "unknown CONTRADICTION", "unknown BAD_OPERATION"]),
    row(Wrong::RefundAlone, "a refund without its withdraw", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::RefundOfRefused, "a refund of a refused withdraw", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::RefundOfMore, "a refund of more than was withdrawn", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::RefundOfLess, "a refund of less than was withdrawn", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::RefundToAnother, "a refund to another user", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::RefundOfAnotherAsset, "a refund of another asset", ["", "", "unknown CONTRADICTION", "unknown CONTRADICTION"]),
    row(Wrong::RefundAfterSettle, "a refund after the settle", ["", "", "unknown CONTRADICTION", ""]),
    row(Wrong::SettleAfterRefund, "a settle after the refund", ["", "", "unknown CONTRADICTION", "unknown BAD_OPERATION"]),
    row(Wrong::SecondRefund, "a second refund: answered as the first, moves nothing", ["", "", "done", "done"]),
    row(Wrong::Stranger, "a request that means another ledger", ["", "", "", "WRONG_LEDGER"]),
    row(Wrong::OlderStart, "a request that means an earlier start of it", ["", "", "", "WRONG_LEDGER"]),
    row(Wrong::LostOperations, "a request that knows more than the ledger", ["", "", "", "WRONG_LEDGER"]),
];

const LAYERS: [&str; 4] = ["door", "engine", "Funding", "Spot"];

#[test]
fn each_layer_refuses_by_itself() {
    for Row { wrong, what, says } in TABLE {
        for (layer, expected) in LAYERS.into_iter().zip(says) {
            let Some(expected) = expected else { continue };
            // what a service started ends with its runtime: a hundred idle services are a busy machine
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let bare = Bare::open(*wrong).await;
                let before = bare.seen().await;
                let said = bare.said(layer, *wrong).await;
                assert_eq!(said, *expected, "{layer}: {what}");
                assert_eq!(bare.since(before).await, [""; 0], "{layer}: {what}: something moved");
            });
        }
    }
}

impl Bare {
    /// What a layer says to it.
    async fn said(&self, layer: &str, wrong: Wrong) -> String {
        match layer {
            "door" if wrong.books() => self.asked_to_book(wrong).await,
            "Funding" if wrong.books() => self.booked(wrong).await,
            "door" => self.door(wrong).await,
            "engine" => self.engine(wrong).await,
            "Funding" => self.funding(wrong).await,
            _ => self.spot(wrong).await,
        }
    }
}

/// The page is this table.
#[test]
fn the_page_says_what_the_tests_hold() {
    let mut page = include_str!("depth.head.md").trim_end().to_owned();
    page.push_str("\n\n| tried | door | engine | Funding | Spot |\n|---|---|---|---|---|\n");
    for row in TABLE {
        let cells =
            row.says.map(|says| says.map_or_else(|| "–".to_owned(), |says| format!("`{says}`")));
        page.push_str(&format!("| {} | {} |\n", row.what, cells.join(" | ")));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proof/depth.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/proof/depth.md is not:\n{page}");
}
