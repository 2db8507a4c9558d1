//! The groups in which the page shows the routes, and the table that leads a reader to one of them.

/// Routes that belong together, and what a reader has to know of them.
pub(super) struct Group {
    /// The anchor on the page.
    pub id: &'static str,
    pub title: &'static str,
    /// The explanation of the group, in Markdown.
    pub about: &'static str,
    /// A route is here if its path is one of these, or below one. The first group that fits has it.
    paths: &'static [&'static str],
}

impl Group {
    /// True if the route of that path belongs here.
    fn fits(&self, path: &str) -> bool {
        self.paths.iter().any(|start| {
            path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// The group of a path.
pub(super) fn of(path: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.fits(path))
}

pub(super) const GROUPS: &[Group] = &[
    Group {
        id: "group-transfers",
        title: "Transfers between a user's ledgers",
        about: "A create waits up to half a second for the end. It answers 200 where the transfer ended, and 202 where \
            it goes on: ask for it by its `req_id`. Give each create a key, as `cid` or in a header: sent again with the \
            same key and body it answers the same transfer, and moves nothing twice. A user's token moves that user's \
            money; a service with `transfers:any` names the user in `user_id`. `/api/v1/transfer` is the same with other \
            names of its fields, for clients that have them already.",
        paths: &[
            "/api/v1/internal_transfer",
            "/api/v1/internal_transfers",
            "/api/v1/transfer",
            "/api/v1/balances",
        ],
    },
    Group {
        id: "group-account-transfers",
        title: "Transfers between numbered accounts",
        about: "From one account to another, also of another user, carried by messages. The create answers 201 as soon \
            as the transfer is durable; ask for it by its `transferId`. Operators open the accounts.",
        paths: &["/api/transfers"],
    },
    Group {
        id: "group-relay",
        title: "Tokens on NEAR",
        about: "From the relay's account to any account on NEAR, many to a transaction. Amounts are whole numbers of the \
            token's smallest unit. The key is required: it is the transfer's name. Where the relay is not set up these \
            routes answer 404.",
        paths: &["/transfer", "/transfers"],
    },
    Group {
        id: "group-search",
        title: "Operators: transfers",
        about: "Finds transfers of all users and flows, and acts on those that need a person. Each action takes a reason \
            and is written to the audit. `retry` and `ask` repeat what the engine does by itself. `resolve` proposes an \
            end: another operator approves it, and the ledger must prove it.",
        paths: &["/api/v1/transfers", "/api/v1/ops/transfers", "/api/v1/stats"],
    },
    Group {
        id: "group-cases",
        title: "Operators: cases and approvals",
        about: "A case is an open question for a person, such as a transfer that is stuck. It closes by itself once its \
            cause is gone. An approval is an action that waits for a second operator.",
        paths: &["/api/v1/cases", "/api/v1/ops/approvals"],
    },
    Group {
        id: "group-stops",
        title: "Operators: stop and go on",
        about: "A HALT stops all money at once, and one operator is enough for it; to go on takes two. A pause stops one \
            flow, ledger, asset or account. Reads go on in both.",
        paths: &[
            "/api/v1/ops/halt",
            "/api/v1/ops/halts",
            "/api/v1/ops/resume",
            "/api/v1/ops/pauses",
        ],
    },
    Group {
        id: "group-accounts",
        title: "Operators: accounts and money from outside",
        about: "Deposits and withdrawals book money that came into, or leaves, the ledgers of this server. Each has a \
            reference that counts once. Numbered accounts are opened, frozen and closed here.",
        paths: &[
            "/api/v1/ops/accounts",
            "/api/v1/ops/deposits",
            "/api/v1/ops/withdrawals",
            "/api/v1/ops/movements",
        ],
    },
    Group {
        id: "group-assets",
        title: "Operators: assets",
        about: "Symbols, decimals and limits. An asset that is suspended takes no new transfer; what is open goes on.",
        paths: &["/api/v1/ops/assets"],
    },
    Group {
        id: "group-proof",
        title: "Operators: proof, audit and backup",
        about: "The sums of all ledgers, the seals over the history and their verification, what operators did, and a \
            copy of everything as of one instant.",
        paths: &["/api/v1/ops/conservation", "/api/v1/ops/audit", "/api/v1/ops/backup"],
    },
    Group {
        id: "group-messages",
        title: "Operators: messages",
        about: "The outbox and the consumers of account transfers: lag, keys that are parked behind a message which \
            cannot be taken, dead letters, and sending again.",
        paths: &["/api/v1/ops/pipeline", "/api/v1/ops/outbox", "/api/v1/ops/dlt"],
    },
    Group {
        id: "group-relay-keys",
        title: "Operators: keys of the relay",
        about: "The keys that sign on NEAR. A key is retired first, and proven gone from the chain afterwards.",
        paths: &["/api/v1/ops/relay"],
    },
    Group {
        id: "group-chains",
        title: "Operators: chains",
        about: "What this service knows of a chain on which it pays: the lanes of its payments, the open attempts, the \
            providers and what is left for fees.",
        paths: &["/api/v1/ops/chains"],
    },
    Group {
        id: "group-vaults",
        title: "Operators: vaults",
        about: "The accounts on chains that take deposits, each beside its books. What left one without an attempt of ours \
            is accepted by two persons, or was stolen.",
        paths: &["/api/v1/ops/vaults"],
    },
    Group {
        id: "group-webhooks",
        title: "Operators: webhooks",
        about: "Endpoints of yours that are sent the ends of transfers and what becomes of cases, signed by the rules of \
            Standard Webhooks, until they answer 2xx. The secret is shown once.",
        paths: &["/api/v1/webhooks"],
    },
    Group {
        id: "group-machine",
        title: "Machines",
        about: "For probes, load balancers, Prometheus and generators of clients.",
        paths: &["/health", "/livez", "/readyz", "/metrics", "/openapi.json", "/docs"],
    },
];

/// What a reader wants, and the operation that does it.
pub(super) const WANTS: &[(&str, &str)] = &[
    ("move money between a user's ledgers", "create_transfer"),
    ("move it for many users in one request", "create_transfers"),
    ("see what became of a transfer", "read_transfer"),
    ("list a user's transfers", "list_transfers"),
    ("read a user's balances", "read_balances"),
    ("move money between two numbered accounts, over messages", "create_account_transfer"),
    ("pay tokens on NEAR", "create_relay_transfer"),
    ("be told when a transfer has ended", "add_webhook"),
    ("book money that came from outside, as an operator", "book_deposit"),
    ("find transfers, as an operator", "find_transfers"),
    ("see what needs a person", "list_cases"),
    ("end a transfer that is stuck, with a second operator", "resolve_transfer"),
    ("stop all money", "halt_money"),
    ("see that the books agree", "read_conservation"),
    ("know whether this server works", "read_health"),
];
