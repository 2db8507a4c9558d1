//! Holds the keys that currently verify tokens, and decides when their source is read again.

use super::jwks::KeySet;
use super::source::Source;
use jsonwebtoken::Algorithm;
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;

/// The intervals at which the source is read.
#[derive(Debug, Clone, Copy)]
pub struct RefreshTimes {
    /// In the normal course.
    pub every_ms: Millis,
    /// After a reading that failed.
    pub failed_ms: Millis,
    /// A token that names an unknown key has the source read at once, but not sooner after the last
    /// time than this: any stranger can send such tokens.
    pub gap_ms: Millis,
    /// How long the first reading is tried.
    pub start_ms: Millis,
    /// A set that was not read again for this time checks no token any more.
    pub stale_ms: Millis,
}

impl RefreshTimes {
    /// A file costs nothing to read, and reading it waits for no server.
    pub const FILE: Self =
        Self { every_ms: 5_000, failed_ms: 5_000, gap_ms: 1_000, start_ms: 0, stale_ms: STALE_MS };

    /// The times for an address that is read at this interval.
    pub const fn url(every_ms: Millis) -> Self {
        let failed_ms = if every_ms < 30_000 { every_ms } else { 30_000 };
        Self { every_ms, failed_ms, gap_ms: 10_000, start_ms: 5_000, stale_ms: STALE_MS }
    }

    /// The same with another end of a set that cannot be read again.
    #[must_use]
    pub const fn stale_after(self, stale_ms: Millis) -> Self {
        Self { stale_ms, ..self }
    }
}

/// The default of `auth.jwks_max_stale_seconds`: a day.
const STALE_MS: Millis = 86_400_000;
/// Between two tries of the first reading.
const RETRY_MS: Millis = 500;
/// The most key names whose algorithm is remembered.
const PINS: usize = 4_096;
const NANOS: u64 = 1_000_000;

/// The reason why there are no keys at the start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeySourceError {
    /// The source cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The document is no valid set of keys.
    #[error("{0}")]
    Unfit(String),
}

/// A set, and which one it is of all that there were.
#[derive(Debug)]
pub(super) struct Current {
    pub set: KeySet,
    pub generation: u64,
}

/// The keys that check tokens. The last good set counts until a better one was read, and at most for the time
/// [`RefreshTimes::stale_ms`]: a key that its owner took out of the set must not stay valid only because the set
/// cannot be read.
pub struct Keys {
    current: RwLock<Arc<Current>>,
    /// The time of the last good reading in ticks: the monotonic clock, which cannot be set back.
    good: AtomicU64,
    /// One reads at a time; who waits finds the work done.
    reading: Mutex<Reading>,
    source: Option<Source>,
    times: RefreshTimes,
    clock: Arc<dyn Clock>,
}

