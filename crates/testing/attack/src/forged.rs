//! Tokens that prove nothing, and tokens in the wrong place.

use crate::Outcome;
use crate::report::Part;
use crate::target::{Request, Target};
use crate::tokens::{Role, Tokens, claims, decoded, encoded, header, now, signed};
use serde_json::{Value, json};

const PATH: &str = "/api/v1/balances";

/// Each must be answered 401; the good one they are made of must not.
///
/// # Errors
/// No server listens, or there is no token of a user.
pub fn run(target: &Target, tokens: &Tokens) -> Outcome<Part> {
    let mut part = Part::default();
    let good = tokens.of(Role::User).ok_or("no token of a user")?;
    let reply = target.ask(&Request::get(PATH).token(&good))?;
    part.must(reply.status == 200, || format!("the good token: {}", reply.short()));
    let mut all = altered(&good);
    all.extend(strangers(&good));
    all.extend(ours(tokens));
    for (what, token) in all {
        let reply = target.ask(&Request::get(PATH).token(&token))?;
        part.must(refused(&reply), || format!("{what}: {}", reply.short()));
    }
    for (what, request) in misplaced(&good) {
        let reply = target.ask(&request)?;
        part.must(refused(&reply), || format!("{what}: {}", reply.short()));
    }
    Ok(part)
}

fn refused(reply: &crate::target::Reply) -> bool {
    reply.status == 401 && reply.code() == "UNAUTHORIZED"
}

type Named<T> = Vec<(String, T)>;

fn named<T>(name: impl Into<String>, thing: T) -> (String, T) {
    (name.into(), thing)
}

/// The good token with something changed behind its signer's back.
fn altered(good: &str) -> Named<String> {
    let mut parts = good.split('.');
    let mut next = || parts.next().unwrap_or_default();
    let (head, body, signature) = (next(), next(), next());
    let mut all = Vec::new();
    let header = |alg: &Value| {
        let mut header = decoded(head).unwrap_or_default();
        if let Some(header) = header.as_object_mut() {
            header.insert("alg".to_owned(), alg.clone());
        }
        encoded(header.to_string().as_bytes())
    };
    for alg in ["none", "nOnE", "NONE", "None", "", " ", "null", "HS", "hs256", "eddsa", "HS512"] {
        for signature in ["", signature] {
            all.push(named(
                format!("alg `{alg}`"),
                format!("{}.{body}.{signature}", header(&json!(alg))),
            ));
        }
    }
    for alg in [json!(null), json!(1), json!(["HS256"]), json!({"alg": "none"})] {
        all.push(named(format!("alg {alg}"), format!("{}.{body}.{signature}", header(&alg))));
    }
    for (name, value) in
        [("sub", json!("1")), ("scope", json!("admin")), ("exp", json!(now().saturating_add(9000)))]
    {
        let mut claims = decoded(body).unwrap_or_default();
        if let Some(claims) = claims.as_object_mut() {
            claims.insert(name.to_owned(), value);
        }
        let claims = encoded(claims.to_string().as_bytes());
        all.push(named(format!("another `{name}`"), format!("{head}.{claims}.{signature}")));
    }
    let mut bytes = signature.as_bytes().to_vec();
    for place in 0..bytes.len() {
        if let Some(letter) = bytes.get_mut(place) {
            let kept = *letter;
            *letter = if kept == b'A' { b'B' } else { b'A' };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            all.push(named(
                format!("letter {place} of the signature"),
                format!("{head}.{body}.{text}"),
            ));
            if let Some(letter) = bytes.get_mut(place) {
                *letter = kept;
            }
        }
    }
    for (what, token) in [
        ("no signature", format!("{head}.{body}")),
        ("an empty signature", format!("{head}.{body}.")),
        ("four parts", format!("{good}.{signature}")),
        ("an empty part", format!("{head}.{body}..{signature}")),
        ("a padded signature", format!("{good}=")),
        ("a padded body", format!("{head}.{body}=.{signature}")),
        ("a signature with more", format!("{good}AAAA")),
        ("zeros as the signature", format!("{head}.{body}.{}", "A".repeat(signature.len()))),
        ("nothing", String::new()),
        ("dots", "..".to_owned()),
        ("no token", "a.b.c".to_owned()),
        ("a long one", "a".repeat(9000)),
        ("one twice", format!("{good}, Bearer {good}")),
    ] {
        all.push(named(what, token));
    }
    all
}

