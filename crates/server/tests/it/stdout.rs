//! Processes whose stdout takes nothing: the greeting of a service is all that they write there.
//!
//! They turn red with a greeting that is written before the service goes on: a closed pipe or a full disk ends `serve`,
//! `work` and `spot serve`, and behind a full pipe none of them takes a connection.

use crate::command::ends;
use crate::fixture::http_socket::{head, post};
use crate::fixture::process::{minted, portage};
use crate::stderr::{Mute, Trouble, WORD, of_a_worker};
use serde_json::json;
use std::time::Duration;
use testbed::{Database, free_port};

fn port() -> u16 {
    free_port().unwrap_or_else(|why| panic!("{why}"))
}

/// Waits until the process says that it can serve.
fn is_ready(process: &Mute) -> bool {
    let ready = testbed::until(Duration::from_secs(60), || {
        let (status, _) = process.asks(&head("GET", "/readyz", "", ""))?;
        (status == 200).then_some(())
    });
    ready.is_some()
}

#[test]
fn a_server_needs_no_reader_of_its_greeting() {
    for trouble in Trouble::ALL {
        let (dir, port) = (tempfile::tempdir().expect("a folder"), port());
        let words = ["serve", "--listen", &format!("127.0.0.1:{port}")];
        let server = Mute::ungreeted(dir.path(), &words, &[], trouble, port);
        // it listens before it makes its keys
        assert!(is_ready(&server), "{trouble:?}");
        let token = minted(portage(dir.path()), "4001", "admin");
        let body = json!({"user_id": 4001, "asset": "USDT", "amount": "1", "ref": "r", "reason": "a test"});
        let booked = server.asks(&post("/api/v1/ops/deposits", &token, "", &body.to_string()));
        assert_eq!(booked.map(|(status, _)| status), Some(201), "{trouble:?}");
        assert_eq!(ends(&server.process, "TERM"), 0, "{trouble:?}");
    }
}

#[test]
fn a_spot_that_is_served_by_itself_needs_none_either() {
    for trouble in Trouble::ALL {
        let (dir, port) = (tempfile::tempdir().expect("a folder"), port());
        let words = ["spot", "serve", "--listen", &format!("127.0.0.1:{port}")];
        let spot = Mute::ungreeted(dir.path(), &words, &[], trouble, port);
        let hello = spot.asks(&head("GET", "/hello", WORD, ""));
        assert_eq!(hello.map(|(status, _)| status), Some(200), "{trouble:?}");
        assert_eq!(ends(&spot.process, "TERM"), 0, "{trouble:?}");
    }
}

#[test]
fn a_worker_needs_none_either() {
    for trouble in Trouble::ALL {
        let database = Database::given().expect("a database");
        let (dir, port) = (tempfile::tempdir().expect("a folder"), port());
        let listen = format!("127.0.0.1:{port}");
        let mut settings = of_a_worker(database.url()).to_vec();
        settings.push(("PORTAGE_WORK__LISTEN", &listen));
        let work = Mute::ungreeted(dir.path(), &["work"], &settings, trouble, port);
        assert!(is_ready(&work), "{trouble:?}");
        assert_eq!(ends(&work.process, "TERM"), 0, "{trouble:?}");
    }
}
