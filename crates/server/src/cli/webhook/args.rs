//! The arguments of `portage webhook`.

use super::{ActionArgs, OpsTarget};
use crate::cli::whole_number;
use api::admin::webhooks::{AddWebhook, ChangeWebhook};

/// Add an endpoint. It is told of what happens from now on; its secret is shown this once.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage webhook add https://hooks.example.com/portage --event \"transfer.*\" --reason \"ticket 4711\"\n  portage webhook add ops@example.com --channel email --event \"case.*\" --reason \"ticket 4711\""
)]
pub(in crate::cli) struct AddArgs {
    /// The address that is posted to, or the mailbox.
    target: String,
    /// `http` or `email`, as the target is.
    #[arg(long, default_value = "http")]
    channel: String,
    /// What it is told of; may be given several times.
    #[arg(long = "event", value_name = "TYPE", required = true)]
    events: Vec<String>,
    /// Only transfers of this flow, such as `internal` or `account`; may be given several times.
    #[arg(long = "flow", value_name = "FLOW")]
    flows: Vec<String>,
    /// Only transfers of this owner, as in `user:4001`.
    #[arg(long)]
    owner: Option<String>,
    /// Your own words for it.
    #[arg(long, default_value = "")]
    description: String,
    #[command(flatten)]
    pub(super) action: ActionArgs,
}

impl AddArgs {
    pub(super) fn body(&self) -> AddWebhook {
        AddWebhook {
            channel: self.channel.clone(),
            target: self.target.clone(),
            description: self.description.clone(),
            events: self.events.clone(),
            flows: self.flows.clone(),
            owner: self.owner.clone(),
            reason: self.action.reason().to_owned(),
        }
    }
}

/// Change an endpoint. What is left out stays.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage webhook change 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --event transfer.failed --reason \"ticket 4711\"\n  portage webhook change 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --owner any --reason \"ticket 4711\""
)]
pub(in crate::cli) struct ChangeArgs {
    /// The id of the endpoint that is meant.
    pub(super) id: String,
    /// Where it is from now on.
    #[arg(long)]
    target: Option<String>,
    /// What it is told of; may be given several times.
    #[arg(long = "event", value_name = "TYPE")]
    events: Vec<String>,
    /// Only transfers of this flow, such as `internal` or `account`; may be given several times; `any`: of every flow.
    #[arg(long = "flow", value_name = "FLOW")]
    flows: Vec<String>,
    /// Only transfers of this owner, as in `user:4001`; `any`: of every owner.
    #[arg(long)]
    owner: Option<String>,
    /// Your own words for it.
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    pub(super) action: ActionArgs,
}

/// The word for no narrowing.
const ANY: &str = "any";

impl ChangeArgs {
    pub(super) fn body(&self) -> ChangeWebhook {
        let flows = self.flows.iter().filter(|flow| *flow != ANY).cloned().collect();
        // `null` is every owner
        let owner = |text: &String| Some(text.clone()).filter(|text| text != ANY);
        ChangeWebhook {
            target: self.target.clone(),
            description: self.description.clone(),
            events: Some(self.events.clone()).filter(|events| !events.is_empty()),
            flows: (!self.flows.is_empty()).then_some(flows),
            owner: self.owner.as_ref().map(owner),
            status: None,
            reason: self.action.reason().to_owned(),
        }
    }
}

/// Enable, disable, test or delete an endpoint.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage webhook enable 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"the receiver is back\"\n  portage webhook disable 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\"\n  portage webhook test 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\"\n  portage webhook delete 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\""
)]
pub(in crate::cli) struct OneArgs {
    /// The id of the endpoint that is meant.
    pub(super) id: String,
    #[command(flatten)]
    pub(super) action: ActionArgs,
}

/// Draw a new secret. The secrets before it sign too for a time, so that the receiver can be changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage webhook rotate 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --overlap-seconds 3600 --reason \"a year has passed\""
)]
pub(in crate::cli) struct RotateArgs {
    /// The id of the endpoint that is meant.
    pub(super) id: String,
    /// The time for which the earlier secrets sign too, in seconds.
    #[arg(long, default_value_t = 86_400, value_parser = whole_number)]
    pub(super) overlap_seconds: u64,
    #[command(flatten)]
    pub(super) action: ActionArgs,
}

/// What was sent to an endpoint and what came of it, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage webhook deliveries 01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
pub(in crate::cli) struct LogArgs {
    /// The id of the endpoint that is meant.
    pub(super) id: String,
    /// Maximum number of messages.
    #[arg(long, default_value_t = 50)]
    pub(super) limit: usize,
    #[command(flatten)]
    pub(super) target: OpsTarget,
}

/// Send one message of the log again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage webhook resend 01JFVQ2X8Z0Y1M3N4P5R6S7T8V 12 --reason \"ticket 4711\""
)]
pub(in crate::cli) struct ResendArgs {
    /// The id of the endpoint that is meant.
    pub(super) id: String,
    /// The message's number in the log.
    #[arg(value_parser = whole_number)]
    pub(super) number: u64,
    #[command(flatten)]
    pub(super) action: ActionArgs,
}

/// Send everything again that the endpoint wants and that happened since a time.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage webhook replay 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --since 2026-11-21T09:00:00Z --dry-run --reason \"ticket 4711\"\n  portage webhook replay 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --since 2026-11-21T09:00:00Z --reason \"the receiver was down\""
)]
pub(in crate::cli) struct ReplayArgs {
    /// The id of the endpoint that is meant.
    pub(super) id: String,
    /// Since when, as RFC 3339.
    #[arg(long)]
    pub(super) since: String,
    /// Say how many messages that would be, and send none.
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) action: ActionArgs,
}
