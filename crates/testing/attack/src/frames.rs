//! Requests that two servers in a row could read in two ways.

use crate::Outcome;
use crate::report::Part;
use crate::target::{Reply, Request, Target};
use std::time::Duration;

/// What stands where one of two readings ends the first request: it must never be answered.
const HIDDEN: &str = "GET /livez HTTP/1.1\r\nhost: portage\r\nconnection: close\r\n\r\n";
/// How long a server may be silent before it counts as one that does not answer.
const QUIET: Duration = Duration::from_secs(3);

/// Each shape is answered once, or not at all; behind one that is refused nothing is answered.
///
/// # Errors
/// No server listens.
pub fn run(target: &Target, token: &str) -> Outcome<Part> {
    let mut part = Part::default();
    let good = Request::get("/livez").bytes(false);
    let said = Reply::all(&target.raw(&format!("{good}{HIDDEN}"))?);
    part.must(said.len() == 2, || format!("two good requests: {} answers", said.len()));
    for shape in shapes(token) {
        let said = target.told(&shape, QUIET)?;
        let all = Reply::all(&said);
        let begins = said.matches("HTTP/1.1 ").count();
        let cut: String = shape.replace(token, "…").chars().take(300).collect();
        part.must(begins <= 1, || format!("{begins} answers to {cut:?}"));
        let status = all.first().map_or(0, |reply| reply.status);
        part.must(status < 500 || matches!(status, 501 | 505), || format!("{status} to {cut:?}"));
        // a line may end without CR (RFC 9112 §2.2): so read, the shape is one whole request, and what
        // is behind it is the next
        let lax = shape.replace("\r\n", "").contains('\n');
        if status >= 400 && !lax {
            let behind = target.told(&format!("{shape}{HIDDEN}"), QUIET)?;
            let begins = behind.matches("HTTP/1.1 ").count();
            part.must(begins <= 1, || format!("{begins} answers behind a refused {cut:?}"));
        }
    }
    Ok(part)
}

/// The first line and good headers of a create that would move nothing.
fn head(token: &str, lines: &str, version: &str) -> String {
    format!(
        "POST /api/v1/internal_transfer?dry_run=true HTTP/{version}\r\nhost: portage\r\n\
         authorization: Bearer {token}\r\ncontent-type: application/json\r\n{lines}\r\n"
    )
}

fn shapes(token: &str) -> Vec<String> {
    let mut all = pieces(token);
    all.extend(lengths(token));
    all.extend(lines(token));
    all
}

/// A body in pieces, and a length beside it: the hidden request behind the last piece, and in one.
fn pieces(token: &str) -> Vec<String> {
    let ended = format!("0\r\n\r\n{HIDDEN}");
    let inside = format!("{:x}\r\n{HIDDEN}\r\n0\r\n\r\n", HIDDEN.len());
    let long = format!("content-length: {}\r\n", ended.len());
    let codings = [
        "transfer-encoding: chunked",
        "transfer-encoding: Chunked",
        "Transfer-Encoding:chunked",
        "transfer-encoding: \tchunked",
        "transfer-encoding: chunked ",
        "transfer-encoding: \u{b}chunked",
        "transfer-encoding: xchunked",
        "transfer-encoding: x-chunked",
        "transfer-encoding: \"chunked\"",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: identity, chunked",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: chunked;q=1",
        "transfer-encoding:",
        "transfer-encoding: identity",
        "transfer-encoding : chunked",
        " transfer-encoding: chunked",
        "transfer_encoding: chunked\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: x",
        "transfer-encoding: x\r\ntransfer-encoding: chunked",
        "x-a: b\r\n transfer-encoding: chunked",
        "x-a: b\ntransfer-encoding: chunked",
        "x-a: b\rtransfer-encoding: chunked",
        "transfer-encoding:\r\n chunked",
        "transfer\u{0}-encoding: chunked",
    ];
    let mut all = Vec::new();
    for coding in codings {
        for version in ["1.1", "1.0"] {
            let with = |lines: &str, body: &str| format!("{}{body}", head(token, lines, version));
            all.push(with(&format!("{coding}\r\n{long}"), &ended));
            all.push(with(&format!("{long}{coding}\r\n"), &ended));
            all.push(with(&format!("content-length: 4\r\n{coding}\r\n"), &inside));
            all.push(with(&format!("{coding}\r\ncontent-length: 4\r\n"), &inside));
        }
    }
    for piece in [
        "0;a=b\r\n\r\n",
        "0;\n\r\n\r\n",
        "0 \r\n\r\n",
        "00\r\n\r\n",
        "-0\r\n\r\n",
        "0x0\r\n\r\n",
        "\n0\r\n\r\n",
    ] {
        let head = head(token, "transfer-encoding: chunked\r\n", "1.1");
        all.push(format!("{head}{piece}{HIDDEN}"));
    }
    all.push(format!("{}{inside}", head(token, "transfer-encoding: chunked\r\n", "1.1")));
    all
}

