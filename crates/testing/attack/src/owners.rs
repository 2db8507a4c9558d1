//! Other people's transfers and money: whose a thing is, however it is asked for.

use crate::Outcome;
use crate::report::Part;
use crate::roles::ABSENT;
use crate::target::{Reply, Request, Target};
use crate::tokens::{Role, Tokens, now};
use serde_json::{Value, json};

/// The route that creates a transfer.
pub const CREATE: &str = "/api/v1/internal_transfer";

/// A transfer of a user's, done or refused by the ledger: its id. On a server of our own there is
/// money for it.
///
/// # Errors
/// It cannot be opened.
pub fn prepare(target: &Target, tokens: &Tokens, own: bool) -> Outcome<String> {
    let user = tokens.user(Role::User);
    if let Some(actor) = tokens.of(Role::Actor).filter(|_| own) {
        let body =
            json!({"user_id": user, "asset": "USDT", "amount": "1000", "ref": "a", "reason": "r"});
        let reply = target.ask(&Request::post("/api/v1/ops/deposits", &body).token(&actor))?;
        if reply.status != 201 {
            return Err(format!("no money for the user: {}", reply.short()));
        }
    }
    let token = tokens.of(Role::User).unwrap_or_default();
    let body = transfer(&format!("attack-{}", now()));
    let reply = target.ask(&Request::post(CREATE, &body).token(&token))?;
    let id = reply.json().get("req_id").and_then(Value::as_str).map(str::to_owned);
    id.ok_or_else(|| format!("no transfer of the user's: {}", reply.short()))
}

