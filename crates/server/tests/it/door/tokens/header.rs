//! What a header must not say.

use super::{KINDS, SECRET, Signer, TokenFixture, base64url, claims, hs256};
use crate::pairs::{ED, RS, jwk};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

#[tokio::test]
async fn no_algorithm_however_it_is_spelled() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            fixture.takes(&kind.with_header(&json!({}))).await;
            for alg in ["none", "nOnE", "NONE", "None", "", " ", "null", "HS", "hs256", "eddsa"] {
                let signed = kind.with_header(&json!({ "alg": alg }));
                fixture.refuses(&signed).await;
                let (message, _) = signed.rsplit_once('.').expect("three parts");
                fixture.refuses(&format!("{message}.")).await;
            }
            for alg in [json!(null), json!(1), json!([kind.alg()]), json!({"alg": "none"})] {
                fixture.refuses(&kind.with_header(&json!({ "alg": alg }))).await;
            }
        }
    })
    .await;
}

/// Turns red where the algorithm is taken from the token: the public key is public.
#[tokio::test]
async fn a_public_key_is_no_secret() {
    TokenFixture::each(async |fixture| {
        for (kind, pair) in KINDS.iter().zip([ED, super::ES, RS]) {
            let public = jwk(pair, "x");
            let mut texts = vec![public.to_string().into_bytes()];
            for name in ["n", "x", "y"] {
                if let Some(text) = public[name].as_str() {
                    texts.push(text.as_bytes().to_vec());
                    texts.push(URL_SAFE_NO_PAD.decode(text).expect("base64"));
                }
            }
            for kid in [kind.kid, None] {
                for secret in &texts {
                    let header = json!({"alg": "HS256", "typ": "at+jwt", "kid": kid});
                    let header = super::changed(header, &json!({})).to_string();
                    let claims = claims(&json!({}));
                    let message = format!("{}.{}", base64url(&header), base64url(&claims));
                    fixture.refuses(&format!("{message}.{}", hs256(&message, secret))).await;
                }
            }
        }
    })
    .await;
}

/// Turns red where a key checks tokens of any algorithm, or where any key of the set will do.
#[tokio::test]
async fn a_key_has_one_algorithm_and_a_kid_one_key() {
    TokenFixture::each(async |fixture| {
        for kind in KINDS.into_iter().chain([SECRET]) {
            for alg in ["EdDSA", "ES256", "RS256", "HS256", "RS512", "PS256", "ES384", "HS512"] {
                if alg != kind.alg() {
                    fixture.refuses(&kind.with_header(&json!({ "alg": alg }))).await;
                }
            }
            for kid in ["a", "b", "c"] {
                if kind.kid != Some(kid) {
                    fixture.refuses(&kind.with_header(&json!({ "kid": kid }))).await;
                }
            }
        }
        // a set of several keys says nothing about which one an unnamed token means
        if fixture.kinds.len() > 1 {
            for kind in KINDS {
                fixture.refuses(&kind.with_header(&json!({"kid": null}))).await;
            }
        }
    })
    .await;
}

/// Turns red where a kid is a path, a query or an address to anybody.
#[tokio::test]
async fn a_kid_is_a_name_and_nothing_more() {
    let long = "k".repeat(4000);
    let kids = [
        json!("unknown"),
        json!("../../../../dev/null"),
        json!("/dev/null"),
        json!("keys.json"),
        json!("a' OR '1'='1"),
        json!("a'; DROP TABLE transfers; --"),
        json!("http://evil.example/keys.json"),
        json!("file:///etc/passwd"),
        json!("| whoami"),
        json!("a\u{0}"),
        json!("a "),
        json!("A"),
        json!(""),
        json!(long),
        json!(0),
        json!(["a"]),
        json!({"kid": "a"}),
        json!(true),
    ];
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            for kid in &kids {
                fixture.refuses(&kind.with_header(&json!({ "kid": kid }))).await;
                // what a read of /dev/null or of nothing would give as the secret
                let header = json!({"alg": "HS256", "typ": "at+jwt", "kid": kid}).to_string();
                let message = format!("{}.{}", base64url(&header), base64url(&claims(&json!({}))));
                fixture.refuses(&format!("{message}.{}", hs256(&message, b""))).await;
            }
        }
    })
    .await;
}