/// Several lengths, and lengths that are no plain number.
fn lengths(token: &str) -> Vec<String> {
    let n = HIDDEN.len();
    let values = [
        vec!["0".to_owned(), n.to_string()],
        vec![n.to_string(), "0".to_owned()],
        vec![n.to_string(), (n + 1).to_string()],
        vec![format!("0, {n}")],
        vec![format!("{n},0")],
        vec![format!("+{n}")],
        vec![format!("-{n}")],
        vec![format!("0x{n:x}")],
        vec![format!("{n}.0")],
        vec![format!("{n} {n}")],
        vec![format!("\"{n}\"")],
        vec![format!("{n};a")],
        vec![format!("{n}\u{b}")],
        vec!["18446744073709551616".to_owned()],
        vec![format!("1844674407370955161600{n}")],
        vec![String::new()],
    ];
    let mut all: Vec<String> = values
        .iter()
        .map(|values| {
            let lines: Vec<String> =
                values.iter().map(|value| format!("content-length: {value}\r\n")).collect();
            format!("{}{HIDDEN}", head(token, &lines.concat(), "1.1"))
        })
        .collect();
    for line in [
        format!("content-length : {n}\r\n"),
        format!(" content-length: {n}\r\n"),
        format!("content-length\t: {n}\r\n"),
        format!("content\u{0}-length: {n}\r\n"),
        format!("x-a: b\r\n content-length: {n}\r\n"),
        format!("x-a: b\r\n\tcontent-length: {n}\r\n"),
        format!("content-length:\r\n {n}\r\n"),
        format!("x-a: b\rcontent-length: {n}\r\n"),
        format!("x-a: b\ncontent-length: {n}\r\n"),
        format!("x-a: b\ncontent-length: 0\r\ncontent-length: {n}\r\n"),
    ] {
        all.push(format!("{}{HIDDEN}", head(token, &line, "1.1")));
    }
    all
}

/// First lines and header lines that are none.
fn lines(token: &str) -> Vec<String> {
    let with = |line: &str| head(token, line, "1.1");
    let mut all: Vec<String> = [
        "x a: b\r\n",
        "x-a b\r\n",
        ": b\r\n",
        "x-a: b\u{0}c\r\n",
        "x-a\u{1}: b\r\n",
        "\u{e9}: b\r\n",
    ]
    .iter()
    .map(|line| format!("{}{HIDDEN}", with(&format!("{line}content-length: {}\r\n", HIDDEN.len()))))
    .collect();
    for line in [
        "GARBAGE",
        "GET  /livez HTTP/1.1",
        "GET /livez  HTTP/1.1",
        "GET\t/livez\tHTTP/1.1",
        "GET /livez HTTP/9.9",
        "GET /livez HTTP/2.0",
        "GET /livez HTTP/1.1 HTTP/1.1",
        "GET /livez",
        "GET /live z HTTP/1.1",
        "G\u{0}ET /livez HTTP/1.1",
    ] {
        all.push(format!("{line}\r\nhost: portage\r\nconnection: close\r\n\r\n"));
    }
    all.push("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned());
    all.push("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n".to_owned());
    all
}
