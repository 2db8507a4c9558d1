//! Endpoints that are mailboxes: a real SMTP conversation with a server that is down at first.

use super::{Served, eventually, said};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What a server was told, e-mail by e-mail.
type Mails = Arc<Mutex<Vec<String>>>;

/// One session: takes what comes.
fn session(stream: TcpStream, mails: &Mails) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut said = String::new();
    stream.write_all(b"220 a test\r\n")?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        said.push_str(&line);
        let word = line.get(..4).unwrap_or_default().to_uppercase();
        match &*word {
            "EHLO" => stream.write_all(b"250-a test\r\n250 8BITMIME\r\n")?,
            "DATA" => {
                stream.write_all(b"354 go on\r\n")?;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line)?;
                    if line == ".\r\n" {
                        break;
                    }
                    said.push_str(&line);
                }
                let mut mails = mails.lock().unwrap_or_else(PoisonError::into_inner);
                mails.push(std::mem::take(&mut said));
                stream.write_all(b"250 taken\r\n")?;
            }
            "QUIT" => return stream.write_all(b"221 bye\r\n"),
            _ => stream.write_all(b"250 fine\r\n")?,
        }
    }
}

/// Seen red with a build that takes a connection that was refused for a yes.
#[test]
fn cases_and_events_are_mailed_once_the_server_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let number = port.to_string();
    let served = Served::start(&[
        ("PORTAGE_MAIL__HOST", "127.0.0.1"),
        ("PORTAGE_MAIL__PORT", &number),
        ("PORTAGE_MAIL__ENCRYPTION", "none"),
        ("PORTAGE_MAIL__FROM", "Portage <portage@example.com>"),
        ("PORTAGE_WEBHOOKS__RETRY_SECONDS", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
    ]);
    let add = ["webhook", "add", "ops@example.com", "--channel", "email", "--event", "case.*"];
    let added = served.json(&[&add[..], &["--reason", "a test"]].concat());
    let id = added["id"].as_str().expect("an id").to_owned();
    assert!(added["secret"].is_null(), "{added}");
    let (ended, text) = said(&served.run(&["webhook", "test", &id, "--reason", "a test"]));
    assert_eq!(ended, Some(0), "{text}");
    let log = || served.json(&["webhook", "deliveries", &id])[0].clone();
    eventually("it is tried and fails", || log()["attempts"].as_u64().unwrap_or(0) > 0);
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port");
    let mails = Mails::default();
    let kept = mails.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ended = session(stream, &kept);
        }
    });
    eventually("it is delivered", || log()["status"] == "DELIVERED");
    let mails = mails.lock().unwrap_or_else(PoisonError::into_inner);
    let mail = &mails[0];
    for part in ["RCPT TO:<ops@example.com>", "Subject: [portage] webhook.test", "webhook.test"] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    // a mailbox has no secret, and none that is no address is taken
    let rotate = ["webhook", "rotate", &id, "--reason", "a test"];
    assert!(said(&served.run(&rotate)).1.contains("not signed"));
    let bad = ["webhook", "add", "not an address", "--channel", "email", "--event", "*"];
    let (ended, text) = said(&served.run(&[&bad[..], &["--reason", "a test"]].concat()));
    assert!(ended != Some(0) && text.contains("mailbox"), "{text}");
}