/// A body that a create takes.
pub fn transfer(cid: &str) -> Value {
    json!({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1", "cid": cid})
}

/// Each way to another's transfer and another's money.
///
/// # Errors
/// No server listens.
pub fn run(target: &Target, tokens: &Tokens, id: &str) -> Outcome<Part> {
    let mut part = Part::default();
    let token = |role| tokens.of(role);
    if let Some(user) = token(Role::User) {
        for path in paths(id) {
            let reply = target.ask(&Request::get(&path).token(&user))?;
            part.must(reply.status == 200, || format!("{path} as its owner: {}", reply.short()));
        }
        foreign(target, &user, tokens.user(Role::Other), &mut part)?;
    }
    if let Some(other) = token(Role::Other) {
        hidden(target, &other, "other", id, &mut part)?;
        foreign(target, &other, tokens.user(Role::User), &mut part)?;
        pretended(target, &other, (id, tokens.user(Role::User)), &mut part)?;
    }
    if let Some(service) = token(Role::Service) {
        hidden(target, &service, "any", id, &mut part)?;
        let reply = target.ask(&dry(&service, &transfer("x")))?;
        part.must(reply.status == 400, || format!("a service without a user: {}", reply.short()));
    }
    Ok(part)
}

/// Both spellings of an id, on both routes.
fn paths(id: &str) -> [String; 4] {
    let uuid = uuid(id).unwrap_or_else(|| id.to_owned());
    [
        format!("/api/v1/internal_transfer/{id}"),
        format!("/api/v1/internal_transfer/{uuid}"),
        format!("/api/v1/transfer/{id}"),
        format!("/api/v1/transfer/{uuid}"),
    ]
}

/// The same 128 bits, as the other route writes them.
fn uuid(id: &str) -> Option<String> {
    const LETTERS: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let bits = id.chars().try_fold(0_u128, |bits, letter| {
        let value = u128::try_from(LETTERS.find(letter)?).ok()?;
        Some((bits << 5) | value)
    })?;
    let text = format!("{bits:032x}");
    let part = |from, to| text.get(from..to);
    let (a, b, c, d) = (part(0, 8)?, part(8, 12)?, part(12, 16)?, part(16, 20)?);
    Some(format!("{a}-{b}-{c}-{d}-{}", part(20, 32)?))
}

/// Another's transfer is told of as one that is not there, and stands in no list.
fn hidden(target: &Target, token: &str, name: &str, id: &str, part: &mut Part) -> Outcome {
    for (there, absent) in paths(id).into_iter().zip(paths(ABSENT)) {
        let theirs = target.ask(&Request::get(&there).token(token))?;
        let unknowns = target.ask(&Request::get(&absent).token(token))?;
        part.must(theirs.status == 404, || {
            format!("{there} as `{name}`, whose it is not: {}", theirs.short())
        });
        part.must(theirs.told() == unknowns.told(), || {
            format!("{there} as `{name}` differs from one that is not there: {}", theirs.short())
        });
    }
    let list = target.ask(&Request::get("/api/v1/internal_transfers?limit=100").token(token))?;
    part.must(list.status == 200 && !list.body.contains(id), || {
        format!("the list of `{name}` shows another's transfer: {}", list.short())
    });
    let wide = target.ask(&Request::get("/api/v1/internal_transfers?user=4001").token(token))?;
    part.must(wide.status == 400, || format!("a list by user as `{name}`: {}", wide.short()));
    Ok(())
}

/// A dry run: whatever it would say, nothing moves.
fn dry(token: &str, body: &Value) -> Request {
    Request::post(&format!("{CREATE}?dry_run=true"), body).token(token)
}

/// Another's money, named in the body.
fn foreign(target: &Target, token: &str, theirs: u64, part: &mut Part) -> Outcome {
    let mut body = transfer("foreign");
    if let Some(body) = body.as_object_mut() {
        body.insert("user_id".to_owned(), theirs.into());
    }
    let shut = |reply: &Reply| reply.status == 403 && reply.code() == "FORBIDDEN";
    let reply = target.ask(&dry(token, &body))?;
    part.must(shut(&reply), || format!("another's `user_id`: {}", reply.short()));
    let batch = Request::post("/api/v1/internal_transfers", &json!({"transfers": [body]}));
    let reply = target.ask(&batch.token(token))?;
    part.must(shut(&reply), || format!("another's `user_id` in a batch: {}", reply.short()));
    let v2 = json!({"from": "funding", "to": "trading", "asset": "USDT", "amount": "1", "user_id": theirs});
    let reply = target.ask(&Request::post("/api/v1/transfer", &v2).token(token))?;
    part.must(shut(&reply), || format!("another's `user_id` on /transfer: {}", reply.short()));
    for field in ["state", "fee", "userId", "user", "principal", "req_id", "transfer_id"] {
        let mut body = transfer("extra");
        if let Some(body) = body.as_object_mut() {
            body.insert(field.to_owned(), theirs.into());
        }
        let reply = target.ask(&dry(token, &body))?;
        part.must(reply.status == 400, || format!("the field `{field}`: {}", reply.short()));
    }
    let reply =
        target.ask(&Request::get(&format!("/api/v1/balances?user_id={theirs}")).token(token))?;
    part.must(reply.status == 400, || format!("balances of another: {}", reply.short()));
    Ok(())
}

/// Headers that some servers take for the caller, or for the path.
fn pretended(target: &Target, token: &str, of: (&str, u64), part: &mut Part) -> Outcome {
    let (id, user) = of;
    let path = format!("/api/v1/internal_transfer/{id}");
    for name in ["x-user-id", "x-forwarded-user", "x-remote-user", "x-principal", "x-auth-user"] {
        let reply = target.ask(&Request::get(&path).token(token).line(name, &user.to_string()))?;
        part.must(reply.status == 404, || format!("{name} is believed: {}", reply.short()));
    }
    for name in ["x-original-url", "x-rewrite-url"] {
        let request = Request::get("/api/v1/balances").token(token).line(name, "/api/v1/stats");
        let reply = target.ask(&request)?;
        part.must(reply.body.starts_with('['), || format!("{name} is followed: {}", reply.short()));
    }
    for name in ["x-http-method-override", "x-method-override"] {
        let reply = target.ask(&Request::get(&path).token(token).line(name, "POST"))?;
        part.must(reply.status == 404, || format!("{name} is followed: {}", reply.short()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_id_has_two_spellings() {
        let uuid = super::uuid("01JFVQ2X8Z0Y1M3N4P5R6S7T8V").unwrap();
        assert_eq!(uuid, "0193f771-751f-0783-41d4-962e0d93e91b");
    }
}
