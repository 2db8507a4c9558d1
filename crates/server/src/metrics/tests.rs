//! Tests the metrics page against the contract, and the guide against the page.

use super::registry::MetricKind;
use super::{LedgerMetrics, MetricEntry, Metrics, PageFormat};
use kernel::code::Code;
use kernel::ids::AssetId;
use kernel::money::Asset;
use kernel::operators::{OpenCase, Severity, Subject};
use kernel::ports::meter::{Meter, Seen};

/// The contract's names for this release (`spec/storage.md`), with their labels.
const SPEC: &[&str] = &[
    "portage_transfers_total{flow,state}",
    "portage_transfers_open{flow,state}",
    "portage_oldest_open_seconds{flow,state}",
    "portage_step_duration_seconds{flow,act,answer}",
    "portage_transfer_duration_seconds{flow,outcome}",
    "portage_unknown_open{flow,system}",
    "portage_retries_total{flow,act}",
    "portage_batch_size{station}",
    "portage_journal_commit_seconds{}",
    "portage_queue_depth{station}",
    "portage_money_in_flight{asset}",
    "portage_conservation_drift{asset}",
    "portage_halted{}",
    "portage_cases_open{kind,severity}",
    "portage_idempotent_replays_total{flow}",
    "portage_idempotent_conflicts_total{flow}",
    "portage_http_request_duration_seconds{route,status}",
];

const GUIDE: &str = include_str!("../../../../docs/guide/telemetry.md");
const ALERTS: &str = include_str!("../../../../docs/guide/alerts.yml");
const DASHBOARD: &str = include_str!("../../../../deploy/grafana/portage.json");

fn spelt(entry: &MetricEntry) -> String {
    format!("{}{{{}}}", entry.exported(), entry.labels.join(","))
}

/// A process in which everything was measured once.
fn busy() -> Metrics {
    let metrics = Metrics::default();
    metrics.know(&Asset::fresh());
    let (flow, act) = ("internal", "DELIVER");
    for seen in [
        Seen::Commit { nanos: 1_000_000, units: 3 },
        Seen::Step { flow, act, answer: "DONE", nanos: 3_000 },
        Seen::Opened { flow, state: "INIT" },
        Seen::Ended { flow, state: "COMMITTED", took: 7 },
        Seen::Batch { station: "intake", items: 3 },
        Seen::Queue { station: "intake", items: 3 },
        Seen::Retry { flow, act },
        Seen::Refused { code: Code::InvalidAmount },
        Seen::Replay { flow },
        Seen::Conflict { flow },
        Seen::Cases { kind: "STUCK", severity: Severity::Warning, open: 2 },
        Seen::UnknownOpen { flow, system: "SPOT", open: 4 },
        Seen::Round { asset: AssetId(3), drift: -1_500_000, in_flight: 25 },
        Seen::Halted(true),
        Seen::Consumed { group: "execution-group", outcome: "moved" },
        Seen::Published { sure: true },
        Seen::DeadLetter { topic: "transfer-execution-dlt", reason: "UNREADABLE" },
        Seen::Redriven { topic: "transfer-execution-dlt", sure: true },
        Seen::Outbox { messages: 3, age: 1_500 },
        Seen::Lag {
            group: "execution-group",
            topic: "transfer-execution",
            partition: 3,
            messages: 2,
            age: 500,
        },
        Seen::Parked { group: "execution-group", keys: 1, messages: 2 },
        Seen::DeadLetters { topic: "transfer-execution-dlt", messages: 1, age: 500 },
        Seen::GroupPaused { group: "execution-group", paused: false },
        Seen::ChainCall {
            chain: "NEAR",
            provider: "rpc.example:443",
            method: "tx",
            outcome: "TIMEOUT",
            nanos: 5_000_000,
        },
        Seen::Lane { chain: "NEAR", lane: "ed25519:6E8s", open_for: Some(2_500) },
        Seen::Lane { chain: "NEAR", lane: "ed25519:7F9t", open_for: None },
        Seen::Lanes { chain: "NEAR", free: 1, busy: 1 },
        Seen::FeeBalance { chain: "NEAR", units: 1_500_000_000_000_000_000_000_000, precision: 24 },
        Seen::ChainBalance { chain: "NEAR", asset: AssetId(3), units: 2_500_000 },
    ] {
        metrics.see(seen);
    }
    metrics.request("/health", 200, 5_000);
    metrics.connection_refused("full");
    metrics.webhooks_waiting(5);
    metrics.webhook_messages_waiting(6);
    metrics.webhook_tried("TIMEOUT");
    metrics
}

