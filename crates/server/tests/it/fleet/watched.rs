//! Processes without an API are watched: workers and Spot answer probes and Prometheus, and `portage health` says it by
//! its exit code.

use super::Fleet;
use super::clients::Clients;
use super::process::free_port;
use crate::fixture::http_socket::{Answer, asked, connected, head};
use std::time::Duration;

fn page(port: u16, path: &str) -> Answer {
    let answer =
        connected(port).and_then(|mut stream| asked(&mut stream, &head("GET", path, "", "")));
    answer.unwrap_or_else(|| panic!("no answer of {port}{path}"))
}

/// Turns red where a worker shows nothing of what it alone measures, where a probe is answered with 200 by a process
/// that is gone or cannot be asked, and where such a page takes more than it should.
#[test]
fn workers_and_spot_answer_probes_and_prometheus() {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let drain = ("PORTAGE_SERVER__DRAIN_DELAY_MS", "30000");
    let fleet = Fleet::with(1, &[("PORTAGE_WORK__LISTEN", &listen), drain]);
    let clients = Clients::start(&fleet.square);
    clients.more(20);
    fleet.settled(clients);
    for (port, word) in [(port, "ok"), (fleet.spot.port, "healthy")] {
        for (path, word) in [("/livez", "ok"), ("/readyz", word)] {
            let answer = page(port, path);
            assert_eq!((answer.status, answer.text("status")), (200, word), "{answer:?}");
        }
        let metrics = page(port, "/metrics");
        assert_eq!(metrics.status, 200, "{metrics:?}");
        assert!(metrics.head.contains("application/openmetrics-text"), "{}", metrics.head);
        assert!(metrics.page.ends_with("# EOF\n") && metrics.page.contains("portage_build_info{"));
        assert_eq!(page(port, "/api/v1/balances").status, 404);
    }
    // what only the worker knows
    let steps = page(port, "/metrics").page;
    assert!(steps.contains("portage_step_duration_seconds_count{flow=\"internal\""), "{steps}");
    // what only Spot knows; a path that a stranger makes up is one label
    let spot = page(fleet.spot.port, "/metrics").page;
    let label = |route: &str, status: u16| {
        format!(
            "portage_http_request_duration_seconds_count{{route=\"{route}\",status=\"{status}\"}}"
        )
    };
    assert!(spot.contains(&label("/operations", 200)), "{spot}");
    assert!(spot.contains(&label("none", 404)) && !spot.contains("balances"), "{spot}");

    let spot = format!("http://127.0.0.1:{}", fleet.spot.port);
    let serve = format!("http://127.0.0.1:{}", fleet.serves[0].port);
    for words in [
        &["health", "work"][..],
        &["health", "work", "--live"],
        &["health", "spot", "--url", &spot],
        &["health", "--url", &serve],
    ] {
        let (code, text) = fleet.command(words);
        assert_eq!(code, Some(0), "{words:?}: {text}");
    }
    fleet.works[0].kill9();
    let (code, text) = fleet.command(&["health", "work"]);
    assert_eq!(code, Some(69), "{text}");
    fleet.begin(&fleet.works[0]);
    assert_eq!(fleet.command(&["health", "work"]).0, Some(0));
    // one that is told to end still answers, and is not ready any more
    fleet.serves[0].term();
    let ended = testbed::until(Duration::from_secs(10), || {
        Some(fleet.command(&["health", "--url", &serve])).filter(|(code, _)| *code != Some(0))
    });
    let (code, text) = ended.expect("it is not ready any more");
    assert!(code == Some(75) && text.contains("draining"), "{code:?}: {text}");
    assert_eq!(fleet.command(&["health", "--live", "--url", &serve]).0, Some(0));
}