/// The state of earlier readings.
#[derive(Debug, Default)]
struct Reading {
    text: Vec<u8>,
    /// The time of the last reading, in ticks of the clock.
    last: u64,
    /// Said once, not at every try.
    fault: Option<String>,
    /// The algorithm of each key name when it was first seen.
    pins: BTreeMap<String, Algorithm>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Keys {
    /// The development key, which never changes.
    pub fn secret(key: &[u8], clock: Arc<dyn Clock>) -> Self {
        let current = Current { set: KeySet::secret(key), generation: 0 };
        Self {
            current: RwLock::new(Arc::new(current)),
            good: AtomicU64::default(),
            reading: Mutex::default(),
            source: None,
            times: RefreshTimes::FILE,
            clock,
        }
    }

    /// The set of a source.
    ///
    /// # Errors
    /// It cannot be had, or not be trusted.
    pub async fn open(
        source: Source,
        times: RefreshTimes,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KeySourceError> {
        let asked = clock.ticks();
        let text = first(&source, times, &*clock).await?;
        let set = KeySet::read(&text)
            .map_err(|fault| KeySourceError::Unfit(format!("{source}: {fault}")))?;
        tracing::info!(keys = set.len(), "{source}: these keys check tokens");
        let mut reading = Reading { text, last: clock.ticks(), ..Reading::default() };
        // the first set has nothing to contradict
        reading.pin(&set).unwrap_or_default();
        let current = Current { set, generation: 0 };
        Ok(Self {
            current: RwLock::new(Arc::new(current)),
            good: AtomicU64::new(asked),
            reading: Mutex::new(reading),
            source: Some(source),
            times,
            clock,
        })
    }

    /// The keys that count now.
    pub(super) fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long ago a good set was read last; a secret for development is always new.
    fn age_ms(&self) -> Millis {
        if self.source.is_none() {
            return 0;
        }
        self.clock.ticks().saturating_sub(self.good.load(Ordering::Acquire)) / NANOS
    }

    /// True where the set is too old to check a token.
    pub(crate) fn stale(&self) -> bool {
        self.age_ms() >= self.times.stale_ms
    }

    /// True where the set is on the way there: not read again for half of that time.
    fn aging(&self) -> bool {
        self.age_ms() >= self.times.stale_ms / 2
    }

    /// Whether the set is read again in time; `None` for a secret, which is never read again.
    pub(crate) fn connected(&self) -> Option<bool> {
        self.source.as_ref().map(|_| !self.aging())
    }

    /// The facts of the case for a set that is soon too old, or already is.
    fn trouble(&self, fault: Option<&str>) -> Option<Arc<str>> {
        let source = self.source.as_ref().filter(|_| self.aging())?;
        let (age, most) = (self.age_ms() / 1000, self.times.stale_ms / 1000);
        let then = if self.stale() {
            "no token is taken until it is read again".to_owned()
        } else {
            format!("at {most} s (auth.jwks_max_stale_seconds) no token is taken any more")
        };
        let why = fault.unwrap_or("not asked yet");
        Some(format!("{source}: no good set was read for {age} s ({why}); {then}").into())
    }

    /// A token names a key that was unknown to the set of that generation: reads the source anew,
    /// unless that was just done.
    pub(super) async fn unknown(&self, generation: u64) {
        let Some(source) = &self.source else { return };
        let mut reading = self.reading.lock().await;
        let gap = self.times.gap_ms.saturating_mul(NANOS);
        let since = self.clock.ticks().saturating_sub(reading.last);
        if self.current().generation == generation && since >= gap {
            self.renew(source, &mut reading).await;
        }
    }

    /// Reads the source from time to time, for as long as the process lives, and reports after each
    /// time what a person must know of the set's age.
    pub async fn watch(self: Arc<Self>, report: impl Fn(Option<Arc<str>>) + Send + Sync) {
        let Some(source) = &self.source else { return };
        report(self.trouble(None));
        let mut wait = self.times.every_ms;
        loop {
            self.clock.sleep(wait).await;
            let mut reading = self.reading.lock().await;
            self.renew(source, &mut reading).await;
            report(self.trouble(reading.fault.as_deref()));
            wait = if reading.fault.is_none() { self.times.every_ms } else { self.times.failed_ms };
        }
    }

    async fn renew(&self, source: &Source, reading: &mut Reading) {
        let asked = self.clock.ticks();
        let text = source.read().await;
        reading.last = self.clock.ticks();
        let taken = text.and_then(|text| {
            if text == reading.text {
                return Ok(None);
            }
            let set = KeySet::read(&text).map_err(|fault| fault.to_string())?;
            reading.pin(&set)?;
            reading.text = text;
            Ok(Some(set))
        });
        if taken.is_ok() {
            // as old as the question: the answer may have been long on its way
            self.good.store(asked, Ordering::Release);
        }
        match taken {
            Err(fault) => {
                if reading.fault.as_ref() != Some(&fault) {
                    tracing::error!(target: "security", "{source}: {fault}; the last good keys still count");
                }
                reading.fault = Some(fault);
            }
            Ok(None) => reading.fault = None,
            Ok(Some(set)) => {
                reading.fault = None;
                tracing::warn!(target: "security", keys = set.len(), "{source}: the keys changed");
                let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                let generation = current.generation.saturating_add(1);
                *current = Arc::new(Current { set, generation });
            }
        }
    }
}

async fn first(
    source: &Source,
    times: RefreshTimes,
    clock: &dyn Clock,
) -> Result<Vec<u8>, KeySourceError> {
    let start = clock.ticks();
    loop {
        let fault = match (source.read().await, source) {
            (Ok(text), _) => return Ok(text),
            (Err(fault), Source::File(_)) => {
                return Err(KeySourceError::Unfit(format!("{source}: {fault}")));
            }
            (Err(fault), Source::Url(..)) => fault,
        };
        let waited = clock.ticks().saturating_sub(start) / NANOS;
        if waited >= times.start_ms {
            return Err(KeySourceError::Unreachable(format!("{source}: {fault}")));
        }
        tracing::warn!("{source}: {fault}; trying again");
        clock.sleep(RETRY_MS).await;
    }
}

impl Reading {
    /// Remembers each name's algorithm; a name that comes back with another one is a forgery or a
    /// mistake, and tokens of the old one may still be about.
    fn pin(&mut self, set: &KeySet) -> Result<(), String> {
        for (kid, alg) in set.names() {
            match self.pins.get(kid) {
                Some(was) if *was != alg => {
                    return Err(format!(
                        "the kid {kid:?} was a key of {was:?} and is one of {alg:?}"
                    ));
                }
                _ => {}
            }
        }
        self.pins.extend(set.names().map(|(kid, alg)| (kid.to_owned(), alg)));
        if self.pins.len() > PINS {
            self.pins.retain(|kid, _| set.find(Some(kid)).is_some());
        }
        Ok(())
    }
}
