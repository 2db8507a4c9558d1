//! Keys that change while the server runs: a file that is written anew, an address that is asked.

use crate::pairs::{ED, ES, Pair, RS, jwk, sign};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use serde_json::{Value, json};
use server::auth::keys::{KeySourceError, Keys, RefreshTimes};
use server::auth::source::Source;
use server::auth::verify::{Denied, KeyAge, Verifier};
use server::config::Auth;
use server::outbound_http::address;
use server::runtime::SystemClock;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use testkit::SkippingClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// The machine's time, and the ticks of a clock that skips: keys grow old, and the tokens of these tests do not.
#[derive(Default)]
struct Turned(SkippingClock);

impl Turned {
    fn turn(&self, ms: u64) {
        self.0.forward(ms);
    }
}

impl Clock for Turned {
    fn now(&self) -> Millis {
        SystemClock::default().now()
    }
    fn ticks(&self) -> u64 {
        self.0.ticks()
    }
    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        self.0.sleep(ms)
    }
}

/// A token of that key under that name.
fn token(pair: Pair, kid: &str) -> String {
    let now = SystemClock::default().now() / 1000;
    let header = json!({"alg": pair.alg, "typ": "at+jwt", "kid": kid});
    let claims = json!({
        "iss": "portage", "aud": "portage", "sub": "4001", "iat": now, "nbf": now, "exp": now + 60,
    });
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    format!("{message}.{}", sign(pair, &message))
}

fn set(keys: &[(Pair, &str)]) -> String {
    let keys: Vec<Value> = keys.iter().map(|(pair, kid)| jwk(*pair, kid)).collect();
    json!({ "keys": keys }).to_string()
}

/// A verifier over a file.
struct Filed {
    dir: TempDir,
    clock: Arc<Turned>,
    verifier: Verifier,
}

impl Filed {
    async fn with(text: &str) -> Result<Self, KeySourceError> {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("keys"), text).expect("a file");
        let clock = Arc::new(Turned::default());
        let file = Source::File(dir.path().join("keys"));
        let keys = Arc::new(Keys::open(file, RefreshTimes::FILE, clock.clone()).await?);
        let verifier = Verifier::over(&Auth::default(), keys, clock.clone());
        Ok(Self { dir, clock, verifier })
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("keys")
    }

    fn write(&self, text: &str) {
        std::fs::write(self.file(), text).expect("a file");
        self.clock.turn(60_000);
    }

    async fn takes(&self, pair: Pair, kid: &str) -> bool {
        self.verifier.check(&token(pair, kid), KeyAge::Fresh).await.is_ok()
    }
}

#[tokio::test]
async fn a_new_key_counts_and_an_old_one_no_longer() {
    let keys = Filed::with(&set(&[(ED, "a")])).await.expect("keys");
    assert!(keys.takes(ED, "a").await && !keys.takes(ES, "b").await);
    // a token that passed a moment ago, and is remembered
    let remembered = token(ED, "a");
    assert!(keys.verifier.check(&remembered, KeyAge::Fresh).await.is_ok());
    keys.write(&set(&[(ES, "b"), (RS, "c")]));
    assert!(keys.takes(ES, "b").await, "an unknown kid has the file read");
    assert!(keys.takes(RS, "c").await);
    assert_eq!(
        keys.verifier.check(&remembered, KeyAge::Fresh).await.err(),
        Some(Denied::Because("an unknown key"))
    );
}

/// Turns red where a set that cannot be trusted takes the place of a good one.
#[tokio::test]
async fn the_last_good_set_is_kept() {
    let keys = Filed::with(&set(&[(ED, "a")])).await.expect("keys");
    let mut private = jwk(ES, "b");
    private["d"] = json!("AAAA");
    for text in [
        String::new(),
        "<html>".to_owned(),
        set(&[]),
        json!({"keys": [private]}).to_string(),
        set(&[(ES, "b"), (RS, "b")]),
        // a name whose key is now of another algorithm
        set(&[(ES, "a"), (ES, "b")]),
    ] {
        keys.write(&text);
        assert!(!keys.takes(ES, "b").await, "{text}");
        assert!(keys.takes(ED, "a").await, "{text}");
    }
    std::fs::remove_file(keys.file()).expect("it goes");
    keys.clock.turn(60_000);
    assert!(!keys.takes(ES, "b").await && keys.takes(ED, "a").await);
    keys.write(&set(&[(ES, "b")]));
    assert!(keys.takes(ES, "b").await && !keys.takes(ED, "a").await);
}

