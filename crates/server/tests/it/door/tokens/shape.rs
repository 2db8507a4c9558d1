//! What a token looks like on the wire, and where it stands.

use super::{Kind, TokenFixture, base64url, claims};
use crate::door::{CREATE, transfer};
use axum::body::Body;
use axum::http::{Request, header};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::json;

fn good(kind: Kind) -> String {
    kind.with_claims(&json!({}))
}

fn cut(token: &str) -> (&str, &str) {
    token.rsplit_once('.').expect("three parts")
}

#[tokio::test]
async fn the_third_part_is_signed() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let token = good(*kind);
            fixture.takes(&token).await;
            let (message, signature) = cut(&token);
            let zeros = URL_SAFE_NO_PAD.encode(vec![0; signature.len() * 3 / 4]);
            for bad in [
                message.to_owned(),
                format!("{message}."),
                format!("{message}.{zeros}"),
                format!("{message}.{}", base64url("signature")),
                format!("{message}.{}", &signature[..signature.len() - 4]),
                format!("{message}.{signature}AAAA"),
                format!("{message}..{signature}"),
                format!("{token}."),
                format!("{token}.{signature}"),
                format!(".{token}"),
                format!("{}.{signature}", message.replacen('.', "", 1)),
                message.split('.').next().unwrap_or_default().to_owned(),
                "..".to_owned(),
                ".".to_owned(),
                "a.b.c".to_owned(),
                "null".to_owned(),
                kind.stranger().with_claims(&json!({})),
            ] {
                fixture.refuses(&bad).await;
            }
        }
    })
    .await;
}

/// Turns red where a part of a signature is not looked at.
#[tokio::test]
async fn one_bit_of_a_signature_is_another() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let token = good(*kind);
            let (message, signature) = cut(&token);
            let bytes = URL_SAFE_NO_PAD.decode(signature).expect("base64");
            // each byte more than once; every bit where the signature is short
            let step = if bytes.len() > 64 { 9 } else { bytes.len() / 24 };
            for bit in (0..bytes.len() * 8).step_by(step) {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                fixture.refuses(&format!("{message}.{}", URL_SAFE_NO_PAD.encode(flipped))).await;
            }
        }
    })
    .await;
}

/// Turns red where the signature does not cover what is read.
#[tokio::test]
async fn another_header_or_another_claim_needs_another_signature() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let token = good(*kind);
            let (message, signature) = cut(&token);
            let (header, _) = message.split_once('.').expect("two parts");
            for changes in [json!({"sub": "4002"}), json!({"scope": "admin"}), json!({"jti": "x"})]
            {
                let forged = base64url(&claims(&changes));
                fixture.refuses(&format!("{header}.{forged}.{signature}")).await;
            }
            let spaced = base64url(&kind.header(&json!({})).replace(':', ": "));
            let rest = message.split_once('.').expect("two parts").1;
            fixture.refuses(&format!("{spaced}.{rest}.{signature}")).await;
        }
    })
    .await;
}

/// Turns red where two texts are one token: a memory or a block list by text would miss one.
#[tokio::test]
async fn base64_has_one_spelling() {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let token = good(*kind);
            let (message, signature) = cut(&token);
            // bits of the last letter that carry nothing
            let (head, last) = signature.split_at(signature.len() - 1);
            let place = ALPHABET.find(last).expect("a letter");
            let free = match signature.len() % 4 {
                2 => 16,
                3 => 4,
                _ => 1,
            };
            for more in 1..free {
                let letter = &ALPHABET[place ^ more..=place ^ more];
                fixture.refuses(&format!("{message}.{head}{letter}")).await;
            }
            let bytes = URL_SAFE_NO_PAD.decode(signature).expect("base64");
            for spelled in [
                URL_SAFE.encode(&bytes),
                STANDARD.encode(&bytes),
                format!("{signature}="),
                format!("{signature}=="),
                format!("{head}%3D"),
                format!("{signature} "),
                format!(" {signature}"),
                format!("{head}\t{last}"),
            ] {
                if spelled != signature {
                    fixture.refuses(&format!("{message}.{spelled}")).await;
                }
            }
            // the same in a part that the signature covers, signed as it is spelled
            let (header, body) = message.split_once('.').expect("two parts");
            for message in [
                format!("{header}=.{body}"),
                format!("{header}.{body}="),
                format!("{header}.{body}=="),
                format!("{header}.+{body}"),
                format!("{header}. {body}"),
            ] {
                fixture.refuses(&format!("{message}.{}", kind.sign(&message))).await;
            }
        }
    })
    .await;
}

/// Turns red where the length is looked at after the signature, or not at all.
#[tokio::test]
async fn a_token_has_eight_kibibytes_at_most() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            fixture.takes(&kind.with_claims(&json!({"pad": "x".repeat(5000)}))).await;
            for size in [6200, 9000, 100_000] {
                let token = kind.with_claims(&json!({"pad": "x".repeat(size)}));
                assert!(token.len() > 8192);
                fixture.refuses(&token).await;
            }
        }
        fixture.refuses(&"a".repeat(8193)).await;
    })
    .await;
}

#[tokio::test]
async fn a_token_is_shown_once() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let token = good(*kind);
            let bearer = format!("Bearer {token}");
            let both = [("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
            fixture.refuses_headers(&both, &token).await;
            let stranger = format!("Bearer {}", good(kind.stranger()));
            let both = [("authorization", bearer.as_str()), ("authorization", stranger.as_str())];
            fixture.refuses_headers(&both, &token).await;
            for value in [
                token.clone(),
                format!("Basic {token}"),
                format!("Bearer  {token}"),
                format!("Bearer {token}, Bearer {token}"),
                format!("Bearer {token} x"),
                format!("Bearer\t{token}"),
                "Bearer".to_owned(),
                "Bearer ".to_owned(),
            ] {
                fixture.refuses_headers(&[("authorization", &value)], &token).await;
            }
        }
    })
    .await;
}

/// Turns red where a token is taken from where it lies in logs and histories.
#[tokio::test]
async fn a_token_stands_in_no_other_place() {
    TokenFixture::each(async |fixture| {
        for kind in &fixture.kinds {
            let token = good(*kind);
            for name in ["x-authorization", "proxy-authorization", "x-access-token", "cookie"] {
                let value = match name {
                    "cookie" => format!("token={token}; access_token={token}"),
                    _ => format!("Bearer {token}"),
                };
                fixture.refuses_headers(&[(name, &value)], &token).await;
            }
            for query in ["access_token", "token", "authorization", "jwt"] {
                let request = Request::post(format!("{CREATE}?{query}={token}"))
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(Body::from(transfer("1", "k").to_string()));
                let reply = fixture.door.send(request.expect("a request")).await;
                assert_eq!((reply.status, reply.code()), (401, "UNAUTHORIZED"), "{query}");
            }
            let mut body = transfer("1", "k");
            body["access_token"] = json!(token);
            let request = Request::post(CREATE)
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(body.to_string()));
            let reply = fixture.door.send(request.expect("a request")).await;
            assert_eq!((reply.status, reply.code()), (401, "UNAUTHORIZED"));
        }
        assert_eq!(fixture.door.rows().await, 0);
    })
    .await;
}