/// Tokens of another signer, who would like to choose the key.
fn strangers(good: &str) -> Named<String> {
    let body = good.split('.').nth(1).and_then(decoded).unwrap_or_default().to_string();
    let mut all = Vec::new();
    for secret in [
        "",
        "secret",
        "portage",
        "changeme",
        "your-256-bit-secret",
        "another key of thirty-two bytes!",
    ] {
        all.push(named(
            format!("signed with `{secret}`"),
            signed(&header(&json!({})), &body, secret.as_bytes()),
        ));
    }
    let jwk = json!({"kty": "oct", "alg": "HS256", "k": encoded(b"mine")});
    for member in [
        json!({"jwk": jwk}),
        json!({"jku": "http://127.0.0.1:1/keys.json"}),
        json!({"x5u": "http://127.0.0.1:1/cert.pem"}),
        json!({"x5c": ["MIIB"]}),
        json!({"kid": "../../../../dev/null"}),
        json!({"kid": "a' OR '1'='1"}),
        json!({"kid": "http://127.0.0.1:1/"}),
        json!({"kid": "unknown"}),
        json!({"kid": "k".repeat(3000)}),
        json!({"kid": 0}),
        json!({"crit": ["b64"], "b64": false}),
    ] {
        for secret in ["", "mine"] {
            all.push(named(
                format!("{member:.60}"),
                signed(&header(&member), &body, secret.as_bytes()),
            ));
        }
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(2500), "]".repeat(2500));
    all.push(named("claims of great depth", signed(&header(&json!({})), &deep, b"")));
    all
}

/// Signed with the server's own secret, where we hold it, and still no token for it.
fn ours(tokens: &Tokens) -> Named<String> {
    let mut all = Vec::new();
    let mut add = |what: &str, header: &str, claims: &str| {
        all.extend(tokens.sign(header, claims).map(|token| named(what, token)));
    };
    let good = header(&json!({}));
    let (now, far) = (now(), 1_u64 << 53);
    for change in [
        json!({"exp": now.saturating_sub(10)}),
        json!({"exp": 0}),
        json!({"exp": null}),
        json!({"exp": now.saturating_add(600).to_string()}),
        json!({"exp": 4e9}),
        json!({"exp": far.saturating_add(1)}),
        json!({"exp": true}),
        json!({"exp": -1}),
        json!({"exp": now.saturating_add(90_000)}),
        json!({"nbf": now.saturating_add(60)}),
        json!({"nbf": "0"}),
        json!({"iat": null}),
        json!({"iat": now.saturating_add(60)}),
        json!({"iss": null}),
        json!({"iss": "evil"}),
        json!({"iss": ["portage"]}),
        json!({"aud": null}),
        json!({"aud": "evil"}),
        json!({"aud": 1}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": 4001}),
        json!({"sub": "a\nb"}),
        json!({"sub": "a\u{200b}"}),
        json!({"scope": ["admin", 5]}),
    ] {
        add(&format!("claims {change}"), &good, &claims(&change));
    }
    for typ in [json!(null), json!("id+jwt"), json!("rt+jwt"), json!("refresh"), json!("")] {
        add(&format!("typ {typ}"), &header(&json!({"typ": typ})), &claims(&json!({})));
    }
    for member in [
        json!({"crit": ["exp"]}),
        json!({"b64": false}),
        json!({"jku": "http://127.0.0.1:1"}),
        json!({"zip": "DEF"}),
        json!({"alg": "none"}),
        json!({"alg": "RS256"}),
    ] {
        add(&format!("{member}"), &header(&member), &claims(&json!({})));
    }
    let claims = claims(&json!({}));
    add("a claim twice", &good, &claims.replacen('{', "{\"sub\":\"4002\",", 1));
    add("alg twice", &good.replacen('{', "{\"alg\":\"none\",", 1), &claims);
    add(
        "claims of great depth",
        &good,
        &claims.replacen('{', &format!("{{\"a\":{}{},", "[".repeat(1500), "]".repeat(1500)), 1),
    );
    add(
        "more than 8 KiB",
        &good,
        &claims.replacen('{', &format!("{{\"a\":\"{}\",", "a".repeat(7000)), 1),
    );
    all
}

/// A good token, twice or in a place where no token is looked for.
fn misplaced(good: &str) -> Named<Request> {
    let get = || Request::get(PATH);
    let mut all = vec![
        named("no token", get()),
        named("two tokens", get().token(good).token(good)),
        named("a good one and a bad one", get().token(good).token("a.b.c")),
        named("a bad one and a good one", get().token("a.b.c").token(good)),
        named("a good one and nothing", get().token(good).line("authorization", "")),
        named("in a cookie", get().line("cookie", &format!("token={good}; access_token={good}"))),
    ];
    for (name, value) in [
        ("authorization", good.to_owned()),
        ("authorization", format!("Basic {good}")),
        ("authorization", format!("Bearer  {good}")),
        ("authorization", format!("Bearer {good} x")),
        ("authorization", format!("Bearer\t{good}")),
        ("authorization", "Bearer".to_owned()),
        ("proxy-authorization", format!("Bearer {good}")),
        ("x-authorization", format!("Bearer {good}")),
        ("x-access-token", good.to_owned()),
    ] {
        all.push(named(
            format!("{name}: {:.8}", value.replace(good, "…")),
            get().line(name, &value),
        ));
    }
    for name in ["access_token", "token", "authorization", "jwt"] {
        all.push(named(
            format!("in the query as `{name}`"),
            Request::get(&format!("{PATH}?{name}={good}")),
        ));
    }
    all
}
