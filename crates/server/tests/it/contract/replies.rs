//! Every reply of every test at the door is one that the description lists.

use super::{fits::fits, operations, schemas};
use serde_json::Value;

/// Panics where a reply is none of its operation's: another status, another code, another form.
pub(crate) fn held(method: &str, path: &str, status: u16, kind: &str, body: &Value) {
    let method = method.to_lowercase();
    let path = path.split('?').next().unwrap_or_default();
    let found = operations().into_iter().filter(|(m, p, _)| *m == method && matches(p, path));
    // a path with a name of its own is meant before one with a place: `/docs/errors` before `/{x}`
    let Some((_, place, about)) = found.min_by_key(|(_, p, _)| p.matches('{').count()) else {
        assert!([404, 405].contains(&status), "{method} {path}: {status} where there is no route");
        assert_eq!(fits(body, &schemas()["Problem"], schemas()), Ok(()), "{method} {path}");
        return;
    };
    let at = format!("{method} {place}: {status} {body}");
    let response = &about["responses"][status.to_string()];
    assert!(response.is_object(), "{at}: a status that is not described");
    let media = kind.split(';').next().unwrap_or_default();
    let content = &response["content"][media];
    assert!(content.is_object(), "{at}: `{media}` is not described");
    assert_eq!(fits(body, &content["schema"], schemas()), Ok(()), "{at}");
    if let (Some(code), Some(known)) = (body["code"].as_str(), content["examples"].as_object()) {
        assert!(known.contains_key(code), "{at}: a code that is not described there");
    }
}

/// Whether a path is of a route: `{…}` takes any one part.
fn matches(route: &str, path: &str) -> bool {
    let (route, path): (Vec<_>, Vec<_>) = (route.split('/').collect(), path.split('/').collect());
    let pairs = route.iter().zip(&path);
    route.len() == path.len() && pairs.into_iter().all(|(r, p)| r.starts_with('{') || r == p)
}
