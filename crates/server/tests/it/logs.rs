//! What a real process writes to its log while strangers talk to it.

use crate::command::ends;
use crate::fixture::http_socket::{asked, connected};
use crate::fixture::process::{self, minted, serves};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testbed::Listening;

const SECRET: &str = "canary-of-the-secret-0123456789abcdef";

fn portage(dir: &Path) -> Command {
    let mut command = process::portage(dir);
    command.env("PORTAGE_AUTH__HS256_SECRET", SECRET);
    command.env("PORTAGE_LOG__FORMAT", "json").env("PORTAGE_LOG__LEVEL", "debug");
    command
}

/// Sends one request as it is; the page that answers it.
fn told(server: &Listening, head: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "{head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut stream = connected(server.port()).expect("a connection");
    asked(&mut stream, &request).expect("an answer").page
}

/// Turns red where a token, a secret or a body reaches the log, where a line is none of its own,
/// or where a line about a request does not say which.
#[test]
fn the_log_names_requests_and_tells_no_secret() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let token = minted(portage(dir), "4001", "transfers:create");
    let server = serves(portage(dir), &dir.join("log"));
    let create =
        "POST /api/v1/internal_transfer HTTP/1.1\r\nhost: portage\r\nauthorization: Bearer";
    let body =
        r#"{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"1","cid":"canary-of-a-key"}"#;
    let made = told(&server, &format!("{create} {token}"), body);
    assert!(made.contains("SOURCE_ACCOUNT_NOT_FOUND"), "{made}");
    let req_id = made.split("\"req_id\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let forged = told(&server, &format!("{create} {token}x"), body);
    assert!(forged.contains("UNAUTHORIZED"), "{forged}");
    let odd = "GET /%0d%0aERROR%20all%20is%20lost%1b[2J HTTP/1.1\r\nhost: portage";
    told(&server, odd, "");
    let bad = told(&server, &format!("{create} {token}"), r#"{"canary\nof\u001ba body":1}"#);
    assert!(bad.contains("BAD_REQUEST"), "{bad}");
    assert_eq!(ends(&server, "TERM"), 0);
    let log = server.log();

    for hidden in [SECRET, &token, "canary-of-a-key"] {
        assert!(!log.contains(hidden), "{hidden} is in the log:\n{log}");
    }
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect();
    let answered: Vec<&Value> = lines.iter().filter(|line| line["message"] == "answered").collect();
    assert_eq!(answered.len(), 4, "{log}");
    for line in
        lines.iter().filter(|line| line["target"] == "access" || line["target"] == "security")
    {
        assert!(line["span"]["request_id"].is_string(), "{line}");
    }
    let first = answered[0];
    assert_eq!(first["span"]["principal"], "portage|4001", "{first}");
    assert_eq!(first["span"]["req_id"].as_str(), req_id, "{first}");
    assert_eq!(
        (&first["route"], &first["status"]),
        (&"/api/v1/internal_transfer".into(), &422.into())
    );
    let refused = lines.iter().find(|line| line["message"] == "token refused");
    let refused = refused.unwrap_or_else(|| panic!("{log}"));
    assert!(refused["why"].is_string() && refused["span"].get("principal").is_none(), "{refused}");
}
