//! `portage spot serve` beyond loopback: with TLS, behind a proxy that has it, or not at all.

use super::script::{Elsewhere, Program, TOKEN};
use crate::fixture::process::portage;
use crate::release::server::{Server, token, until};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A folder with a certificate, its key and its authority; the variables that name the first two.
fn certificate(dir: &Path) -> Vec<(String, String)> {
    let put = |name: &str, text: &[u8]| {
        let file = dir.join(name);
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
        file.display().to_string()
    };
    put("ca.pem", include_bytes!("../../keys/ca.pem"));
    let cert = put("cert.pem", include_bytes!("../../keys/server.pem"));
    let key = put("key.pem", include_bytes!("../../keys/server.key"));
    let name = |key: &str| format!("PORTAGE_SPOT__TLS__{key}");
    vec![(name("CERT_FILE"), cert), (name("KEY_FILE"), key)]
}

/// Seen red with a build that does not look at where it listens.
#[test]
fn beyond_loopback_there_is_tls_here_or_in_front() {
    let dir = tempfile::tempdir().expect("a folder");
    let serve = |variables: &[(String, String)]| {
        let mut serve = portage(dir.path());
        serve.args(["spot", "serve", "--listen", "0.0.0.0:0"]);
        serve.envs(variables.iter().cloned());
        serve
    };
    let out = serve(&[]).output().expect("it runs");
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(78), "{why}");
    for word in ["spot.listen", "spot.tls", "spot.behind_proxy", "in the clear"] {
        assert!(why.contains(word), "{why}");
    }
    let tls = certificate(dir.path());
    let out = serve(&tls[..1]).output().expect("it runs");
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(78), "{why}");
    assert!(why.contains("spot.tls") && why.contains("belong together"), "{why}");
    let proxy = ("PORTAGE_SPOT__BEHIND_PROXY".to_owned(), "true".to_owned());
    for variables in [vec![proxy, listens()], [tls, vec![listens()]].concat()] {
        let dir = tempfile::tempdir().expect("a folder");
        let at = Elsewhere::start(&Program::Spot(variables), dir.path(), 0).at;
        assert!(at.ip().is_unspecified(), "{at}");
    }
}

/// In the place of the rig's own address.
fn listens() -> (String, String) {
    ("PORTAGE_SPOT__LISTEN".to_owned(), "0.0.0.0:0".to_owned())
}

/// Seen red with a build whose door takes no certificate.
#[test]
fn money_moves_over_tls() {
    let dir = tempfile::tempdir().expect("a folder");
    let (near, far) = (dir.path().join("near"), dir.path().join("far"));
    for folder in [&near, &far] {
        fs::create_dir(folder).expect("a folder");
    }
    let spot = Elsewhere::start(&Program::Spot(certificate(dir.path())), &far, 0);
    let of = |key: &str, value: &str| (format!("PORTAGE_LEDGERS__FUTURE__{key}"), value.to_owned());
    let trusts = ("SSL_CERT_FILE".to_owned(), dir.path().join("ca.pem").display().to_string());
    let url = format!("https://{}", spot.at);
    let server =
        Server::with(&near, &[of("KIND", "remote"), of("URL", &url), of("TOKEN", TOKEN), trusts]);
    let user = token(&near, "4001", "transfers:create transfers:read");
    let ops = token(&near, "1", "ops:read ops:act");
    let body = json!({
        "user_id": 4001, "asset": "USDT", "amount": "10", "ref": "seed", "reason": "a test",
    });
    assert_eq!(server.must("POST", "/api/v1/ops/deposits", &ops, Some(body)).status, 201);
    let sent = server.transfer(&user, ("FUNDING", "FUTURE"), "4", "over-tls").expect("an answer");
    let path = format!("/api/v1/internal_transfer/{}", sent.text("req_id"));
    let state = || server.must("GET", &path, &user, None).text("state").to_owned();
    assert!(until(|| state() == "COMMITTED"), "{}", state());
}
