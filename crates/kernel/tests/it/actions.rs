//! The texts in which the audit keeps operators' actions, what they came to and what they propose: each
//! is written down here as every store has it, and read back.

use kernel::accounts::{LONGEST_NUMBER, NumberedAccount, NumberedStatus, is_account_number};
use kernel::answer::Evidence;
use kernel::flow::life::Leg;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, FlowId, Id, LedgerId, UserId};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::operation::Key;
use kernel::operators::{
    Accepted, ActionResult, AdminAction, AssetChange, NewAsset, NewNumberedAccount, NewWebhook,
    NoteText, OutstandingCall, Permission, ProposedMovement, Redrive, Reemission, Scope,
    SecondPerson, StoredAnswer, Verdict, WebhookAction, WebhookChange,
};
use kernel::ports::ledger::{AccountStatus, Direction, External};
use kernel::record::System;
use kernel::webhooks::{Channel, EndpointStatus, EventFilter, WebhookEndpoint, WebhookSecret};
use serde_json::json;
use std::sync::Arc;

pub(crate) const ID: Id = Id(0x0194_0000_0000_0000_0000_0000_0000_0007);
pub(crate) const SPELLED: &str = "01JG0000000000000000000007";

/// The deposit of [`deposit`], as it is asked for and as it is proposed.
pub(crate) const DEPOSITED: &str = r#"{"amount":"1.500000","asset":"USDT","asset_id":3,"ref":"bank-7","units":"1500000","user_id":"4001"}"#;

fn asked(ledger: LedgerId, leg: Leg, said: StoredAnswer) -> ActionResult {
    ActionResult::Asked { ledger, leg, said }
}

fn refused(doc: Option<&str>) -> StoredAnswer {
    let code = "ACCOUNT_FROZEN".into();
    StoredAnswer::Rejected(Evidence { code, doc: doc.map(Into::into) })
}

pub(crate) fn accepted(key: &str, amount: i128) -> Accepted {
    Accepted { key: key.into(), amount }
}

/// Each result has this text, and is read from it.
fn stored_and_read(all: &[(ActionResult, &str)]) {
    for (result, text) in all {
        assert_eq!(&*result.stored(), *text);
        assert_eq!(ActionResult::read(text).as_ref(), Some(result), "{text}");
    }
}

/// A HALT's result, with what is not stored of it.
fn halted(on_wire: Vec<OutstandingCall>, calls: usize) -> ActionResult {
    ActionResult::Halted { halt: None, on_wire, calls, quiet: false, stored: true }
}

