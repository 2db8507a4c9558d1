//! What a user reads of a transfer that operators looked after.

use super::Served;
use crate::own::script::TOKEN;
use serde_json::json;

/// Red before the mend: the user read "suspected-fraud" in the history.
#[test]
fn the_reason_of_an_action_is_for_operators_alone() {
    let served = Served::start(&[
        ("PORTAGE_LEDGERS__MARGIN__KIND", "remote"),
        ("PORTAGE_LEDGERS__MARGIN__URL", "http://127.0.0.1:9"),
        ("PORTAGE_LEDGERS__MARGIN__TOKEN", TOKEN),
    ]);
    served.fund("4001", "100");
    let create = ["transfer", "create", "--user", "4001", "--from", "FUNDING", "--to", "MARGIN"];
    let open = served.json(&[&create[..], &["--asset", "USDT", "--amount", "10"]].concat());
    let id = open["req_id"].as_str().expect("an id");
    served.json(&["ops", "pause-transfer", id, "--reason", "suspected-fraud"]);

    let user = served.json(&["transfer", "get", id, "--user", "4001"]);
    let history = user["history"].as_array().expect("a history");
    let operators: Vec<_> =
        history.iter().filter(|entry| entry["event"] == json!("OPERATOR")).collect();
    assert_eq!(operators.len(), 1, "{user}");
    assert_eq!(operators[0]["detail"], json!(r#"{"action":"PAUSE_TRANSFER"}"#), "{user}");
    assert!(!user.to_string().contains("fraud"), "{user}");
    let whole = served.json(&["ops", "show", id]);
    assert!(whole["history"].to_string().contains("suspected-fraud"), "{whole}");
    // the former names of the commands do the same, and the list of actions has the words of the routes
    served.json(&["ops", "release", id, "--reason", "cleared"]);
    served.json(&["ops", "hold", id, "--reason", "again"]);
    served.json(&["ops", "resume-transfer", id, "--reason", "cleared again"]);
    let actions = served.json(&["ops", "actions", "--subject", id]);
    let actions = actions["actions"].as_array().expect("actions").iter();
    let kinds: Vec<_> = actions.map(|action| action["kind"].clone()).collect();
    let (paused, resumed) = (json!("PAUSE_TRANSFER"), json!("RESUME_TRANSFER"));
    assert_eq!(kinds, [&resumed, &paused, &resumed, &paused].map(Clone::clone));
}
