//! Keys that sign tokens in tests, two of each kind, and beside them two authorities with a server each
//! (for localhost, 2020 to 2120). They were made for these tests and are used nowhere else.

use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    /// What the header of its tokens says.
    pub(crate) alg: &'static str,
    algorithm: Algorithm,
    private: &'static [u8],
    other: &'static [u8],
    key: fn(&[u8]) -> EncodingKey,
    public: &'static [(&'static str, &'static str)],
}

pub(crate) const ED: Pair = Pair {
    alg: "EdDSA",
    algorithm: Algorithm::EdDSA,
    private: include_bytes!("ed25519.der"),
    other: include_bytes!("ed25519-other.der"),
    key: EncodingKey::from_ed_der,
    public: &[
        ("kty", "OKP"),
        ("crv", "Ed25519"),
        ("x", "pcRbeHSqQ6fm4PW8Sfema7hOtjesTmC8EGxaCEK9Wi8"),
    ],
};

pub(crate) const ES: Pair = Pair {
    alg: "ES256",
    algorithm: Algorithm::ES256,
    private: include_bytes!("es256.der"),
    other: include_bytes!("es256-other.der"),
    key: EncodingKey::from_ec_der,
    public: &[
        ("kty", "EC"),
        ("crv", "P-256"),
        ("x", "iK1Q2p-I4anvkfPfttN2AqquS3O10tVSBGjdlIc_rEk"),
        ("y", "43zvTtAY3frBKtMgdflA187OrhG4jpOekkFzX2Un18o"),
    ],
};

pub(crate) const RS: Pair = Pair {
    alg: "RS256",
    algorithm: Algorithm::RS256,
    private: include_bytes!("rsa.der"),
    other: include_bytes!("rsa-other.der"),
    key: EncodingKey::from_rsa_der,
    public: &[
        ("kty", "RSA"),
        ("e", "AQAB"),
        (
            "n",
            "rG7m2k7Vn1zjTzgbvQc6hKdS16m9IO8fjVLVC-KU_WGG8d-MDTVTEwKn8eurOqYEOEDMn-ogrAlD6s1D\
             vxTMeP_KCuTejzYCAn-IOxF394tCjk2kIcR5MZxmAoDog-tcp2GnaJ4s0Ux8toHtgI0GTkCcY-z2x_xK\
             GnFdaZDtDvSLdCWbjJQnsVZdJ5ik2fZnVuw8SmogJCA8jJ0wYxFaXW9njRZ1ZUvg5DSPNiTp0x2GPgZm\
             e-WR0nj_9GvE6oW2h9VcuQtVdlP1u823Xg8s91S26k4tYVgB5ZlL-WEprNpQHixeD0aKvHTscgG1tjsN1z6WJRCwhGgQbKXdvcNmTw",
        ),
    ],
};

/// Another key of the same kind, whose public half is not known.
pub(crate) const fn other(pair: Pair) -> Pair {
    Pair { private: pair.other, ..pair }
}

/// The public half as it stands in a set of keys.
pub(crate) fn jwk(pair: Pair, kid: &str) -> Value {
    let mut jwk = json!({ "kid": kid });
    for (name, value) in pair.public {
        jwk[*name] = json!(value);
    }
    jwk
}

/// The third part of a token.
pub(crate) fn sign(pair: Pair, message: &str) -> String {
    let key = (pair.key)(pair.private);
    let signed = jsonwebtoken::crypto::sign(message.as_bytes(), &key, pair.algorithm);
    signed.expect("a signature")
}