#[test]
fn the_page_has_the_contract_s_names() {
    let metrics = Metrics::default();
    let all: Vec<String> = metrics.entries().iter().map(spelt).collect();
    for name in SPEC {
        assert!(all.iter().any(|found| found == name), "{name} is missing");
    }
    let page = busy().page(PageFormat::OpenMetrics);
    for line in [
        r#"portage_transfers_total{flow="internal",state="INIT"} 1"#,
        r#"portage_conservation_drift{asset="USDT"} -1.5"#,
        r#"portage_money_in_flight{asset="USDT"} 0.000025"#,
        r#"portage_idempotent_replays_total{flow="internal"} 1"#,
        r#"portage_unknown_open{flow="internal",system="SPOT"} 4"#,
        r#"portage_build_info{version="0.1.0"} 1"#,
        r#"portage_step_duration_seconds_bucket{le="0.000004",flow="internal",act="DELIVER",answer="DONE"} 1"#,
        r#"portage_step_duration_seconds_bucket{le="0.000002",flow="internal",act="DELIVER",answer="DONE"} 0"#,
        "portage_journal_commit_seconds_count 1",
        "portage_halted 1",
        r#"portage_rpc_calls_total{chain="NEAR",provider="rpc.example:443",method="tx",outcome="TIMEOUT"} 1"#,
        r#"portage_rpc_duration_seconds_count{chain="NEAR",provider="rpc.example:443"} 1"#,
        r#"portage_lane_attempt_age_seconds{chain="NEAR",lane="ed25519:6E8s"} 2.5"#,
        r#"portage_lane_attempt_age_seconds{chain="NEAR",lane="ed25519:7F9t"} 0.0"#,
        r#"portage_lanes{chain="NEAR",status="busy"} 1"#,
        r#"portage_fee_balance{chain="NEAR"} 1.5"#,
        r#"portage_chain_balance{chain="NEAR",asset="USDT"} 2.5"#,
        r#"portage_http_connections_refused_total{reason="full"} 1"#,
        "portage_webhooks_waiting 5",
        "portage_webhook_messages_waiting 6",
        r#"portage_webhook_tries_total{answer="TIMEOUT"} 1"#,
        r#"portage_http_request_duration_seconds_count{route="/health",status="200"} 1"#,
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}

/// Every metric that is entered is measured somewhere, with the labels that it is listed with.
#[test]
fn what_is_listed_is_what_is_read() {
    let page = busy().page(PageFormat::OpenMetrics);
    for entry in Metrics::default().entries() {
        let name = entry.exported();
        let sample = match entry.kind {
            MetricKind::Counter | MetricKind::Gauge => name.clone(),
            MetricKind::Histogram => format!("{name}_count"),
        };
        let line = page.lines().find(|line| {
            let own =
                line.strip_prefix(sample.as_str()).filter(|rest| rest.starts_with(['{', ' ']));
            // a counter that only began counts nothing
            own.is_some_and(|rest| entry.kind == MetricKind::Gauge || !rest.ends_with(" 0"))
        });
        // both are set by the journal's counts, which the tests at the door see
        if ["transfers_open", "oldest_open_seconds"].contains(&entry.name) {
            continue;
        }
        let line = line.unwrap_or_else(|| panic!("{name} is never measured\n{page}"));
        for label in entry.labels {
            assert!(line.contains(&format!("{label}=\"")), "{line}: no label {label}");
        }
        assert_eq!(line.matches("=\"").count(), entry.labels.len(), "{line}");
    }
}

#[test]
fn cases_are_the_journal_s_and_closed_ones_are_zero() {
    let case = |number, kind: &str, severity| OpenCase {
        number,
        kind: kind.into(),
        severity,
        subject: Subject::Service,
        facts: "".into(),
        opened_at: 0,
    };
    let metrics = Metrics::default();
    metrics.cases(&[
        case(1, "STUCK", Severity::Warning),
        case(2, "STUCK", Severity::Warning),
        case(3, "CONSERVATION", Severity::Critical),
    ]);
    let page = metrics.page(PageFormat::OpenMetrics);
    let stuck = r#"portage_cases_open{kind="STUCK",severity="WARNING"}"#;
    assert!(page.contains(&format!("{stuck} 2\n")), "{page}");
    metrics.cases(&[case(3, "CONSERVATION", Severity::Critical)]);
    let page = metrics.page(PageFormat::OpenMetrics);
    assert!(page.contains(&format!("{stuck} 0\n")), "{page}");
    assert!(page.contains(r#"{kind="CONSERVATION",severity="CRITICAL"} 1"#), "{page}");
}

#[test]
fn the_guide_lists_every_metric_as_it_is() {
    let metrics = Metrics::default();
    let rows: Vec<String> = metrics.entries().iter().map(row).collect();
    let listed: Vec<&str> = GUIDE.lines().filter(|line| line.starts_with("| `portage_")).collect();
    assert_eq!(
        listed,
        rows,
        "docs/guide/telemetry.md is stale; it should say\n{}",
        rows.join("\n")
    );
}

fn row(entry: &MetricEntry) -> String {
    let kind = match entry.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    let labels: Vec<String> = entry.labels.iter().map(|label| format!("`{label}`")).collect();
    format!("| `{}` | {kind} | {} | {} |", entry.exported(), labels.join(" "), entry.help)
}

/// Turns red where an expression asks for a metric or a label that there is none of.
fn check_expression(expr: &str, known: &[&MetricEntry]) {
    let words = expr.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names: Vec<&str> = words.filter(|word| word.starts_with("portage_")).collect();
    assert!(!names.is_empty(), "{expr}");
    let mut labels = vec!["le"];
    for name in names {
        let found = known.iter().find(|entry| {
            let own = entry.exported();
            let parts = ["_bucket", "_count", "_sum"].map(|part| format!("{own}{part}"));
            match entry.kind {
                MetricKind::Counter | MetricKind::Gauge => own == name,
                MetricKind::Histogram => parts.iter().any(|part| part == name),
            }
        });
        let entry = found.unwrap_or_else(|| panic!("{name} is not measured: {expr}"));
        let asked = expr.split(name).nth(1).and_then(|rest| rest.strip_prefix('{'));
        let asked = asked.and_then(|rest| rest.split('}').next()).unwrap_or_default();
        for label in asked.split(',').filter_map(|one| one.split(['=', '!']).next()) {
            // `job` is what the scraping program adds
            let known = label.is_empty() || label == "job" || entry.labels.contains(&label);
            assert!(known, "{name} has no label `{label}`: {expr}");
        }
        labels.extend(entry.labels);
    }
    for group in expr.split(" by (").skip(1).filter_map(|rest| rest.split(')').next()) {
        for label in group.split(',').map(str::trim) {
            assert!(labels.contains(&label), "no metric of it has the label `{label}`: {expr}");
        }
    }
}

#[test]
fn every_alert_asks_for_what_is_measured_and_says_what_to_do() {
    let metrics = Metrics::default();
    let known: Vec<&MetricEntry> = metrics.entries().iter().collect();
    let mut alerts = 0;
    for rule in ALERTS.split("\n      - alert: ").skip(1) {
        alerts += 1;
        for part in ["\n        expr: ", "\n        labels:", "\n          severity: ", "summary: "]
        {
            assert!(rule.contains(part), "{rule}: no `{}`", part.trim());
        }
        let expr = rule.split("expr: ").nth(1).unwrap().lines().next().unwrap();
        check_expression(expr, &known);
    }
    assert!(alerts >= 8, "{alerts}");
}

#[test]
fn every_panel_of_the_dashboard_shows_what_is_measured() {
    let metrics = Metrics::default();
    let known: Vec<&MetricEntry> = metrics.entries().iter().collect();
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() >= 12, "{}", panels.len());
    for panel in panels {
        let title = &panel["title"];
        let targets = panel["targets"].as_array().unwrap_or_else(|| panic!("{title}: no targets"));
        assert!(!targets.is_empty(), "{title}");
        for target in targets {
            let expr = target["expr"].as_str();
            check_expression(expr.unwrap_or_else(|| panic!("{title}: no expr")), &known);
        }
    }
}

/// What an expression takes a rate of, each with its conditions on labels.
fn rated(expr: &str) -> Vec<(&str, &str)> {
    let calls = ["rate(", "increase("].iter().flat_map(|call| expr.split(call).skip(1));
    calls
        .map(|call| {
            let series = call.split('[').next().expect("a range");
            series.trim_end_matches('}').split_once('{').unwrap_or((series, ""))
        })
        .collect()
}

/// Turns red where a counter comes into being with its first count, which no rate sees: where one is not made at the
/// start (run: without the line for refusals).
#[test]
fn what_an_alert_takes_a_rate_of_is_there_from_the_start() {
    let metrics = Metrics::default();
    metrics.know_providers("NEAR", std::iter::once("rpc.example:443".to_owned()));
    let page = metrics.page(PageFormat::OpenMetrics);
    let mut rates = 0;
    for expr in ALERTS.split("\n        expr: ").skip(1).filter_map(|rest| rest.lines().next()) {
        for (name, conditions) in rated(expr) {
            rates += 1;
            let conditions: Vec<_> = conditions.split(',').filter(|one| !one.is_empty()).collect();
            let fits = |line: &&str| {
                line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
                    && conditions.iter().all(|one| match one.split_once("!=") {
                        Some((label, value)) => !line.contains(&format!("{label}={value}")),
                        None => line.contains(one),
                    })
            };
            assert!(page.lines().any(|line| fits(&line)), "{name}{conditions:?} is not there yet");
        }
    }
    assert!(rates >= 4, "{rates}");
}

/// Turns red where the older format has a counter without its help, or the end of the other one.
#[test]
fn the_older_text_format_is_given_where_it_alone_is_asked_for() {
    for (accept, format) in [
        ("", PageFormat::OpenMetrics),
        ("*/*", PageFormat::OpenMetrics),
        ("text/plain", PageFormat::Text),
        ("text/plain; version=0.0.4, */*;q=0.1", PageFormat::Text),
        ("application/openmetrics-text;version=1.0.0,text/plain;q=0.2", PageFormat::OpenMetrics),
    ] {
        assert_eq!(PageFormat::accepted(accept), format, "{accept}");
    }
    let page = busy().page(PageFormat::Text);
    let described = "# HELP portage_refused_total Creates that were refused before anything was opened.\n\
        # TYPE portage_refused_total counter\nportage_refused_total{";
    assert!(page.contains(described) && !page.contains("# EOF"), "{page}");
    assert!(page.contains("# TYPE portage_halted gauge\n"), "{page}");
    assert!(busy().page(PageFormat::OpenMetrics).ends_with("# EOF\n"));
}

#[test]
fn a_page_shows_the_process() {
    let ledger = LedgerMetrics::default().page(PageFormat::OpenMetrics);
    let page = Metrics::default().page(PageFormat::OpenMetrics);
    for name in [
        "process_cpu_seconds_total",
        "process_start_time_seconds",
        "process_resident_memory_bytes",
        "process_open_fds",
    ] {
        for page in [&ledger, &page] {
            let line = page.lines().find(|line| line.starts_with(&format!("{name} ")));
            let value = line.and_then(|line| line.split(' ').nth(1)?.parse::<f64>().ok());
            assert!(value.is_some_and(|value| value >= 0.0), "{name}: {page}");
        }
    }
}
