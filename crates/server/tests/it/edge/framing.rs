//! Requests that two servers in a row could read in two ways: none is carried out, and nothing that
//! comes after one on the same connection is.

use super::{CREATE, Served, USER, head, rest, transfer};
use std::io::Write;

/// What comes back for these bytes and another good transfer behind them.
fn told(served: &Served, token: &str, bytes: &str) -> String {
    let mut stream = served.connect();
    // the server may have closed it in the middle
    let _sent = stream.write_all(bytes.as_bytes());
    let _sent = stream.write_all(transfer(token, "smuggled").as_bytes());
    let _sent = stream.shutdown(std::net::Shutdown::Write);
    rest(&mut stream)
}

fn refused(served: &Served, token: &str, status: &str, requests: &[String]) {
    for request in requests {
        let said = told(served, token, request);
        let answers = said.matches("HTTP/1.1 ").count();
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{request:?}: {said}");
        assert_eq!(answers, 1, "nothing behind it is answered: {request:?}: {said}");
        assert!(!served.moved(token), "{request:?}");
    }
}

/// Turns red where a body in pieces is taken, beside a length or alone.
#[test]
fn a_length_and_pieces_are_two_lengths() {
    let served = Served::start(&[]);
    served.fund("4001", "10");
    let token = served.token("4001", USER);
    let body = r#"{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"1","cid":"a"}"#;
    let pieces = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let json = "content-type: application/json\r\n";
    let with = |lines: &str, body: &str| {
        format!("{}{body}", head("POST", CREATE, &token, &format!("{json}{lines}")))
    };
    let length = format!("content-length: {}\r\n", body.len());
    let chunked = "transfer-encoding: chunked\r\n";
    refused(
        &served,
        &token,
        "400",
        &[
            with(&format!("{length}{chunked}"), &pieces),
            with(&format!("{chunked}{length}"), &pieces),
            with(&format!("content-length: 4\r\n{chunked}"), &pieces),
            with(&format!("{chunked}content-length: 4\r\n"), "0\r\n\r\n"),
            with(chunked, &pieces),
            with("transfer-encoding: Chunked\r\n", &pieces),
            with("transfer-encoding: identity, chunked\r\n", &pieces),
            with("transfer-encoding: gzip, chunked\r\n", &pieces),
            with("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", &pieces),
            with("transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n", &pieces),
            with(&format!("transfer-encoding: xchunked\r\n{length}"), body),
            with(&format!("transfer-encoding: \tchunked\r\n{length}"), &pieces),
            with(&format!("transfer-encoding:\r\n{length}"), body),
            with(&format!("transfer-encoding: identity\r\n{length}"), body),
            with(chunked, &pieces).replace("HTTP/1.1", "HTTP/1.0"),
        ],
    );
}

/// Turns red where one of several lengths is chosen, or one is guessed.
#[test]
fn a_length_is_one_number() {
    let served = Served::start(&[]);
    served.fund("4001", "10");
    let token = served.token("4001", USER);
    let body = r#"{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"1","cid":"a"}"#;
    let lengths = |values: &[String]| {
        let lines: String =
            values.iter().map(|value| format!("content-length: {value}\r\n")).collect();
        let more = format!("content-type: application/json\r\n{lines}");
        format!("{}{body}", head("POST", CREATE, &token, &more))
    };
    let n = body.len();
    let one = |text: &str| vec![text.to_owned()];
    let mut requests: Vec<String> = [
        vec![n.to_string(), "0".to_owned()],
        vec!["0".to_owned(), n.to_string()],
        vec![n.to_string(), (n + 1).to_string()],
        one(&format!("{n}, {n}")),
        one(&format!("{n},0")),
        one(&format!("+{n}")),
        one(&format!("-{n}")),
        one(&format!("0x{n:x}")),
        one(&format!("{n}.0")),
        one(&format!("{n} {n}")),
        one("18446744073709551616"),
        one("99999999999999999999999"),
        one(""),
    ]
    .iter()
    .map(|values| lengths(values))
    .collect();
    let good = lengths(&one(&n.to_string()));
    requests.push(good.replace("content-length:", "content-length :"));
    requests.push(good.replace("content-length:", " content-length:"));
    refused(&served, &token, "400", &requests);
}

/// Turns red where a header goes on in the next line, or holds what ends one elsewhere.
#[test]
fn a_header_is_one_line_of_text() {
    let served = Served::start(&[]);
    served.fund("4001", "10");
    let token = served.token("4001", USER);
    let with =
        |lines: &str| transfer(&token, "a").replacen("\r\nhost", &format!("\r\n{lines}host"), 1);
    refused(
        &served,
        &token,
        "400",
        &[
            with("x-a: b\r\n c\r\n"),
            with("x-a: b\r\n\tcontent-length: 0\r\n"),
            with("x-a:\r\n b\r\n"),
            with("x-a: b\u{0}c\r\n"),
            with("x-a: b\rcontent-length: 0\r\n"),
            with("x a: b\r\n"),
            with("x-a b\r\n"),
            with(": b\r\n"),
            "GARBAGE\r\n\r\n".to_owned(),
            "GET  / HTTP/1.1\r\nhost: portage\r\n\r\n".to_owned(),
            "GET / HTTP/9.9\r\nhost: portage\r\n\r\n".to_owned(),
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n".to_owned(),
        ],
    );
    assert_eq!(told(&served, &token, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "");
    assert!(!served.moved(&token));
    let many = "x-a: b\r\n".repeat(101);
    let large = format!("x-a: {}\r\n", "b".repeat(40_000));
    refused(&served, &token, "431", &[with(&many), with(&large)]);
}

/// Two servers in a row may take a request without a host, or with two, for different ones.
///
/// Turns red where the number of `Host` lines is not looked at: each is answered 200.
#[test]
fn a_request_names_one_host() {
    let served = Served::start(&[]);
    served.fund("4001", "10");
    let token = served.token("4001", USER);
    let hosts = |lines: &str| transfer(&token, "a").replacen("host: portage\r\n", lines, 1);
    refused(&served, &token, "400", &[hosts(""), hosts("host: portage\r\nhost: other\r\n")]);
    // HTTP/1.0 knows no host
    let mut stream = served.connect();
    stream.write_all(b"GET /livez HTTP/1.0\r\n\r\n").expect("it is sent");
    let said = rest(&mut stream);
    assert!(said.contains(" 200 OK\r\n"), "{said}");
}

/// Turns red where what is refused by the first look at a request is not what a client may read.
#[test]
fn a_body_in_pieces_is_refused_in_our_own_words() {
    let served = Served::start(&[]);
    let token = served.token("4001", USER);
    let mut stream = served.connect();
    let more = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let reply = super::asked(&mut stream, &head("POST", CREATE, &token, more)).expect("an answer");
    assert_eq!((reply.status, &reply.body["code"]), (400, &"BAD_REQUEST".into()), "{reply:?}");
    assert!(reply.head.contains("connection: close"), "{reply:?}");
    assert!(reply.body["request_id"].is_string());
}