/// Seen red with the tag `kind` instead of `outcome`, and with an amount as a number.
#[test]
fn a_result_is_stored_in_these_bytes_and_read_back() {
    let call = OutstandingCall {
        system: System::Ledger(LedgerId::SPOT),
        key: Key { id: ID, leg: Leg::Deposit },
    };
    let asset = Asset { max: Some(Amount(u128::MAX)), ..Asset::plain(7, "GOLD", 3) };
    let account = NumberedAccount {
        number: "ACC-1".into(),
        owner: UserId(4001),
        asset: AssetId(3),
        balance: Amount(1_500_000),
        status: NumberedStatus::Frozen,
        version: 2,
    };
    let all = [
        (ActionResult::Retried, r#"{"outcome":"RETRIED"}"#),
        (ActionResult::Paused { number: None }, r#"{"outcome":"PAUSED"}"#),
        (ActionResult::Unpaused, r#"{"outcome":"UNPAUSED"}"#),
        (
            halted(vec![call], 2),
            r#"{"calls":2,"on_wire":[{"id":"01JG0000000000000000000007","ledger":"SPOT","leg":"DEPOSIT"}],"outcome":"HALTED"}"#,
        ),
        (halted(Vec::new(), 0), r#"{"calls":0,"on_wire":[],"outcome":"HALTED"}"#),
        (
            ActionResult::Proposed { approval: ID },
            r#"{"approval":"01JG0000000000000000000007","outcome":"PROPOSED"}"#,
        ),
        (ActionResult::Proving { at: 3, of: 9 }, r#"{"at":3,"of":9,"outcome":"PROVING"}"#),
        (
            ActionResult::Resumed { accepted: vec![accepted("a", i128::MAX), accepted("b", -5)] },
            r#"{"accepted":[{"amount":"170141183460469231731687303715884105727","key":"a"},{"amount":"-5","key":"b"}],"outcome":"RESUMED"}"#,
        ),
        (
            ActionResult::Deposited { reference: "bank-7".into() },
            r#"{"outcome":"DEPOSITED","ref":"bank-7"}"#,
        ),
        (
            ActionResult::Resolved {
                verdict: Verdict::Rejected,
                said: StoredAnswer::Fenced,
                state: "COMPENSATING".into(),
            },
            r#"{"answer":"rejected","outcome":"RESOLVED","said":{"answer":"FENCED"},"state":"COMPENSATING"}"#,
        ),
        (
            ActionResult::Superseded { state: "COMMITTED".into() },
            r#"{"outcome":"SUPERSEDED","state":"COMMITTED"}"#,
        ),
        (ActionResult::Refused, r#"{"outcome":"REFUSED"}"#),
        (ActionResult::StatusSet, r#"{"outcome":"STATUS_SET"}"#),
        (
            ActionResult::Asset { asset },
            r#"{"asset":{"daily":null,"id":7,"max":"340282366920938463463374607431768211455","min":"1","precision":3,"status":"ACTIVE","symbol":"GOLD","transferable":true},"outcome":"ASSET"}"#,
        ),
        (
            ActionResult::NumberedAccount { account },
            r#"{"account":{"asset":3,"balance":"1500000","number":"ACC-1","owner":"4001","status":"FROZEN","version":2},"outcome":"NUMBERED_ACCOUNT"}"#,
        ),
        (
            ActionResult::Webhook { endpoint: endpoint() },
            r#"{"endpoint":{"channel":"http","created_at":7,"description":"a bot","enabled_at":9,"filter":{"events":["case.*"]},"id":"01JG0000000000000000000007","status":"ACTIVE","target":"https://hooks.example/x"},"outcome":"WEBHOOK"}"#,
        ),
        (ActionResult::WebhookDeleted, r#"{"outcome":"WEBHOOK_DELETED"}"#),
    ];
    stored_and_read(&all);
    for none in ["", "{}", r#"{"outcome":"retried"}"#, r#"{"outcome":"MOVED"}"#] {
        assert_eq!(ActionResult::read(none), None, "{none}");
    }
}

#[test]
fn results_on_money_of_chains_are_stored_in_these_bytes_and_read_back() {
    stored_and_read(&[
        (ActionResult::WithdrawalAccepted, r#"{"outcome":"WITHDRAWAL_ACCEPTED"}"#),
        (
            ActionResult::RefundReleased { refusals: 3 },
            r#"{"outcome":"REFUND_RELEASED","refusals":3}"#,
        ),
    ]);
}

#[test]
fn results_on_notes_and_messages_are_stored_in_these_bytes_and_read_back() {
    stored_and_read(&[
        (ActionResult::Noted, r#"{"outcome":"NOTED"}"#),
        (ActionResult::Unparked, r#"{"outcome":"UNPARKED"}"#),
        (
            ActionResult::Redriven { messages: 1, passed_over: 2, left: 3 },
            r#"{"left":3,"messages":1,"outcome":"REDRIVEN","passed_over":2}"#,
        ),
        (ActionResult::Reemitted { messages: 1 }, r#"{"messages":1,"outcome":"REEMITTED"}"#),
        (ActionResult::Sought { partitions: 1 }, r#"{"outcome":"SOUGHT","partitions":1}"#),
    ]);
}

/// Seen red with the tag `kind` instead of `outcome`.
#[test]
fn what_a_ledger_said_is_stored_in_these_bytes_and_read_back() {
    let (spot, deposit) = (LedgerId::SPOT, Leg::Deposit);
    stored_and_read(&[
        (
            asked(spot, deposit, StoredAnswer::Done { seq: 17 }),
            r#"{"ledger":"SPOT","leg":"DEPOSIT","outcome":"ASKED","said":{"answer":"DONE","seq":17}}"#,
        ),
        (
            asked(spot, deposit, refused(None)),
            r#"{"ledger":"SPOT","leg":"DEPOSIT","outcome":"ASKED","said":{"answer":"REJECTED","code":"ACCOUNT_FROZEN","doc":null}}"#,
        ),
        (
            asked(spot, deposit, refused(Some("a \"doc\""))),
            r#"{"ledger":"SPOT","leg":"DEPOSIT","outcome":"ASKED","said":{"answer":"REJECTED","code":"ACCOUNT_FROZEN","doc":"a \"doc\""}}"#,
        ),
        (
            asked(LedgerId::FUNDING, Leg::Withdraw, StoredAnswer::Fenced),
            r#"{"ledger":"FUNDING","leg":"WITHDRAW","outcome":"ASKED","said":{"answer":"FENCED"}}"#,
        ),
        (
            asked(LedgerId::MARGIN, Leg::Refund, StoredAnswer::Nothing),
            r#"{"ledger":"MARGIN","leg":"REFUND","outcome":"ASKED","said":{"answer":"NOTHING"}}"#,
        ),
        (
            asked(LedgerId::FUTURE, Leg::Settle, StoredAnswer::Unknown { why: "TIMEOUT".into() }),
            r#"{"ledger":"FUTURE","leg":"SETTLE","outcome":"ASKED","said":{"answer":"UNKNOWN","why":"TIMEOUT"}}"#,
        ),
    ]);
}

/// What is true of the moment is not stored, and accepted breaks are stored once and in one order.
#[test]
fn what_changes_later_is_not_stored() {
    let halted = |halt, quiet, stored| {
        let (on_wire, calls) = (Vec::new(), 0);
        ActionResult::Halted { halt, on_wire, calls, quiet, stored }.stored()
    };
    assert_eq!(halted(Some(7), true, true), halted(None, false, false));
    let paused = |number| ActionResult::Paused { number }.stored();
    assert_eq!(paused(Some(3)), paused(None));
    let twice = vec![accepted("b", -5), accepted("a", 1), accepted("b", -5)];
    let once = vec![accepted("a", 1), accepted("b", -5)];
    let resumed = |accepted| ActionResult::Resumed { accepted }.stored();
    assert_eq!(resumed(twice), resumed(once));
}

pub(crate) fn deposit() -> External {
    External {
        direction: Direction::In,
        reference: "bank-7".into(),
        user: UserId(4001),
        number: None,
        asset: AssetId(3),
        amount: Amount(1_500_000),
        reason: "why".into(),
        caller: "ops|1".into(),
    }
}

/// Each action as the audit names it: kind, subject and value. The rest of its row is given.
fn in_the_table(rest: (Permission, SecondPerson), all: Vec<(AdminAction, &str, &str, &str)>) {
    let assets = Asset::fresh();
    for (action, kind, subject, value) in all {
        let row = action.row();
        assert_eq!(row.subject.spelled(&Flows::default(), &assets), subject, "{kind}");
        assert_eq!(action.value().to_string(), value, "{kind}");
        assert_eq!((row.kind, row.permission, row.second_person), (kind, rest.0, rest.1));
    }
}

/// The actions that take effect at once. Seen red where a note is neither trimmed nor in NFC.
#[test]
fn actions_on_transfers_cases_and_accounts() {
    let user = UserId(4001);
    let frozen = AccountStatus::Frozen;
    in_the_table(
        (Permission::Act, SecondPerson::Never),
        vec![
            (AdminAction::Retry(ID), "RETRY", SPELLED, "{}"),
            (AdminAction::Ask(ID), "ASK", SPELLED, "{}"),
            (AdminAction::PauseTransfer(ID), "PAUSE", SPELLED, "{}"),
            (AdminAction::ResumeTransfer(ID), "RESUME_TRANSFER", SPELLED, "{}"),
            (
                AdminAction::NoteTransfer { id: ID, text: note(" de\u{301}j\u{e0}\nvu\n") },
                "NOTE",
                SPELLED,
                r#"{"text":"déjà\nvu"}"#,
            ),
            (AdminAction::Halt, "HALT", "service", "{}"),
            (AdminAction::Unpause(3), "UNPAUSE", "pause/3", "{}"),
            (
                AdminAction::Status { ledger: LedgerId::FUNDING, user, status: frozen },
                "STATUS",
                "account/4001/FUNDING",
                r#"{"status":"FROZEN"}"#,
            ),
            (
                AdminAction::OpenAccount(NewNumberedAccount {
                    number: "ACC-1".into(),
                    owner: user,
                    currency: "USDT".to_owned(),
                }),
                "OPEN_ACCOUNT",
                "account/ACC-1",
                r#"{"currency":"USDT","owner":"4001"}"#,
            ),
            (
                AdminAction::AccountStatus {
                    number: "ACC-1".into(),
                    status: NumberedStatus::Closed,
                },
                "ACCOUNT_STATUS",
                "account/ACC-1",
                r#"{"status":"CLOSED"}"#,
            ),
            (
                AdminAction::Assign { case: 12, to: "ops-7".into() },
                "ASSIGN",
                "case/12",
                r#"{"to":"ops-7"}"#,
            ),
            (
                AdminAction::Comment { case: 12, text: "a\n\"b\"".into() },
                "COMMENT",
                "case/12",
                r#"{"text":"a\n\"b\""}"#,
            ),
        ],
    );
}

/// The actions on messages take effect at once, too.
#[test]
fn actions_on_messages() {
    in_the_table(
        (Permission::Act, SecondPerson::Never),
        vec![
            (
                AdminAction::Unpark { group: "g".into(), topic: "t".into(), key: "A-1".into() },
                "UNPARK",
                "group/g",
                r#"{"key":"A-1","topic":"t"}"#,
            ),
            (
                AdminAction::Redrive(Redrive {
                    topic: "t-dlt".into(),
                    most: 10,
                    per_second: 5,
                    replays: 3,
                }),
                "REDRIVE",
                "topic/t-dlt",
                r#"{"most":10,"per_second":5,"replays":3}"#,
            ),
            (
                AdminAction::Reemit(Reemission { from: 1, to: 2 }),
                "REEMIT",
                "outbox",
                r#"{"from":1,"to":2}"#,
            ),
            (AdminAction::Seek { group: "g".into(), to: 7 }, "SEEK", "group/g", r#"{"to":7}"#),
        ],
    );
}

fn endpoint() -> WebhookEndpoint {
    WebhookEndpoint {
        id: ID,
        channel: Channel::Http,
        target: "https://hooks.example/x".into(),
        description: "a bot".into(),
        filter: EventFilter { events: vec!["case.*".into()], ..EventFilter::default() },
        status: EndpointStatus::Active,
        disabled_because: None,
        created_at: 7,
        enabled_at: 9,
        rotating_until: None,
    }
}

/// No secret and no id of ours is in the audit. Turns red where `secret` or `id` is not skipped: a repeat
/// under the same key, which draws others, is a mismatch.
#[test]
fn actions_on_webhooks() {
    let secret = || WebhookSecret("whsec_x".into());
    let WebhookEndpoint { channel, target, description, filter, .. } = endpoint();
    let owner = Some("user:4001".into());
    let filter = EventFilter { owner, flows: vec!["internal".into()], ..filter };
    let new = NewWebhook { id: ID, secret: secret(), channel, target, description, filter };
    let change = WebhookChange {
        id: ID,
        target: None,
        secret: Some(secret()),
        description: None,
        events: Some(vec!["*".into()]),
        flows: None,
        owner: Some(None),
        status: Some(EndpointStatus::Disabled),
    };
    let webhook = format!("webhook/{SPELLED}");
    let rows = [
        (
            WebhookAction::Add(new),
            "ADD_WEBHOOK",
            "webhooks",
            r#"{"channel":"http","description":"a bot","events":["case.*"],"flows":["internal"],"owner":"user:4001","target":"https://hooks.example/x"}"#,
        ),
        (
            WebhookAction::Change(change),
            "CHANGE_WEBHOOK",
            &webhook,
            r#"{"events":["*"],"owner":null,"status":"DISABLED"}"#,
        ),
        (WebhookAction::Delete(ID), "DELETE_WEBHOOK", &webhook, "{}"),
        (
            WebhookAction::Rotate { id: ID, secret: secret(), overlap_ms: 5 },
            "ROTATE_WEBHOOK",
            &webhook,
            r#"{"overlap_ms":5}"#,
        ),
        (WebhookAction::Test(ID), "TEST_WEBHOOK", &webhook, "{}"),
        (
            WebhookAction::Resend { id: ID, number: 3 },
            "RESEND_WEBHOOK",
            &webhook,
            r#"{"number":3}"#,
        ),
        (WebhookAction::Replay { id: ID, since: 4 }, "REPLAY_WEBHOOK", &webhook, r#"{"since":4}"#),
    ];
    let action =
        |(action, kind, subject, value)| (AdminAction::Webhook(action), kind, subject, value);
    in_the_table((Permission::Act, SecondPerson::Never), rows.map(action).into());
}

fn note(typed: &str) -> NoteText {
    NoteText::parse(typed).unwrap_or_else(|| panic!("no note: {typed}"))
}

/// Seen red where `NoteText::parse` leaves out the trim, the NFC with it, the length after them or the
/// look at control characters.
#[test]
fn the_words_of_a_note() {
    assert_eq!(note("e\u{301}").to_string(), "\u{e9}", "one spelling of what looks the same");
    assert_eq!(note("\u{a0} a\nb \n"), note("a\nb"));
    assert_eq!(
        note(&"e\u{301}".repeat(NoteText::MOST)).to_string().chars().count(),
        NoteText::MOST
    );
    for none in ["", " \n\t", "a\rb", "a\tb", "a\u{0}", "a\u{85}b"] {
        assert_eq!(NoteText::parse(none), None, "{none:?}");
    }
    assert_eq!(NoteText::parse(&"x".repeat(NoteText::MOST + 1)), None);
}

/// Seen red where `is_account_number` leaves out the length, the alphabet or the first dash.
#[test]
fn the_number_of_an_account() {
    let longest = "A".repeat(LONGEST_NUMBER);
    for number in ["1", "A-1", "DE89370400440532013000", "9-", &longest] {
        assert!(is_account_number(number), "{number}");
    }
    let longer = format!("{longest}A");
    for none in ["", "-1", "acc-1", "A 1", "A_1", "A/1", "\u{c4}1", "\u{ff11}", &longer] {
        assert!(!is_account_number(none), "{none:?}");
    }
}

/// A scope has the name that operators read: an asset its symbol, a transfer its id alone.
#[test]
fn pauses_by_scope() {
    let account = Scope::Account(UserId(4001), LedgerId::FUNDING);
    let all = [
        (Scope::Ledger(LedgerId::FUNDING), "ledger/FUNDING"),
        (Scope::Flow(FlowId(9)), "flow/unknown"),
        (Scope::Chain(ChainId(20)), "chain/20"),
        (Scope::Asset(AssetId(3)), "USDT"),
        (Scope::Asset(AssetId(99)), "asset/99"),
        (account, "account/4001/FUNDING"),
        (Scope::Transfer(ID), SPELLED),
        (Scope::Group("execution-group"), "group/execution-group"),
    ];
    let row = |(scope, subject)| (AdminAction::Pause(scope), "PAUSE", subject, "{}");
    in_the_table((Permission::Act, SecondPerson::Never), all.map(row).into());
}

/// What does not change of an asset is not named. Seen red with an amount as a number.
#[test]
fn actions_on_assets() {
    let gold = NewAsset {
        id: None,
        symbol: "GOLD".to_owned(),
        precision: 3,
        transferable: true,
        min: Amount(1),
        max: Some(Amount(9)),
        daily: None,
    };
    let nothing = AssetChange { symbol: "GOLD".to_owned(), ..AssetChange::default() };
    let change = AssetChange {
        status: Some(AssetStatus::Suspended),
        transferable: Some(false),
        min: Some(Amount(2)),
        max: Some(None),
        daily: Some(Some(Amount(7))),
        ..nothing.clone()
    };
    in_the_table(
        (Permission::Act, SecondPerson::Never),
        vec![
            (
                AdminAction::AddAsset(gold),
                "ADD_ASSET",
                "GOLD",
                r#"{"daily":null,"id":null,"max":"9","min":"1","precision":3,"transferable":true}"#,
            ),
            (AdminAction::ChangeAsset(nothing), "CHANGE_ASSET", "GOLD", "{}"),
            (
                AdminAction::ChangeAsset(change),
                "CHANGE_ASSET",
                "GOLD",
                r#"{"daily":"7","max":null,"min":"2","status":"SUSPENDED","transferable":false}"#,
            ),
        ],
    );
}

/// What a second person decides, and the decisions. Seen red with an amount as a number.
#[test]
fn actions_of_two_persons() {
    let row: Arc<str> = "withdrawal:SOLANA:9f3a".into();
    let left = "vault/withdrawal:SOLANA:9f3a";
    let evidence = json!({"ticket": "4711", "a": 1});
    let resolve = AdminAction::Resolve { id: ID, verdict: Verdict::Dead, evidence };
    let resume = AdminAction::Resume { accept: vec![accepted("b", 1), accepted("a", -2)] };
    let deposit = AdminAction::Movement(ProposedMovement::of(&deposit(), &Asset::fresh()));
    let asked = r#"{"answer":"dead","evidence":{"a":1,"ticket":"4711"}}"#;
    let breaks = r#"{"accept":[{"amount":"-2","key":"a"},{"amount":"1","key":"b"}]}"#;
    in_the_table(
        (Permission::Act, SecondPerson::FourEyes),
        vec![
            (resolve, "RESOLVE", SPELLED, asked),
            (resume, "RESUME", "service", breaks),
            (AdminAction::AcceptWithdrawal(row), "ACCEPT_WITHDRAWAL", left, "{}"),
            (AdminAction::ReleaseRefund(ID), "RELEASE_REFUND", SPELLED, "{}"),
        ],
    );
    in_the_table(
        (Permission::Act, SecondPerson::Always),
        vec![(deposit, "DEPOSIT", "deposit/bank-7", DEPOSITED)],
    );
    let approval = "approval/01JG0000000000000000000007";
    in_the_table(
        (Permission::Approve, SecondPerson::Never),
        vec![
            (AdminAction::Approve(ID), "APPROVE", approval, "{}"),
            (AdminAction::Reject(ID), "REJECT", approval, "{}"),
        ],
    );
}