/// Turns red where the last good set counts for ever, or for a token that passed a moment ago.
#[tokio::test]
async fn a_set_that_is_not_read_again_checks_no_token_after_a_day() {
    let keys = Filed::with(&set(&[(ED, "a")])).await.expect("keys");
    std::fs::remove_file(keys.file()).expect("it goes");
    keys.clock.turn(86_399_000);
    let remembered = token(ED, "a");
    assert!(keys.verifier.check(&remembered, KeyAge::Fresh).await.is_ok());
    keys.clock.turn(1_000);
    for token in [remembered, token(ED, "a"), token(ES, "b")] {
        assert_eq!(keys.verifier.check(&token, KeyAge::Fresh).await.err(), Some(Denied::Stale));
    }
    // for reads and HALT the last good set still counts, for the keys that it has
    let old = async |token: &str| keys.verifier.check(token, KeyAge::Any).await;
    assert!(old(&token(ED, "a")).await.is_ok());
    assert_eq!(old(&token(ES, "b")).await.err(), Some(Denied::Stale));
    assert!(matches!(old("no token").await.err(), Some(Denied::Because(_))));
    let none = keys.verifier.check("no token", KeyAge::Fresh).await.err();
    assert!(matches!(none, Some(Denied::Because(_))), "{none:?}");
}

/// Turns red where a name is free again once its key left the set.
#[tokio::test]
async fn a_kid_keeps_its_algorithm_for_good() {
    let keys = Filed::with(&set(&[(ED, "a")])).await.expect("keys");
    keys.write(&set(&[(ES, "b")]));
    assert!(keys.takes(ES, "b").await);
    keys.write(&set(&[(RS, "a"), (ES, "b"), (RS, "c")]));
    assert!(!keys.takes(RS, "a").await && !keys.takes(RS, "c").await && keys.takes(ES, "b").await);
    keys.write(&set(&[(ED, "a"), (RS, "c")]));
    assert!(keys.takes(ED, "a").await && keys.takes(RS, "c").await);
}

#[tokio::test]
async fn what_is_no_set_does_not_start() {
    let mut secret = jwk(ED, "a");
    secret["d"] = json!("AAAA");
    for (text, says) in [
        (String::new(), "EOF"),
        (set(&[]), "no key"),
        (json!({"keys": [secret]}).to_string(), "private key"),
        (json!({"keys": [{"kty": "oct", "k": "AAAA", "kid": "a"}]}).to_string(), "symmetric"),
        (set(&[(ED, "a"), (ES, "a")]), "twice"),
        (" ".repeat(70_000), "64 KiB"),
    ] {
        match Filed::with(&text).await {
            Err(KeySourceError::Unfit(what)) => assert!(what.contains(says), "{what}"),
            other => panic!("{text:.80}: {}", other.is_ok()),
        }
    }
    let nowhere = Source::File("/nowhere/keys.json".into());
    let opened = Keys::open(nowhere, RefreshTimes::FILE, Arc::new(Turned::default())).await;
    assert!(
        matches!(opened, Err(KeySourceError::Unfit(what)) if what.contains("/nowhere/keys.json"))
    );
}

/// A server of one document that counts how often it is asked.
struct Issuer {
    at: SocketAddr,
    asked: Arc<AtomicUsize>,
    answer: Arc<Mutex<String>>,
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

impl Issuer {
    async fn answering(answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("its number");
        let (asked, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(answer)));
        let (count, said) = (asked.clone(), answer.clone());
        server::runtime::beside(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = [0; 2048];
                let _read = stream.read(&mut head).await;
                count.fetch_add(1, Ordering::SeqCst);
                let answer = said.lock().expect("no test panics here").clone();
                let _sent = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { at, asked, answer }
    }

