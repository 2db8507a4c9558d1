//! TLS, and where tokens may travel without it.

use super::{Served, eventually, listens, portage, process, rest};
use client::{Client, Error};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;
use testbed::NotListening;

const CA: &[u8] = include_bytes!("../../keys/ca.pem");
const STRANGER: &[u8] = include_bytes!("../../keys/other-ca.pem");

/// A folder with a certificate and its key.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &[u8], mode: u32| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).expect("a file");
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a mode");
    };
    put("cert.pem", include_bytes!("../../keys/server.pem"), 0o644);
    put("key.pem", include_bytes!("../../keys/server.key"), 0o600);
    put("open.pem", include_bytes!("../../keys/server.key"), 0o644);
    put("ca.pem", CA, 0o644);
    dir
}

const PROXY: (&str, &str) = ("PORTAGE_SERVER__BEHIND_PROXY", "true");
/// The development key counts for callers from elsewhere too.
const EVALUATION: (&str, &str) = ("PORTAGE_AUTH__DEVELOPMENT_KEY_BEYOND_LOOPBACK", "true");
const TLS: [(&str, &str); 2] =
    [("PORTAGE_SERVER__TLS__CERT_FILE", "cert.pem"), ("PORTAGE_SERVER__TLS__KEY_FILE", "key.pem")];

#[test]
fn a_client_that_knows_the_authority_is_served_and_no_other() {
    let served = Served::within(folder(), &TLS);
    assert!(served.url.starts_with("https://127.0.0.1:"), "{}", served.url);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let token = served.token("4001", super::USER);
    let asked = |client: Result<Client, Error>| {
        runtime.block_on(async { client.expect("a client").balances().await })
    };
    assert!(asked(Client::with_ca(&served.url, &token, CA)).is_ok());
    let unknown =
        [Client::with_ca(&served.url, &token, STRANGER), Client::new(&served.url, &token)];
    for client in unknown {
        let refused = asked(client);
        assert!(matches!(refused, Err(Error::Unreachable(_))), "nothing was sent: {refused:?}");
    }
    // named by an address that the certificate does not have
    let other = served.url.replace("127.0.0.1", "127.0.0.2");
    assert!(asked(Client::with_ca(&other, &token, CA)).is_err());
    // without TLS: no answer that could be read, and no token is asked for
    let plain = served.url.replace("https", "http");
    assert!(asked(Client::new(&plain, &token)).is_err());
    assert!(matches!(Client::with_ca(&plain, &token, CA), Err(Error::Unfit(_))));
    let mut stream = served.connect();
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: portage\r\n\r\n").expect("it is sent");
    assert!(!rest(&mut stream).contains("HTTP/1.1"));
}

#[test]
fn the_commands_speak_it_too() {
    let served = Served::within(folder(), &TLS);
    let deposit = ["deposit", "--user", "7", "--asset", "USDT", "--amount", "5", "--ref", "a"];
    let out = served.run(&deposit);
    assert_eq!(out.status.code(), Some(69), "this machine does not know the authority: {out:?}");
    let out = served.run(&[&deposit[..], &["--ca", "ca.pem"]].concat());
    assert!(out.status.success(), "{out:?}");
    let out = served.run(&[&deposit[..], &["--ca", "none.pem"]].concat());
    assert_eq!(out.status.code(), Some(66), "{out:?}");
    let out = served.run(&[&deposit[..], &["--ca", "key.pem"]].concat());
    assert_eq!(out.status.code(), Some(64), "{out:?}");
    // without --url the settings say where, and how
    let mut command = portage(served.dir.path(), &served.settings);
    command.env("PORTAGE_SERVER__LISTEN", served.url.trim_start_matches("https://"));
    let out =
        command.env("PORTAGE_CA", "ca.pem").args(["account", "list"]).output().expect("it runs");
    assert!(out.status.success(), "{out:?}");
    // the folder's owner is asked where it says that it is
    let out = served.run(&["check", "--ca", "ca.pem"]);
    assert!(out.status.success(), "{out:?}");
}

