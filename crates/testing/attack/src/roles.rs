//! Every operation with every role.

use crate::Outcome;
use crate::operations::{TABLE, Who, described, filled, strangers};
use crate::report::Part;
use crate::target::{Reply, Request, Target};
use crate::tokens::{Role, Tokens};

/// An id that no transfer has.
pub const ABSENT: &str = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V";

/// Asks every operation as every role there is a token of, for a transfer that is there and for one
/// that is not. The bodies are empty objects: a caller who may is told so by the form's refusal, and
/// nothing is done.
///
/// # Errors
/// No server listens.
pub fn run(target: &Target, tokens: &Tokens, id: &str) -> Outcome<Part> {
    let mut part = Part::default();
    let page = Request::get("/openapi.json");
    let page = match tokens.of(Role::Watcher) {
        Some(token) => page.token(&token),
        None => page,
    };
    let page = target.ask(&page)?;
    part.must(page.status == 200, || format!("no /openapi.json to attack by: {}", page.short()));
    for stranger in strangers(&described(&page.json())) {
        part.must(false, || stranger);
    }
    let user = tokens.user(Role::User);
    for (method, path, who) in TABLE {
        for (role, name, ..) in Role::ALL {
            let token = tokens.of(role);
            if token.is_none() && role != Role::NoToken {
                continue;
            }
            let ask = |id: &str| {
                let request = Request::new(method, &filled(path, id, user));
                let request = if method == "GET" { request } else { request.json("{}") };
                let request = token.iter().fold(request, |request, token| request.token(token));
                target.ask(&request)
            };
            let (there, absent) = (ask(id)?, ask(ABSENT)?);
            for reply in [&there, &absent] {
                part.must(fits(who, role, reply), || {
                    format!("{method} {path} as `{name}`: {}", reply.short())
                });
            }
            let shut = !who.lets(role) && who != Who::Page;
            part.must(!shut || there.told() == absent.told(), || {
                format!("{method} {path} as `{name}` tells what is there: {}", there.short())
            });
        }
    }
    Ok(part)
}

/// What a role must be told.
fn fits(who: Who, role: Role, reply: &Reply) -> bool {
    let open = !matches!(reply.status, 0 | 401 | 403 | 500..);
    let shut = match role {
        Role::NoToken => reply.status == 401 && reply.code() == "UNAUTHORIZED",
        Role::User | Role::Other | Role::Watcher | Role::Actor | Role::Approver | Role::Service => {
            reply.status == 403 && reply.code() == "FORBIDDEN"
        }
    };
    match who {
        // 503 is what a halted server's health says
        Who::All => open || reply.status == 503,
        Who::Page => (open && reply.status == 200) || (shut && !who.lets(role)),
        // a service is told that it must say whose balances it means
        Who::Reads if role == Role::Service => open || shut,
        Who::Creates
        | Who::Reads
        | Who::Relays
        | Who::Watches
        | Who::Acts
        | Who::Approves
        | Who::Admin => {
            if who.lets(role) {
                open
            } else {
                shut
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;
    use crate::operations::Who;
    use crate::target::Reply;
    use crate::tokens::Role;

    #[test]
    fn an_open_route_and_a_wrong_no_are_found() {
        let reply = |status, code: &str| {
            let body = format!(r#"{{"code":"{code}"}}"#);
            Reply { status, body, ..Reply::default() }
        };
        assert!(fits(Who::Acts, Role::Actor, &reply(400, "BAD_REQUEST")));
        assert!(!fits(Who::Acts, Role::User, &reply(400, "BAD_REQUEST")));
        assert!(!fits(Who::Acts, Role::NoToken, &reply(403, "FORBIDDEN")));
        assert!(fits(Who::Acts, Role::NoToken, &reply(401, "UNAUTHORIZED")));
        assert!(!fits(Who::Acts, Role::Actor, &reply(500, "SYSTEM_ERROR")));
        assert!(!fits(Who::Admin, Role::Watcher, &reply(404, "NOT_FOUND")));
        assert!(!fits(Who::Page, Role::Watcher, &reply(403, "FORBIDDEN")));
    }
}
