//! Reads the body of a request: JSON, of limited size, with the fields of its form and no others.

use super::error::Refusal;
use crate::http::listener::connection_timeouts::ConnectionTimeouts;
use crate::json;
use api::user_id::UserIdText;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use kernel::code::Code;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use std::time::Duration;

/// The largest body of one request, in bytes.
pub const MOST: usize = 16 * 1024;
/// The largest body of a batch.
const MOST_OF_BATCH: usize = 1024 * 1024;
/// The most characters of a client's key.
pub const KEY: usize = 64;
/// How long a body may take to arrive where the connection does not say.
const WAIT: Duration = Duration::from_secs(5);
/// A sentence that repeats what was sent must not grow with it.
const SENTENCE: usize = 240;

/// A JSON body, not read yet.
#[derive(Debug, Clone)]
pub struct Body(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        if !is_json(request.headers()) {
            return Err(Refusal::of(Code::UnsupportedMediaType));
        }
        if is_encoded(request.headers()) {
            let sentence = "The body must come as it is, without `Content-Encoding`";
            return Err(Refusal::because(Code::UnsupportedMediaType, sentence));
        }
        let wait =
            request.extensions().get().map_or(WAIT, |timeouts: &ConnectionTimeouts| timeouts.body);
        let read = tokio::time::timeout(wait, Bytes::from_request(request, state)).await;
        match read {
            Ok(Ok(bytes)) => Ok(Self(bytes)),
            Ok(Err(BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(
                _,
            )))) => Err(Refusal::of(Code::PayloadTooLarge)),
            Ok(Err(_)) => Err(Refusal::bad("The body broke off")),
            Err(_) => Err(Refusal::bad("The body did not arrive in time")),
        }
    }
}

/// A JSON body that may be as large as a batch, not read yet.
#[derive(Debug, Clone)]
pub struct Large(pub Body);

impl<S: Send + Sync> FromRequest<S> for Large {
    type Rejection = Refusal;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Refusal> {
        DefaultBodyLimit::max(MOST_OF_BATCH).apply(&mut request);
        let read = Body::from_request(request, state).await;
        read.map(Self).map_err(|refusal| {
            if refusal.code == Code::PayloadTooLarge {
                return Refusal::because(refusal.code, "The body is above 1 MiB");
            }
            refusal
        })
    }
}

/// True for a body that is packed in some way: nothing here unpacks one.
fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().any(|coding| coding != "identity")
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (all.next(), all.next()) else { return false };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// A sentence that repeats what was sent, cut.
fn short(sentence: &str) -> String {
    sentence.chars().take(SENTENCE).collect()
}

impl Body {
    /// The body as a form whose type refuses unknown fields.
    ///
    /// # Errors
    /// 400 with the field that does not fit.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        // serde would take a list for a struct, field by field
        if !self.0.trim_ascii_start().starts_with(b"{") {
            return Err(Refusal::bad("The body must be a JSON object"));
        }
        let unread = |_| Refusal::bad(short(&fault::<T>(&self.0)));
        let form = serde_json::from_slice(&self.0).map_err(unread)?;
        // a form sees its own names, not those of what it keeps by name
        json::plain(&self.0).map_err(|fault| Refusal::bad(short(&fault.to_string())))?;
        Ok(form)
    }

    /// The user under a name, wherever the body can be read at all: for the check that comes
    /// before the form's.
    pub fn user(&self, name: &str) -> Option<UserIdText> {
        let body: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&self.0).ok()?;
        UserIdText::deserialize(body.get(name)?).ok()
    }

    /// As [`Body::user`], of every item of a list.
    pub fn users(&self, list: &str, name: &str) -> Vec<Option<UserIdText>> {
        let body: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&self.0).unwrap_or_default();
        let items = body.get(list).and_then(|items| items.as_array());
        let user = |item: &serde_json::Value| UserIdText::deserialize(item.get(name)?).ok();
        items.into_iter().flatten().map(user).collect()
    }
}

