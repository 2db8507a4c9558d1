//! Endpoints of webhooks: what operators set, and what the journal keeps of it.
//!
//! An endpoint is a resource of the journal ([`crate::unit::Put::Resource`]): the unit of the operator's
//! action writes it, guarded by its version.

use crate::flow::life::Outcome;
use crate::ids::{Id, Millis};
use crate::owner::TransferOwner;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What every resource of an endpoint is named by, before its id.
pub const PREFIX: &str = "webhook/";
/// The type of the event that an operator asks for to see whether an endpoint works.
pub const TEST_EVENT: &str = "webhook.test";
/// What the type of each event about a transfer begins with.
pub const TRANSFER_EVENTS: &str = "transfer.";
/// What the type of each event about a case begins with.
pub const CASE_EVENTS: &str = "case.";
/// The kind of the case of an endpoint that the service disabled.
pub const DISABLED_CASE: &str = "WEBHOOK_DISABLED";
/// The kind of the case of an endpoint that takes less than is queued for it.
pub const BACKLOG_CASE: &str = "WEBHOOK_BACKLOG";
/// The most endpoints that there are at a time.
pub const MOST_ENDPOINTS: usize = 100;
/// The most requests of operators that wait at one endpoint.
pub const MOST_REQUESTS: usize = 16;
/// The most secrets of an endpoint that sign at the same time.
const MOST_SECRETS: usize = 4;

/// The name of an endpoint's resource.
pub fn resource(endpoint: Id) -> Arc<str> {
    format!("{PREFIX}{endpoint}").into()
}

/// The key that signs what an endpoint gets: `whsec_` and the base64 of 32 bytes.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WebhookSecret(pub Arc<str>);

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(********)")
    }
}

/// True where two addresses are at different hosts or ports: another receiver reads what goes there.
pub fn are_at_other_hosts(one: &str, other: &str) -> bool {
    authority(one) != authority(other)
}

/// The host and the port of an address, as they are written, in small letters.
fn authority(target: &str) -> String {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase()
}

/// How an endpoint is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// A signed POST to an address.
    Http,
    /// An e-mail to a mailbox.
    Email,
}

impl Channel {
    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Email => "email",
        }
    }

    /// The channel of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Email].into_iter().find(|channel| channel.name() == text)
    }
}

/// Whether an endpoint gets events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EndpointStatus {
    /// The endpoint gets events.
    Active,
    /// The endpoint gets nothing; only a replay sends what happens meanwhile.
    Disabled,
}

impl EndpointStatus {
    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Disabled => "DISABLED",
        }
    }

    /// The status of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Disabled].into_iter().find(|status| status.name() == text)
    }
}

/// Which events an endpoint wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFilter {
    /// Types of events, each whole or with `*` for its last word.
    pub events: Vec<Arc<str>>,
    /// The flows whose transfers are wanted; none: those of every flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Arc<str>>,
    /// The owner whose transfers are wanted, as its stored text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Arc<str>>,
}

/// The type of the event that a transfer ended with that outcome.
pub fn transfer_event(outcome: Outcome) -> String {
    format!("{TRANSFER_EVENTS}{}", outcome.word())
}

/// The types of every event, as a filter names them.
pub fn event_types() -> Vec<String> {
    let transfers = Outcome::ALL.iter().map(|outcome| transfer_event(*outcome));
    transfers.chain(["opened", "closed"].map(|half| format!("{CASE_EVENTS}{half}"))).collect()
}

/// The facts by which a filter decides.
#[derive(Debug, Clone, Copy)]
pub enum FilterQuestion<'e> {
    /// A transfer of this flow and owner that ended.
    Transfer {
        /// The name of the flow.
        flow: &'e str,
        /// The owner of the transfer.
        owner: &'e TransferOwner,
        /// The owner of the numbered account that it paid.
        payee: Option<&'e TransferOwner>,
        /// What became of it.
        outcome: Outcome,
    },
    /// Half of a case's episode, by the event's type.
    Case(&'e str),
}

impl EventFilter {
    /// The first text in it that names no event.
    pub fn unknown_event(&self) -> Option<&Arc<str>> {
        let types = event_types();
        self.events.iter().find(|wanted| !types.iter().any(|kind| fits(wanted, kind)))
    }

    /// Whether it wants an event. Flows and owner narrow the events of transfers alone.
    pub fn wants(&self, question: FilterQuestion<'_>) -> bool {
        match question {
            FilterQuestion::Case(kind) => self.names(kind),
            FilterQuestion::Transfer { flow, owner, payee, outcome } => {
                let of_flow = self.flows.is_empty() || self.flows.iter().any(|one| **one == *flow);
                let mut owners = std::iter::once(owner).chain(payee);
                let wanted = self.owner.as_ref();
                let of_owner =
                    wanted.is_none_or(|wanted| owners.any(|one| **wanted == one.to_string()));
                of_flow && of_owner && self.names(&transfer_event(outcome))
            }
        }
    }