/// Turns red where a token may bring its own key, or say where one lies.
#[tokio::test]
async fn a_header_brings_no_key_and_no_address_of_one() {
    let members = |public: Value| {
        [
            json!({"jku": "http://127.0.0.1:1/keys.json"}),
            json!({"jku": "https://evil.example/keys.json"}),
            json!({"x5u": "https://evil.example/cert.pem"}),
            json!({"x5c": ["MIIB"]}),
            json!({"jwk": public}),
        ]
    };
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let public = match kind.signer {
                Signer::Pair(pair) => jwk(pair, "mine"),
                Signer::Secret(key) => json!({"kty": "oct", "k": String::from_utf8_lossy(key)}),
            };
            for member in members(public) {
                // even where the signature is good
                fixture.refuses(&kind.with_header(&member)).await;
                fixture.refuses(&kind.stranger().with_header(&member)).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_extension_that_changes_what_is_signed_is_refused() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            for member in [
                json!({"crit": ["b64"], "b64": false}),
                json!({"crit": ["exp"], "exp": 1}),
                json!({"crit": []}),
                json!({"b64": false}),
                json!({"b64": true}),
                json!({"zip": "DEF"}),
                json!({"enc": "A128GCM"}),
            ] {
                fixture.refuses(&kind.with_header(&member)).await;
            }
            // b64=false as RFC 7797 would sign it: the claims as they are
            let header = kind.header(&json!({"crit": ["b64"], "b64": false}));
            let message = format!("{}.{}", base64url(&header), claims(&json!({})));
            fixture.refuses(&format!("{message}.{}", kind.sign(&message))).await;
        }
    })
    .await;
}

/// What identity providers put into headers and no rule needs. Turns red where their tokens are refused.
#[tokio::test]
async fn a_member_that_says_nothing_is_passed_over() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            for member in [
                json!({"x5t": "AAAA"}),
                json!({"x5t#S256": "AAAA"}),
                json!({"cty": "JWT"}),
                json!({"nonce": "x"}),
                json!({"other": 1}),
                json!({"typ": "JWT"}),
                json!({"typ": "jwt"}),
                json!({"typ": "AT+JWT"}),
                json!({"typ": "application/at+jwt"}),
            ] {
                fixture.takes(&kind.with_header(&member)).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn another_type_of_token_is_not_for_us() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            for typ in [
                json!(null),
                json!("id+jwt"),
                json!("application/id+jwt"),
                json!("id_token"),
                json!("rt+jwt"),
                json!("refresh"),
                json!("logout+jwt"),
                json!("dpop+jwt"),
                json!("at+jwt "),
                json!(""),
                json!(["at+jwt"]),
            ] {
                fixture.refuses(&kind.with_header(&json!({ "typ": typ }))).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_member_of_the_header_stands_there_once() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let good = kind.header(&json!({}));
            let alg = kind.alg();
            for first in [
                format!(r#"{{"alg":"{alg}","#),
                r#"{"alg":"none","#.to_owned(),
                r#"{"typ":"at+jwt","#.to_owned(),
                r#"{"kid":"z","kid":"z","#.to_owned(),
            ] {
                let twice = good.replacen('{', &first, 1);
                fixture.refuses(&kind.text(&twice, &claims(&json!({})))).await;
            }
            for text in ["", "null", "[]", "1", "\"x\"", "{", "not json", "{}"] {
                fixture.refuses(&kind.text(text, &claims(&json!({})))).await;
            }
        }
    })
    .await;
}
