//! Hashes all calls of a process to its ports and their answers into one number, and prints them as lines where a
//! reader is given.
//!
//! Neither the seed nor the options are part of it: equal traces are equal runs.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Takes a line of the trace.
pub type Reader = Arc<dyn Fn(&str) + Send + Sync>;

/// FNV-1a over 64 bits, eight bytes at a time as long as eight are left.
#[derive(Debug, Clone, Copy)]
struct Fnv(u64);

impl Fnv {
    const fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01B3).rotate_left(29);
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            // fewer than eight bytes, and how many
            let packed = rest.iter().fold(0, |packed, byte| (packed << 8) | u64::from(*byte));
            self.mix(packed ^ (u64::try_from(rest.len()).unwrap_or(0) << 56));
        }
        Ok(())
    }
}

/// More calls than any run makes while no time passes.
const SPINS: u64 = 1_000_000;

#[derive(Debug)]
struct Inner {
    hash: Fnv,
    calls: u64,
    /// The time of the last call that has one.
    at: u64,
    /// Number of calls since then.
    still: u64,
}

impl Inner {
    /// One more call. True where the calls go on for ever and no time passes: a task asks again
    /// and again, and never waits.
    const fn called(&mut self, at: Option<u64>) -> bool {
        self.calls += 1;
        self.still += 1;
        if let Some(at) = at
            && at != self.at
        {
            self.at = at;
            self.still = 0;
        }
        self.still > SPINS
    }
}

/// The trace of a run. A handle: clones are the same one.
#[derive(Clone)]
pub struct Trace {
    inner: Arc<Mutex<Inner>>,
    reader: Option<Reader>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}

impl Trace {
    /// An empty one, read along by `reader`.
    pub fn new(reader: Option<Reader>) -> Self {
        let inner = Inner { hash: Fnv(0xCBF2_9CE4_8422_2325), calls: 0, at: 0, still: 0 };
        Self { inner: Arc::new(Mutex::new(inner)), reader }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call with its answer, at a time.
    ///
    /// # Panics
    /// The calls go on for ever, and no time passes: the task that makes them ends with the run.
    pub fn note(&self, at: u64, what: fmt::Arguments<'_>) {
        let spins = self.inner().called(Some(at));
        assert!(!spins, "it spins: {what}");
        self.hash_only(at, what);
        self.remark(at, what);
    }

    /// Part of a call, for the hash alone.
    pub fn hash_only(&self, at: u64, what: fmt::Arguments<'_>) {
        let mut inner = self.inner();
        inner.hash.mix(at);
        // it takes whatever is written to it
        let _never_fails = inner.hash.write_fmt(what);
    }

    /// A call whose answer is a number, and which no reader needs.
    ///
    /// # Panics
    /// As [`Trace::note`] does.
    pub fn number(&self, what: u64, answer: u64) {
        let mut inner = self.inner();
        let spins = inner.called(None);
        inner.hash.mix(what);
        inner.hash.mix(answer);
        drop(inner);
        assert!(!spins, "it spins: it asks for number {what} for ever");
    }

    /// True where there is a reader.
    pub const fn is_read(&self) -> bool {
        self.reader.is_some()
    }

    /// Words for the reader alone; no part of the hash.
    pub fn remark(&self, at: u64, what: fmt::Arguments<'_>) {
        if let Some(reader) = &self.reader {
            let ms = at.saturating_sub(crate::world::DAWN);
            reader(&format!("{:>6}.{:03} {what}", ms / 1_000, ms % 1_000));
        }
    }

    /// The hash so far.
    pub fn hash(&self) -> u64 {
        self.inner().hash.0
    }

    /// Number of calls that were noted.
    pub fn calls(&self) -> u64 {
        self.inner().calls
    }
}

#[cfg(test)]
mod tests {
    use super::Trace;

    fn hash(lines: &[(u64, &str)]) -> u64 {
        let trace = Trace::new(None);
        lines.iter().for_each(|(at, line)| trace.note(*at, format_args!("{line}")));
        trace.hash()
    }

    #[test]
    #[should_panic(expected = "it spins")]
    fn a_task_that_asks_for_ever_and_never_waits_is_found() {
        let trace = Trace::new(None);
        (0..=super::SPINS).for_each(|_| trace.number(1, 7));
    }

    #[test]
    fn a_task_that_lets_time_pass_may_ask_for_ever() {
        let trace = Trace::new(None);
        for at in 1..4 {
            trace.note(at, format_args!("x"));
            (0..super::SPINS).for_each(|_| trace.number(1, 7));
        }
    }

    #[test]
    fn every_answer_and_every_order_is_another_hash() {
        let run = [(1, "execute -> Done 1"), (2, "write -> Written")];
        assert_eq!(hash(&run), hash(&run));
        let others = [
            hash(&[(1, "execute -> Done 2"), (2, "write -> Written")]),
            hash(&[(2, "execute -> Done 1"), (2, "write -> Written")]),
            hash(&[(2, "write -> Written"), (1, "execute -> Done 1")]),
            hash(&[(1, "execute -> Done 1")]),
        ];
        assert!(others.iter().all(|other| *other != hash(&run)), "{others:?}");
    }
}