/// Seen red with builds that: never look at the files; read them and show the old ones.
#[test]
fn a_renewed_certificate_is_shown_without_a_restart() {
    let served = Served::within(folder(), &TLS);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let token = served.token("4001", super::USER);
    // a client of its own each time: connections that stand keep what they were shown
    let trusts = |ca| {
        let client = Client::with_ca(&served.url, &token, ca).expect("a client");
        runtime.block_on(async { client.balances().await }).is_ok()
    };
    assert!(trusts(CA) && !trusts(STRANGER));
    let put = |name, text: &[u8]| std::fs::write(served.dir.path().join(name), text).expect(name);
    put("cert.pem", include_bytes!("../../keys/other.pem"));
    put("key.pem", include_bytes!("../../keys/other.key"));
    eventually("the new one is shown", || trusts(STRANGER));
    assert!(!trusts(CA));
}

/// Turns red where versions that are broken are spoken.
#[test]
fn tls_is_one_point_two_at_least() {
    let served = Served::within(folder(), &TLS);
    // a hello of TLS 1.0, by hand: a record that offers one cipher
    let body: &[u8] = &[
        1, 0, 0, 45, 3, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 6, 0xc0, 0x13, 0, 0x2f, 0, 0x35, 1, 0,
    ];
    let record = [&[22, 3, 1, 0, 49][..], body].concat();
    let mut stream = served.connect();
    stream.write_all(&record).expect("it is sent");
    let mut said = Vec::new();
    let _ended = stream.read_to_end(&mut said);
    assert!(said.first().is_none_or(|kind| *kind == 21), "an alert, no hello: {said:?}");
}

/// Turns red where a handshake may take for ever.
#[test]
fn a_handshake_has_the_time_of_a_head() {
    let settings = [&TLS[..], &[("PORTAGE_SERVER__HEADER_TIMEOUT_MS", "1000")]].concat();
    let served = Served::within(folder(), &settings);
    assert_eq!(rest(&mut served.connect()), "");
    let mut begun = served.connect();
    begun.write_all(&[22, 3, 1, 1, 0, 1]).expect("it is sent");
    assert_eq!(rest(&mut begun), "");
}

/// Turns red where tokens can be made to cross a network in the clear, or a key can be read by all.
/// Seen red with a build that listens anywhere.
#[test]
fn beyond_loopback_there_is_tls_here_or_in_front() {
    let dir = folder();
    let (cert, key) = (TLS[0], TLS[1]);
    let listen = "PORTAGE_SERVER__LISTEN";
    for (settings, says) in [
        (vec![(listen, "0.0.0.0:0")], "beyond loopback"),
        (vec![(listen, "[::]:0")], "beyond loopback"),
        (vec![(listen, "192.0.2.1:3000")], "beyond loopback"),
        (vec![(listen, "0.0.0.0:0"), PROXY], "development key"),
        (vec![PROXY], "development key"),
        (vec![cert, key, (listen, "0.0.0.0:0")], "development key"),
        (vec![cert], "belong together"),
        (vec![key], "belong together"),
        (vec![(cert.0, "none.pem"), key], "none.pem"),
        (vec![cert, (key.0, "none.pem")], "none.pem"),
        (vec![cert, (key.0, "open.pem")], "others may read"),
        (vec![cert, (key.0, "cert.pem")], "key_file"),
        (vec![(cert.0, "ca.pem"), key], "key_file"),
    ] {
        let refused = listens(&["serve"], dir.path(), &process::settings(&settings));
        let NotListening { status, why } = refused.expect_err("it ends");
        assert_eq!(status.and_then(|ended| ended.code()), Some(78), "{settings:?}: {why}");
        assert!(why.contains(says), "{settings:?}: {why}");
    }
    drop(Served::start(&[(listen, "0.0.0.0:0"), PROXY, EVALUATION]));
    let served = Served::within(dir, &[&TLS[..], &[(listen, "0.0.0.0:0"), EVALUATION]].concat());
    assert!(served.url.starts_with("https://0.0.0.0:"), "{}", served.url);
}

/// Turns red where what only this machine may read is read through the proxy by every caller.
#[test]
fn pages_for_machines_are_closed_behind_a_proxy() {
    for (settings, expected) in [
        (vec![], 200),
        (vec![PROXY, EVALUATION], 401),
        (vec![PROXY, EVALUATION, ("PORTAGE_SERVER__PUBLIC_METRICS", "true")], 200),
    ] {
        let served = Served::start(&settings);
        let page = served.ask("GET /metrics HTTP/1.1\r\nhost: portage\r\n\r\n");
        assert_eq!(page.status, expected, "{settings:?}");
    }
}
