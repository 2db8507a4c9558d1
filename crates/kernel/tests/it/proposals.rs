//! What is proposed to a second person: each proposal is written down here as every store has it, and read back.

use crate::actions::{DEPOSITED, ID, SPELLED, accepted, deposit};
use kernel::accounts::NumberedStatus;
use kernel::flow::life::Leg;
use kernel::ids::{LedgerId, UserId};
use kernel::money::Asset;
use kernel::operators::{
    Approval, ApprovalStatus, Proposed, ProposedAcceptance, ProposedAccountStatus, ProposedLift,
    ProposedMovement, ProposedRelease, ProposedResume, ProposedStatus, ProposedUnpause,
    ProposedVerdict, Verdict,
};
use kernel::ports::ledger::AccountStatus;
use serde_json::json;

fn approval(kind: &str, value: &str) -> Approval {
    Approval {
        id: ID,
        kind: kind.into(),
        subject: SPELLED.into(),
        value: value.into(),
        reason: "why".into(),
        caller: "ops|1".into(),
        at: 1,
        expires_at: 2,
        stand: ApprovalStatus::Pending,
        decided: None,
    }
}

/// What is proposed is stored in the bytes of the former code, and another kind reads nothing of it.
#[test]
fn a_proposal_is_stored_in_these_bytes_and_read_back() {
    let verdict = ProposedVerdict {
        answer: Verdict::Rejected,
        state: "TARGET_PENDING".into(),
        entered: 3,
        ledger: LedgerId::SPOT,
        leg: Leg::Deposit,
        evidence: json!({"ticket": "4711"}),
    };
    let resume = ProposedResume { halt: 7, accept: vec![accepted("a", -2)] };
    let assets = Asset::fresh();
    let all = [
        (
            Proposed::Verdict(verdict),
            "RESOLVE",
            r#"{"answer":"rejected","entered":3,"evidence":{"ticket":"4711"},"ledger":"SPOT","leg":"DEPOSIT","state":"TARGET_PENDING"}"#,
        ),
        (Proposed::Resume(resume), "RESUME", r#"{"accept":[{"amount":"-2","key":"a"}],"halt":7}"#),
        (Proposed::Movement(ProposedMovement::of(&deposit(), &assets)), "DEPOSIT", DEPOSITED),
        (
            Proposed::Lift(ProposedLift {
                pause: 3,
                chain: "NEAR".into(),
                stop: "why".into(),
                stops: 2,
            }),
            "UNPAUSE",
            r#"{"chain":"NEAR","pause":3,"stop":"why","stops":2}"#,
        ),
        (
            Proposed::Unpause(ProposedUnpause {
                pause: 3,
                account: "account/7/SPOT".into(),
                stop: "why".into(),
            }),
            "UNPAUSE",
            r#"{"account":"account/7/SPOT","pause":3,"stop":"why"}"#,
        ),
        (
            Proposed::Status(ProposedStatus {
                user_id: UserId(7),
                ledger: LedgerId::SPOT,
                status: AccountStatus::Active,
                set: 12,
                stop: "why".into(),
            }),
            "STATUS",
            r#"{"ledger":"SPOT","set":12,"status":"ACTIVE","stop":"why","user_id":"7"}"#,
        ),
        (
            Proposed::AccountStatus(ProposedAccountStatus {
                account_number: "ACC-1".into(),
                status: NumberedStatus::Active,
                set: 12,
                stop: "why".into(),
            }),
            "ACCOUNT_STATUS",
            r#"{"account_number":"ACC-1","set":12,"status":"ACTIVE","stop":"why"}"#,
        ),
    ];
    stored_and_read(all);
}

#[test]
fn a_proposal_on_money_of_chains_is_stored_in_these_bytes_and_read_back() {
    stored_and_read([
        (
            Proposed::Acceptance(ProposedAcceptance {
                withdrawal: "withdrawal:SOLANA:9f3a".into(),
                version: 1,
                asset: "USDC".to_owned(),
                amount: "40.000000".to_owned(),
                facts: "to 9xQe".into(),
            }),
            "ACCEPT_WITHDRAWAL",
            r#"{"amount":"40.000000","asset":"USDC","facts":"to 9xQe","version":1,"withdrawal":"withdrawal:SOLANA:9f3a"}"#,
        ),
        (
            Proposed::Release(ProposedRelease {
                state: "to be quarantined".into(),
                entered: 9,
                refusals: 3,
            }),
            "RELEASE_REFUND",
            r#"{"entered":9,"refusals":3,"state":"to be quarantined"}"#,
        ),
    ]);
}

fn stored_and_read<const N: usize>(all: [(Proposed, &str, &str); N]) {
    for (proposed, kind, text) in all {
        assert_eq!(&*proposed.stored(), text);
        assert_eq!(Proposed::read(&approval(kind, text)), Some(proposed), "{text}");
        assert_eq!(Proposed::read(&approval("HALT", text)), None, "{text}");
        assert_eq!(Proposed::read(&approval(kind, "{}")), None, "{kind}");
    }
}

/// What was read by the one who approved is what is booked. Seen red where `movement` compares nothing.
#[test]
fn a_deposit_is_booked_in_the_words_that_were_read() {
    let assets = Asset::fresh();
    let proposed = ProposedMovement::of(&deposit(), &assets);
    let pending = approval("DEPOSIT", "");
    assert_eq!(proposed.movement(&pending, &assets), Some(deposit()));
    let other = |asset: Asset| proposed.movement(&pending, &[asset]);
    assert_eq!(other(Asset::plain(3, "USDX", 6)), None, "another symbol");
    assert_eq!(other(Asset::plain(3, "USDT", 2)), None, "other decimals");
    assert_eq!(other(Asset::plain(4, "USDT", 6)), None, "another asset");
    let unknown = ProposedMovement::of(&deposit(), &[]);
    assert_eq!(unknown.movement(&pending, &[]), None, "an asset that nothing is known of");
}