    fn names(&self, kind: &str) -> bool {
        self.events.iter().any(|wanted| fits(wanted, kind))
    }
}

/// Whether a text of a filter names that type of event.
fn fits(wanted: &str, kind: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some("") => true,
        Some(head) => head.ends_with('.') && kind.starts_with(head),
        None => wanted == kind,
    }
}

/// An endpoint, as operators see it: everything but its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookEndpoint {
    /// Its id, drawn when it was added.
    pub id: Id,
    /// How it is reached.
    pub channel: Channel,
    /// Where: an address, or the address of a mailbox.
    pub target: Arc<str>,
    /// The operators' own words for it.
    pub description: Arc<str>,
    /// Which events it wants.
    pub filter: EventFilter,
    /// Whether the endpoint gets events.
    pub status: EndpointStatus,
    /// Why it was disabled, where the service did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_because: Option<Arc<str>>,
    /// When it was added, by the journal's time.
    pub created_at: Millis,
    /// When it was last enabled: only a replay sends what happened before.
    pub enabled_at: Millis,
    /// Until when the secrets before the last one sign too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotating_until: Option<Millis>,
}

/// A secret and how long it signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSecret {
    /// The key that signs.
    pub secret: WebhookSecret,
    /// It signs until then; `None`: until it is rotated.
    pub until: Option<Millis>,
}

/// What an operator asks an endpoint to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum EndpointRequest {
    /// A test event, by its number.
    Test,
    /// One message of its log, again.
    Resend {
        /// The number of the message in the log.
        number: u64,
    },
    /// Every event that it wants and that happened at or after a time.
    Replay {
        /// The time of the first event.
        since: Millis,
    },
}

/// An endpoint with what only the journal keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredWebhook {
    /// The endpoint that is meant.
    pub endpoint: WebhookEndpoint,
    /// The keys that sign, the newest first.
    pub secrets: Vec<StoredSecret>,
    /// The number of the oldest transfer that was open when it was added, where one was: it may end later.
    #[serde(default)]
    pub oldest_open: Option<u64>,
    /// How many requests were made so far: the number of the last one.
    #[serde(default)]
    pub asked: u64,
    /// The last requests, the newest last.
    #[serde(default)]
    pub requests: Vec<EndpointRequest>,
}

impl StoredWebhook {
    /// The text of its resource.
    pub fn stored(&self) -> Arc<str> {
        // texts and numbers: it can be written
        serde_json::to_value(self).unwrap_or_default().to_string().into()
    }

    /// The endpoint of a resource's text; none of one that was deleted.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The keys that sign at a time, the newest first.
    pub fn signing(&self, now: Millis) -> impl Iterator<Item = &WebhookSecret> {
        let signs = move |one: &&StoredSecret| one.until.is_none_or(|until| now < until);
        self.secrets.iter().filter(signs).map(|one| &one.secret)
    }

    /// Signs with a new secret from now on, and with those that it had until then too.
    pub fn rotate(&mut self, secret: WebhookSecret, now: Millis, until: Millis) {
        self.secrets.retain(|one| one.until.is_none_or(|until| now < until));
        for one in &mut self.secrets {
            let ends = one.until.filter(|ends| *ends < until).unwrap_or(until);
            one.until = Some(ends);
        }
        self.secrets.insert(0, StoredSecret { secret, until: None });
        self.secrets.truncate(MOST_SECRETS);
        self.endpoint.rotating_until = (until > now).then_some(until);
    }

    /// Signs with this secret alone from now on: those before it are another receiver's.
    pub fn replace_secrets(&mut self, secret: WebhookSecret) {
        self.secrets = vec![StoredSecret { secret, until: None }];
        self.endpoint.rotating_until = None;
    }

    /// One more request; the oldest is forgotten where there are too many.
    pub fn ask(&mut self, request: EndpointRequest) {
        self.asked = self.asked.saturating_add(1);
        self.requests.push(request);
        if self.requests.len() > MOST_REQUESTS {
            self.requests.remove(0);
        }
    }

    /// The requests above a number, each with its own.
    pub fn requests_after(&self, done: u64) -> impl Iterator<Item = (u64, EndpointRequest)> {
        let many = u64::try_from(self.requests.len()).unwrap_or(u64::MAX);
        let first = self.asked.saturating_sub(many).saturating_add(1);
        (first..).zip(self.requests.iter().copied()).filter(move |(number, _)| *number > done)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Channel, EndpointRequest, EndpointStatus, EventFilter, FilterQuestion, StoredSecret,
        StoredWebhook, WebhookEndpoint, WebhookSecret, event_types,
    };
    use crate::flow::life::Outcome;
    use crate::ids::{Id, UserId};
    use crate::owner::TransferOwner;

