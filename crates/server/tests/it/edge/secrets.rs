//! What must never be written down: secrets, and tokens good or bad.

use super::{CREATE, Served, USER, head, transfer};

/// Turns red where anything logs a header, a setting or a token, at any level.
#[test]
fn no_log_holds_a_secret() {
    let secret = "canary-secret-of-the-tokens-0123456789";
    let served = Served::start(&[("PORTAGE_LOG", "trace"), ("PORTAGE_AUTH__HS256_SECRET", secret)]);
    served.fund("4001", "10");
    let good = served.token("4001", USER);
    let (message, signature) = good.rsplit_once('.').expect("three parts");
    let forged = format!("{message}.canaryforged{}", &signature[12..]);
    let mut requests = vec![
        transfer(&good, "a"),
        transfer(&good, "b").replace("\"1\"", "\"x\""),
        transfer(&forged, "c"),
        head("GET", "/api/v1/balances", &good, ""),
        head("GET", "/api/v1/balances", "canary-no-token-at-all", ""),
        head("GET", &format!("/api/v1/balances?access_token={good}"), "x", ""),
        head("GET", "/api/v1/ops/accounts", &good, ""),
        head("GET", "/nowhere", &good, ""),
        head("DELETE", CREATE, &good, ""),
        head("GET", "/api/v1/balances", &good, &format!("authorization: Bearer {good}\r\n")),
        head("GET", "/api/v1/balances", "x", &format!("cookie: token={good}\r\n")),
    ];
    // one that is no HTTP at all
    requests.push(head("GET", "/ /", &good, ""));
    for request in &requests {
        served.ask(request);
    }
    let shown = served.run(&["config"]);
    assert!(shown.status.success(), "{shown:?}");
    let log = served.log() + &String::from_utf8_lossy(&shown.stdout);
    assert!(log.contains("token refused") && log.contains("DEBUG"), "it logs: {log}");
    let forged = forged.rsplit('.').next().expect("a part");
    for canary in [secret, signature, forged, "canary-no-token-at-all"] {
        let line = log.lines().find(|line| line.contains(canary));
        assert!(line.is_none(), "{canary}: {line:?}");
    }
}
