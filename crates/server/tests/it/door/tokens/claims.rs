//! What a token must claim, and in which form.

use super::{TokenFixture, base64url, claims, now};
use crate::door::Door;
use serde_json::{Value, json};
use server::config::Auth;

async fn each_refused(changes: &[Value]) {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            fixture.takes(&kind.with_claims(&json!({}))).await;
            for change in changes {
                fixture.refuses(&kind.with_claims(change)).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn exp_is_there() {
    each_refused(&[json!({"exp": null})]).await;
}

#[tokio::test]
async fn a_time_is_a_whole_number_that_json_holds_exactly() {
    let fraction: Value = serde_json::from_str(&format!("{}.0", now() + 600)).expect("a number");
    let mut changes = Vec::new();
    for name in ["exp", "iat", "nbf"] {
        for unfit in [
            json!((now() + 600).to_string()),
            json!(""),
            fraction.clone(),
            json!(1.5e9 + 0.5),
            json!(1e30),
            json!((1_u64 << 53) + 1),
            json!(u64::MAX),
            json!(-1),
            json!(true),
            json!([]),
            json!({}),
        ] {
            changes.push(json!({ name: unfit }));
        }
    }
    changes.push(json!({"iat": null}));
    each_refused(&changes).await;
    // as numbers that are greater than any integer type
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let then = now() + 600;
            let exp = format!("\"exp\":{then}");
            for text in ["99999999999999999999999", "1e400", "0x7fffffff", "01", "+1", "NaN"] {
                let claims = claims(&json!({ "exp": then }));
                let claims = claims.replace(&exp, &format!("\"exp\":{text}"));
                assert!(claims.contains(text), "{claims}");
                fixture.refuses(&kind.text(&kind.header(&json!({})), &claims)).await;
            }
        }
    })
    .await;
}

/// Turns red where the library's own leeway of a minute stands.
#[tokio::test]
async fn exp_is_past_by_a_second() {
    each_refused(&[json!({"exp": now() - 6}), json!({"exp": now() - 600}), json!({"exp": 0})])
        .await;
    let strict = || Auth { leeway_seconds: 0, ..Auth::default() };
    let expired = async |fixture: TokenFixture| {
        for kind in &fixture.kinds {
            fixture.takes(&kind.with_claims(&json!({}))).await;
            for past in [0, 1] {
                fixture.refuses(&kind.with_claims(&json!({"exp": now() - past}))).await;
            }
        }
    };
    expired(TokenFixture::keyed(strict()).await).await;
    let door = Door::set(|config| config.auth = strict()).await;
    expired(TokenFixture::open(vec![super::SECRET], door)).await;
}

#[tokio::test]
async fn nbf_or_iat_lies_ahead() {
    each_refused(&[
        json!({"nbf": now() + 60}),
        json!({"iat": now() + 60}),
        json!({"nbf": (1_u64 << 53) - 1}),
        json!({"iat": now() + 60, "nbf": now() + 60}),
    ])
    .await;
}

#[tokio::test]
async fn a_life_is_an_hour_at_most_and_ends_after_it_begins() {
    each_refused(&[
        json!({"exp": now() + 3700}),
        json!({"iat": now() - 3500}),
        json!({"iat": 0}),
        json!({"exp": now() - 1, "iat": now()}),
    ])
    .await;
}

#[tokio::test]
async fn iss_is_ours() {
    each_refused(&[
        json!({"iss": null}),
        json!({"iss": "other"}),
        json!({"iss": "Portage"}),
        json!({"iss": "portage/"}),
        json!({"iss": ""}),
        json!({"iss": 1}),
        json!({"iss": ["portage"]}),
        json!({"iss": ["portage", "x"]}),
        json!({"iss": {"portage": true}}),
    ])
    .await;
}

#[tokio::test]
async fn aud_is_us() {
    each_refused(&[
        json!({"aud": null}),
        json!({"aud": "other"}),
        json!({"aud": "PORTAGE"}),
        json!({"aud": ""}),
        json!({"aud": []}),
        json!({"aud": ["other"]}),
        json!({"aud": 1}),
        json!({"aud": {"portage": true}}),
    ])
    .await;
}

#[tokio::test]
async fn sub_is_a_text_that_a_log_can_hold() {
    each_refused(&[
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": 4001}),
        json!({"sub": ["4001"]}),
        json!({"sub": "a\nb"}),
        json!({"sub": "a\u{0}"}),
        // what nobody sees makes two persons of one
        json!({"sub": "mallory\u{200b}"}),
        json!({"sub": "mal\u{ad}lory"}),
        json!({"sub": "mallory\u{fe0f}"}),
        json!({"sub": "\u{202e}mallory"}),
        json!({"sub": "mallory "}),
        json!({"sub": "\u{a0}mallory"}),
        json!({"sub": "x".repeat(256)}),
        json!({"scope": ["admin", 5]}),
        json!({"scope": 5}),
        json!({"scope": {"admin": true}}),
    ])
    .await;
}

/// Turns red where the last of two equal names counts, as most readers have it.
#[tokio::test]
async fn a_claim_stands_there_once() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let good = claims(&json!({}));
            let exp = now() + 600;
            for first in [
                r#"{"sub":"4002","#.to_owned(),
                r#"{"sub":"4001","#.to_owned(),
                r#"{"scope":"admin","#.to_owned(),
                r#"{"aud":"portage","#.to_owned(),
                r#"{"s\u0075b":"4002","#.to_owned(),
                format!(r#"{{"exp":{exp},"#),
                r#"{"other":1,"other":1,"#.to_owned(),
                r#"{"other":{"a":1,"a":2},"#.to_owned(),
            ] {
                let twice = good.replacen('{', &first, 1);
                fixture.refuses(&kind.text(&kind.header(&json!({})), &twice)).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn claims_do_not_nest_deeply() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let good = claims(&json!({}));
            let header = kind.header(&json!({}));
            let nested = |deep: usize, open: &str, close: &str| {
                let inner = format!("{{\"x\":{}1{},", open.repeat(deep), close.repeat(deep));
                kind.text(&header, &good.replacen('{', &inner, 1))
            };
            fixture.takes(&nested(10, "[", "]")).await;
            for deep in [17, 100, 130, 500, 2000] {
                fixture.refuses(&nested(deep, "[", "]")).await;
            }
            for deep in [17, 100, 130, 800] {
                fixture.refuses(&nested(deep, "{\"x\":", "}")).await;
            }
            let text = format!("{}1{}", "[".repeat(500), "]".repeat(500));
            let message = format!("{}.{}", base64url(&text), base64url(&good));
            fixture.refuses(&format!("{message}.{}", kind.sign(&message))).await;
        }
    })
    .await;
}

#[tokio::test]
async fn claims_are_an_object() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            for text in ["[]", "null", "", "{", "1", "\"sub\"", "{} {}", "{\"sub\":\"4001\"}x"] {
                fixture.refuses(&kind.text(&kind.header(&json!({})), text)).await;
            }
        }
    })
    .await;
}
