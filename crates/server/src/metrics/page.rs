//! The page that Prometheus reads: OpenMetrics, or the older text format for what knows no other.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// A text format of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFormat {
    /// The text format of OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Text,
}

const END: &str = "# EOF\n";

impl PageFormat {
    /// The format that a request asks for by its header `Accept`: the older one where that alone is named.
    pub fn accepted(header: &str) -> Self {
        let header = header.to_ascii_lowercase();
        let plain =
            header.contains("text/plain") && !header.contains("application/openmetrics-text");
        if plain { Self::Text } else { Self::OpenMetrics }
    }

    /// The content type of a page in this format.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// All measurements of a registry, and those of the process.
pub(super) fn encoded(registry: &Registry, format: PageFormat) -> String {
    let mut page = String::new();
    // a String takes everything
    let _whole = encode(&mut page, registry);
    let page = page.trim_end_matches(END).to_owned() + &super::process::lines();
    match format {
        PageFormat::OpenMetrics => page + END,
        PageFormat::Text => as_text(&page),
    }
}

/// The same lines where a counter is described under its whole name, and a unit is not known.
fn as_text(page: &str) -> String {
    let counters: Vec<&str> =
        page.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut text = String::with_capacity(page.len());
    for line in page.lines().filter(|line| !line.starts_with("# UNIT ")) {
        let mut words = line.splitn(4, ' ');
        let described = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(what @ ("HELP" | "TYPE")), Some(name), Some(rest))
                if counters.contains(&name) =>
            {
                Some(format!("# {what} {name}_total {rest}"))
            }
            _ => None,
        };
        text.push_str(described.as_deref().unwrap_or(line));
        text.push('\n');
    }
    text
}