    fn filter(events: &[&str]) -> EventFilter {
        let events = events.iter().copied().map(Into::into).collect();
        EventFilter { events, flows: Vec::new(), owner: None }
    }

    fn stored() -> StoredWebhook {
        let endpoint = WebhookEndpoint {
            id: Id(7),
            channel: Channel::Http,
            target: "https://hooks.example/x".into(),
            description: "a test".into(),
            filter: filter(&["*"]),
            status: EndpointStatus::Active,
            disabled_because: None,
            created_at: 1_000,
            enabled_at: 1_000,
            rotating_until: None,
        };
        let secrets = vec![StoredSecret { secret: WebhookSecret("one".into()), until: None }];
        StoredWebhook { endpoint, secrets, oldest_open: None, asked: 0, requests: Vec::new() }
    }

    /// Turns red with a build whose `transfer.*` names every event.
    #[test]
    fn a_filter_names_types_whole_or_by_their_first_word() {
        let owner = TransferOwner::User(UserId(4001));
        let (flow, owner, payee, outcome) = ("internal", &owner, None, Outcome::Paid);
        let paid = FilterQuestion::Transfer { flow, owner, payee, outcome };
        for (events, transfer, case) in [
            (&["*"][..], true, true),
            (&["transfer.*"], true, false),
            (&["transfer.completed"], true, false),
            (&["transfer.failed", "case.opened"], false, true),
            (&["case.*"], false, true),
            (&[], false, false),
        ] {
            let filter = filter(events);
            assert_eq!(filter.unknown_event(), None, "{events:?}");
            assert_eq!(filter.wants(paid), transfer, "{events:?}");
            assert_eq!(filter.wants(FilterQuestion::Case("case.opened")), case, "{events:?}");
        }
        for bad in ["", "transfer", "tran*", "transfer.paid", "transfer.*.x", "webhook.test"] {
            assert!(filter(&[bad]).unknown_event().is_some(), "{bad}");
        }
        assert_eq!(event_types().len(), 7);
    }

    #[test]
    fn flows_and_owner_narrow_the_events_of_transfers() {
        let mut filter = filter(&["*"]);
        filter.flows = vec!["internal".into()];
        filter.owner = Some("user:4001".into());
        let wants = |flow, user| {
            let owner = &TransferOwner::User(UserId(user));
            let (payee, outcome) = (None, Outcome::Failed);
            filter.wants(FilterQuestion::Transfer { flow, owner, payee, outcome })
        };
        assert!(wants("internal", 4001) && !wants("account", 4001) && !wants("internal", 4002));
        let [payer, payee] = [4002, 4001].map(|user| TransferOwner::User(UserId(user)));
        let (flow, owner, payee, outcome) = ("internal", &payer, Some(&payee), Outcome::Paid);
        assert!(filter.wants(FilterQuestion::Transfer { flow, owner, payee, outcome }));
        assert!(filter.wants(FilterQuestion::Case("case.closed")));
    }

    /// Turns red with a build that drops the old secret at once, and with one that keeps it for ever.
    #[test]
    fn after_a_rotation_both_secrets_sign_for_a_time() {
        let mut stored = stored();
        stored.rotate(WebhookSecret("two".into()), 2_000, 5_000);
        let signing =
            |now| -> Vec<_> { stored.signing(now).map(|one| one.0.to_string()).collect() };
        assert_eq!(signing(4_999), ["two", "one"]);
        assert_eq!(signing(5_000), ["two"]);
        assert_eq!(stored.endpoint.rotating_until, Some(5_000));
        let read = StoredWebhook::read(&stored.stored());
        assert_eq!(read.as_ref(), Some(&stored));
        assert!(!format!("{stored:?}").contains("two"));
    }

    /// Turns red with a build that compares whole addresses, and with one that takes a user for a host.
    #[test]
    fn another_path_is_the_same_host() {
        let at = |one, other| super::are_at_other_hosts(one, other);
        assert!(!at("https://hooks.example/x", "https://HOOKS.example/y?z=1"));
        assert!(!at("https://hooks.example", "https://hooks.example/"));
        assert!(at("https://hooks.example/x", "https://hooks.example:8443/x"));
        assert!(at("https://hooks.example/x", "https://hooks.example@evil.example/x"));
        assert!(at("https://hooks.example/x", "https://evil.example/hooks.example/x"));
    }

    #[test]
    fn requests_are_numbered_and_the_oldest_forgotten() {
        let mut stored = stored();
        for number in 1..=20 {
            stored.ask(EndpointRequest::Resend { number });
        }
        let left: Vec<_> = stored.requests_after(18).collect();
        let resend = |number| (number, EndpointRequest::Resend { number });
        assert_eq!(left, [resend(19), resend(20)]);
        assert_eq!(stored.requests_after(0).count(), super::MOST_REQUESTS);
        assert_eq!(StoredWebhook::read(""), None);
    }
}