/// Why a JSON text is not of this form, with the field that does not fit: it is read again, slowly.
pub fn fault<T: DeserializeOwned>(text: &[u8]) -> String {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read: Result<T, _> = serde_path_to_error::deserialize(&mut reader);
    match read {
        Ok(_) => "The body goes on after its end".to_owned(),
        Err(fault) => {
            let (path, inner) = (fault.path().to_string(), plainly(fault.inner()));
            let named =
                ![".", "?"].contains(&path.as_str()) && !inner.contains(&format!("`{path}`"));
            if named { format!("field `{path}`: {inner}") } else { inner }
        }
    }
}

/// Why a text is not JSON of a form, without the reader's own words for its states.
fn plainly(fault: &serde_json::Error) -> String {
    let (line, column) = (fault.line(), fault.column());
    match fault.classify() {
        Category::Eof => format!("the text ends within its JSON, at line {line} column {column}"),
        Category::Syntax => format!("what is at line {line} column {column} is not JSON"),
        Category::Data | Category::Io => fault.to_string(),
    }
}

/// A client's own key: 1 to 64 visible ASCII characters.
///
/// # Errors
/// 400.
pub fn visible(name: &str, text: &str, most: usize) -> Result<(), Refusal> {
    if (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Refusal::bad(format!("field `{name}`: 1 to {most} visible ASCII characters")))
}

/// The header of a client's key, in its two spellings: the one of every create here, and the relay's source's.
const KEY_HEADERS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// The key that the header gives, of at most this many characters.
///
/// # Errors
/// 400: unfit, given twice, or both spellings given and different.
pub fn header_key(headers: &HeaderMap, most: usize) -> Result<Option<&str>, Refusal> {
    let unfit = || {
        let sentence =
            format!("header `Idempotency-Key`: once, with 1 to {most} visible ASCII characters");
        Refusal::bad(sentence)
    };
    let mut key = None;
    for name in KEY_HEADERS {
        let mut all = headers.get_all(name).iter();
        let text = match (all.next(), all.next()) {
            (None, _) => continue,
            (Some(value), None) => value.to_str().map_err(|_| unfit())?,
            (Some(_), Some(_)) => return Err(unfit()),
        };
        visible(name, text, most).map_err(|_| unfit())?;
        if key.is_some_and(|key| key != text) {
            return Err(Refusal::bad(
                "`Idempotency-Key` and `X-Idempotency-Key` are two spellings of one key; they differ",
            ));
        }
        key = Some(text);
    }
    Ok(key)
}

/// That no header gives a key, where each item of a batch has its own in this field.
///
/// # Errors
/// 400: a header gives one all the same.
pub fn no_header_key(headers: &HeaderMap, field: &str) -> Result<(), Refusal> {
    if KEY_HEADERS.iter().any(|name| headers.contains_key(*name)) {
        let sentence =
            format!("header `Idempotency-Key`: not here, each item has its own `{field}`");
        return Err(Refusal::bad(sentence));
    }
    Ok(())
}