    fn says(&self, answer: String) {
        *self.answer.lock().expect("no test panics here") = answer;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    async fn keys(&self, clock: &Arc<Turned>) -> Result<Arc<Keys>, KeySourceError> {
        let url = address(&format!("http://{}/keys", self.at)).expect("an address");
        let source = Source::url(url).expect("a source");
        Ok(Arc::new(Keys::open(source, RefreshTimes::url(300_000), clock.clone()).await?))
    }
}

/// Turns red where anybody can have the issuer asked as often as they like, and where a crowd that
/// waits for one new key asks as a crowd.
#[tokio::test]
async fn an_unknown_kid_asks_once_in_a_while_for_all_who_wait() {
    let issuer = Issuer::answering(ok(&set(&[(ED, "a")]))).await;
    let clock = Arc::new(Turned::default());
    let keys = issuer.keys(&clock).await.expect("keys");
    let verifier = Arc::new(Verifier::over(&Auth::default(), keys, clock.clone()));
    assert_eq!(issuer.asked(), 1);
    for n in 0..20 {
        let unknown = token(ES, &format!("b{n}"));
        assert_eq!(
            verifier.check(&unknown, KeyAge::Fresh).await.err(),
            Some(Denied::Because("an unknown key"))
        );
    }
    assert_eq!(issuer.asked(), 1, "just asked");
    clock.turn(10_000);
    issuer.says(ok(&set(&[(ED, "a"), (ES, "b")])));
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..50 {
        let (verifier, tell) = (verifier.clone(), tell.clone());
        server::runtime::beside(async move {
            let taken = verifier.check(&token(ES, "b"), KeyAge::Fresh).await.is_ok();
            tell.send(taken).expect("the test counts");
        });
    }
    for _ in 0..50 {
        assert_eq!(told.recv().await, Some(true));
    }
    assert_eq!(issuer.asked(), 2, "one for all");
    for n in 0..20 {
        clock.turn(400);
        assert!(verifier.check(&token(RS, &format!("c{n}")), KeyAge::Fresh).await.is_err());
    }
    assert_eq!(issuer.asked(), 2);
    clock.turn(10_000);
    assert!(verifier.check(&token(RS, "c"), KeyAge::Fresh).await.is_err());
    assert_eq!(issuer.asked(), 3);
    // a token that is refused anyhow asks nobody
    clock.turn(60_000);
    for header in [
        json!({"alg": "none", "typ": "at+jwt", "kid": "new"}),
        json!({"alg": "ES256", "typ": "id+jwt", "kid": "new"}),
        json!({"alg": "ES256", "typ": "at+jwt", "kid": "new", "jku": "https://evil.example"}),
    ] {
        let bad = format!("{}.e30.AA", URL_SAFE_NO_PAD.encode(header.to_string()));
        assert!(verifier.check(&bad, KeyAge::Fresh).await.is_err());
    }
    assert_eq!(issuer.asked(), 3);
}

/// Turns red where a proxy's page, a redirect or a flood is taken for keys, or drops the good ones.
#[tokio::test]
async fn only_a_plain_small_answer_counts() {
    let good = set(&[(ES, "b")]);
    let elsewhere = Issuer::answering(ok(&good)).await;
    let issuer = Issuer::answering(ok(&set(&[(ED, "a")]))).await;
    let clock = Arc::new(Turned::default());
    let keys = issuer.keys(&clock).await.expect("keys");
    let verifier = Verifier::over(&Auth::default(), keys, clock.clone());
    let head = |status: &str| {
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", good.len())
    };
    for answer in [
        format!(
            "HTTP/1.1 302 Found\r\nlocation: http://{}/keys\r\ncontent-length: 0\r\n\r\n",
            elsewhere.at
        ),
        format!("{}{good}", head("500 Broken")),
        format!("{}{good}", head("203 Changed")),
        format!("{}{good}", head("404 None")),
        ok(&format!("{good}{}", " ".repeat(70_000))),
        format!("HTTP/1.1 200 OK\r\ncontent-length: 90000\r\n\r\n{good}"),
        ok("<html>sign in</html>"),
        "garbage".to_owned(),
        String::new(),
    ] {
        issuer.says(answer.clone());
        clock.turn(60_000);
        assert!(verifier.check(&token(ES, "b"), KeyAge::Fresh).await.is_err(), "{answer:.60}");
        assert!(verifier.check(&token(ED, "a"), KeyAge::Fresh).await.is_ok(), "{answer:.60}");
    }
    assert_eq!(elsewhere.asked(), 0, "a redirect is not followed");
    issuer.says(ok(&good));
    clock.turn(60_000);
    assert!(verifier.check(&token(ES, "b"), KeyAge::Fresh).await.is_ok());
}

/// Turns red where a key that was taken back counts until a token names an unknown one.
#[tokio::test]
async fn the_address_is_asked_from_time_to_time() {
    let issuer = Issuer::answering(ok(&set(&[(ED, "a"), (ES, "b")]))).await;
    let clock = Arc::new(Turned::default());
    let keys = issuer.keys(&clock).await.expect("keys");
    let verifier = Verifier::over(&Auth::default(), keys.clone(), clock.clone());
    let old = token(ED, "a");
    assert!(verifier.check(&old, KeyAge::Fresh).await.is_ok());
    issuer.says(ok(&set(&[(ES, "b")])));
    server::runtime::beside(keys.watch(|_| ()));
    while verifier.check(&old, KeyAge::Fresh).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(verifier.check(&token(ES, "b"), KeyAge::Fresh).await.is_ok());
}

#[tokio::test]
async fn no_key_server_answers_at_the_start() {
    let clock = Arc::new(Turned::default());
    let issuer = Issuer {
        at: "127.0.0.1:9".parse().expect("an address"),
        ..Issuer::answering(String::new()).await
    };
    assert!(matches!(issuer.keys(&clock).await, Err(KeySourceError::Unreachable(_))));
    let tried = clock.ticks() / 1_000_000;
    assert!((5_000..10_000).contains(&tried), "it waits a little: {tried}");
    let unfit = Issuer::answering(ok("{}")).await;
    assert!(matches!(unfit.keys(&clock).await, Err(KeySourceError::Unfit(_))));
}