/// The key of a create: the header and the field are two spellings of one.
///
/// # Errors
/// 400: unfit, given twice, or both given and different.
pub fn key(headers: &HeaderMap, field: Option<&str>) -> Result<Option<String>, Refusal> {
    let header = header_key(headers, KEY)?;
    if let Some(text) = field {
        visible("cid", text, KEY)?;
    }
    match (header, field) {
        (Some(header), Some(field)) if header != field => Err(Refusal::bad(
            "`Idempotency-Key` and `cid` are two spellings of one key; they differ",
        )),
        (Some(key), _) | (None, Some(key)) => Ok(Some(key.to_owned())),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Bytes, UserIdText, key};
    use axum::http::HeaderMap;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        amount: String,
        user_id: Option<UserIdText>,
    }

    fn read(text: &str) -> Result<Fields, String> {
        let body = Body(Bytes::copy_from_slice(text.as_bytes()));
        body.read::<Fields>().map_err(|refusal| refusal.sentence)
    }

    #[test]
    fn a_body_is_read_exactly() {
        let fields = read(" {\"amount\":\"1\",\"user_id\":null} ").unwrap();
        assert_eq!((fields.amount.as_str(), fields.user_id), ("1", None));
        let deep = format!("{{\"amount\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        let bad = [
            ("{\"amount\":1}", "field `amount`: invalid type: integer `1`, expected a string"),
            ("{\"amount\":1e2}", "amount"),
            ("{\"amount\":null}", "amount"),
            ("{\"amount\":\"1\",\"amount\":\"2\"}", "duplicate field `amount`"),
            ("{\"amount\":\"1\",\"state\":\"COMMITTED\"}", "unknown field `state`"),
            ("{\"user_id\":5}", "missing field `amount`"),
            ("{\"amount\":\"1\",\"user_id\":\"x\"}", "user_id"),
            ("{\"amount\":\"1\",\"user_id\":9007199254740992}", "send it as a string"),
            ("{\"amount\":\"1\",\"user_id\":5.0}", "user_id"),
            ("{\"amount\":\"1\",\"user_id\":-5}", "user_id"),
            ("{\"amount\":\"1\",\"user_id\":18446744073709551616}", "user_id"),
            ("{\"amount\":NaN}", "amount"),
            ("{\"amount\":\"\\ud800\"}", "amount"),
            ("{\"amount\":\"1\"} x", "after its end"),
            ("[\"1\",5]", "object"),
            ("\"text\"", "object"),
            ("", "object"),
            ("{", "the text ends within its JSON, at line 1 column 1"),
            ("{\"amount\":\"\\ud8", "field `amount`: the text ends"),
            ("{\"amount\":\"1\",}", "at line 1 column 15 is not JSON"),
            (&deep, "amount"),
        ];
        for (text, says) in bad {
            let sentence = read(text).unwrap_err();
            assert!(sentence.contains(says), "{text:.60}: {sentence}");
            assert!(sentence.len() <= 300);
        }
        assert!(Body(Bytes::from_static(b"{\"amount\":\"\xff\"}")).read::<Fields>().is_err());
    }

    /// Turns red where what a form keeps by name is held to nothing.
    #[test]
    fn what_a_form_keeps_by_name_is_plain_too() {
        #[derive(Debug, Deserialize)]
        struct Loose {
            kept: serde_json::Value,
        }
        let read = |text: &str| {
            let body = Body(Bytes::copy_from_slice(text.as_bytes()));
            body.read::<Loose>().map(|form| form.kept).map_err(|refusal| refusal.sentence)
        };
        assert_eq!(read(r#"{"kept":{"a":[1]}}"#).unwrap()["a"][0], 1);
        assert!(read(r#"{"kept":{"a":1,"a":2}}"#).unwrap_err().contains("duplicate field `a`"));
        assert!(read(r#"{"kept":[{"a":1,"b":{"c":1,"c":1}}]}"#).is_err());
        let deep = format!("{{\"kept\":{}{}}}", "[".repeat(16), "]".repeat(16));
        assert!(read(&deep).unwrap_err().contains("nested deeper than 16"));
        assert!(read(&deep.replacen('[', "", 1).replacen(']', "", 1)).is_ok());
    }

    #[test]
    fn one_key_in_two_spellings() {
        let with = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("Idempotency-Key", value.parse().unwrap());
            }
            headers
        };
        let one = Some("a".to_owned());
        assert_eq!(key(&with(&[]), None).unwrap(), None);
        assert_eq!(key(&with(&["a"]), None).unwrap(), one);
        assert_eq!(key(&with(&[]), Some("a")).unwrap(), one);
        assert_eq!(key(&with(&["a"]), Some("a")).unwrap(), one);
        assert!(key(&with(&["a"]), Some("b")).is_err());
        assert!(key(&with(&["a", "a"]), None).is_err());
        for unfit in ["", "a b", "é", "\u{7f}", &"x".repeat(65)] {
            assert!(key(&with(&[]), Some(unfit)).is_err(), "{unfit:?}");
        }
        assert!(key(&with(&["a b"]), None).is_err());
        // the other spelling of the header, alone and beside it
        let other = |mut headers: HeaderMap, value: &str| {
            headers.append("X-Idempotency-Key", value.parse().unwrap());
            headers
        };
        assert_eq!(key(&other(with(&[]), "a"), None).unwrap(), one);
        assert_eq!(key(&other(with(&["a"]), "a"), Some("a")).unwrap(), one);
        assert!(key(&other(with(&["a"]), "b"), None).is_err());
        assert!(key(&other(with(&[]), "a"), Some("b")).is_err());
    }
}
