//! A fuzzer for code that parses bytes: it changes a corpus in the tree byte by byte and piece by piece, guided by
//! the kinds of answers.
//!
//! ```text
//! crates/<crate>/fuzz/<target>/*  ─► changed ─► the target: a kind of answer, or a panic
//!                ▲                                    │ a kind that was not seen yet: kept in RAM
//!                └──────── what broke it ─────────────┘
//! ```
//!
//! It needs no compiler of its own and runs as an ordinary test: the corpus, then a fixed number of
//! changed inputs, the same ones each time. With `FUZZ_SECONDS` it goes on for that time, from another
//! seed each time (`FUZZ_SEED` for the same again). It sees no branches, only answers: a target tells
//! apart as many kinds of them as it can.

#[cfg(test)]
mod kernel;

use crate::world::SplitMix;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Number of inputs that the tests of every change try.
const TRIES: u64 = 20_000;
/// The longest input that is made.
const LONGEST: usize = 4_096;
/// Inputs that led to new kinds of answers, kept at most.
const POOL: usize = 2_000;

/// A reader of bytes that chance is let loose on.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Its name, and that of its corpus.
    pub name: &'a str,
    /// `env!("CARGO_MANIFEST_DIR")` of the crate that it is in.
    pub crate_dir: &'a str,
    /// Pieces that chance would not come upon.
    pub words: &'a [&'a str],
}

/// What a campaign did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fuzzed {
    /// How many inputs were tried.
    pub tried: u64,
    /// Kinds of answers that were seen.
    pub kinds: usize,
}

/// A kind of answer, of anything that can be hashed.
pub fn kind(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Target<'_> {
    fn folder(&self) -> PathBuf {
        PathBuf::from(self.crate_dir).join("fuzz").join(self.name)
    }

    /// Tries the corpus and what it begins with besides, then changed inputs. `look` panics where an
    /// answer is wrong, and tells kinds of answers apart by a number.
    ///
    /// # Panics
    /// There is nothing to begin with; or as `look` does, after the input was kept in the corpus.
    pub fn run(&self, starts: Vec<Vec<u8>>, look: impl Fn(&[u8]) -> u64) -> Fuzzed {
        let mut pool = starts;
        pool.extend(self.corpus());
        assert!(!pool.is_empty(), "{}: an empty corpus proves nothing", self.folder().display());
        let mut seen: BTreeSet<u64> = pool.iter().map(|input| self.tried(input, &look)).collect();
        let mut tried = u64::try_from(pool.len()).unwrap_or(0);
        let budget = Budget::read();
        let mut draws = SplitMix(budget.seed);
        while budget.more(tried) {
            let input = self.changed(&pool, &mut draws);
            tried += 1;
            if seen.insert(self.tried(&input, &look)) && pool.len() < POOL {
                pool.push(input);
            }
        }
        budget.tell(self.name, tried, seen.len());
        Fuzzed { tried, kinds: seen.len() }
    }

    /// The files of the corpus by their names, so that each run begins alike.
    fn corpus(&self) -> Vec<Vec<u8>> {
        let listed = std::fs::read_dir(self.folder()).into_iter().flatten();
        let mut files: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
    }

    fn tried(&self, input: &[u8], look: &impl Fn(&[u8]) -> u64) -> u64 {
        match catch_unwind(AssertUnwindSafe(|| look(input))) {
            Ok(kind) => kind,
            Err(panic) => {
                let file = self.folder().join(format!("found-{:016x}", kind(&input)));
                // what cannot be kept is shown all the same
                let kept = std::fs::write(&file, input).is_ok();
                let shown = shown(input);
                say(&format!("{}: kept {kept} as {}:\n{shown}", self.name, file.display()));
                resume_unwind(panic)
            }
        }
    }

    /// One of the pool with one to eight changes.
    fn changed(&self, pool: &[Vec<u8>], draws: &mut SplitMix) -> Vec<u8> {
        let mut input = pick(pool, draws).cloned().unwrap_or_default();
        for _ in 0..=draws.next() % 8 {
            self.change(&mut input, pool, draws);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&self, input: &mut Vec<u8>, pool: &[Vec<u8>], draws: &mut SplitMix) {
        let at = below(draws, input.len() + 1);
        let left = input.len() - at;
        let end = at + below(draws, if left > 32 { 33 } else { left + 1 });
        let piece: Vec<u8> = match draws.next() % 11 {
            // another byte, one bit of it, one more or less
            kind @ 0..3 => {
                if let Some(byte) = input.get_mut(at) {
                    let drawn = draws.next().to_le_bytes();
                    let [low, bit, ..] = drawn;
                    *byte = match kind {
                        0 => low,
                        1 => *byte ^ (1 << (bit % 8)),
                        _ => byte.wrapping_add(if bit.is_multiple_of(2) { 1 } else { 255 }),
                    };
                }
                return;
            }
            // a piece goes
            3 => Vec::new(),
            // a piece comes twice
            4 => {
                let piece = input.get(at..end).unwrap_or_default();
                [piece, piece].concat()
            }
            // a word
            5 | 6 => {
                pick(self.words, draws).map(|word| word.as_bytes().to_vec()).unwrap_or_default()
            }
            // the rest of another input
            7 => {
                let other = pick(pool, draws).map(Vec::as_slice).unwrap_or_default();
                let from = below(draws, other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(other.get(from..).unwrap_or_default());
                return;
            }
            // another number
            8 | 9 => return renumber(input, at, draws),
            // chance
            _ => draws.next().to_le_bytes().to_vec(),
        };
        input.splice(at..end, piece);
    }
}

/// Numbers at the edges of what is one.
const NUMBERS: [&str; 10] = [
    "0",
    "1",
    "-1",
    "010",
    "1.0",
    "1e1",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
];

/// The first number behind a place is another one, or has a digit more.
fn renumber(input: &mut Vec<u8>, at: usize, draws: &mut SplitMix) {
    let behind = input.get(at..).unwrap_or_default();
    let Some(from) = behind.iter().position(u8::is_ascii_digit).map(|n| at + n) else { return };
    let digits = input.get(from..).unwrap_or_default();
    let long = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let drawn = draws.next();
    let other = pick(&NUMBERS, draws).filter(|_| drawn.is_multiple_of(2));
    let more = digits.get(..long).unwrap_or_default().iter().copied().chain([b'7']).collect();
    let number: Vec<u8> = other.map_or(more, |text| text.as_bytes().to_vec());
    input.splice(from..from + long, number);
}

fn below(draws: &mut SplitMix, n: usize) -> usize {
    let n = u64::try_from(n).unwrap_or(1);
    usize::try_from(draws.next().checked_rem(n).unwrap_or(0)).unwrap_or(0)
}

fn pick<'a, T>(all: &'a [T], draws: &mut SplitMix) -> Option<&'a T> {
    all.get(below(draws, all.len()))
}

/// Bytes as a person reads them.
fn shown(input: &[u8]) -> String {
    let mut text = String::new();
    for byte in input.escape_ascii() {
        // writing to a text never fails
        let _written = text.write_char(char::from(byte));
    }
    text
}

/// How long it goes on, and from which seed.
struct Budget {
    seed: u64,
    until: Option<Instant>,
}

impl Budget {
    #[expect(clippy::disallowed_methods, reason = "a campaign ends by the real clock")]
    fn read() -> Self {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let until =
            number("FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let drawn = since.ok().and_then(|since| u64::try_from(since.as_micros()).ok());
        let seed = number("FUZZ_SEED").or_else(|| drawn.filter(|_| until.is_some()));
        Self { seed: seed.unwrap_or(1), until }
    }

    #[expect(clippy::disallowed_methods, reason = "a campaign ends by the real clock")]
    fn more(&self, tried: u64) -> bool {
        match self.until {
            Some(until) => Instant::now() < until,
            None => tried < TRIES,
        }
    }

    fn tell(&self, name: &str, tried: u64, kinds: usize) {
        if self.until.is_some() {
            say(&format!(
                "{name}: {tried} inputs from seed {}, {kinds} kinds of answers",
                self.seed
            ));
        }
    }
}

#[expect(clippy::print_stdout, reason = "a campaign speaks to its terminal")]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::{Target, kind};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn target<'a>(dir: &'a str, words: &'a [&'a str]) -> Target<'a> {
        std::fs::create_dir_all(format!("{dir}/fuzz/x")).unwrap();
        Target { name: "x", crate_dir: dir, words }
    }

    /// How far into the word an input gets: each letter is another kind of answer.
    fn far(input: &[u8]) -> usize {
        input.iter().zip(b"portage").take_while(|(a, b)| a == b).count()
    }

    #[test]
    fn what_broke_it_is_kept_for_the_next_run() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().to_str().unwrap();
        let target = target(dir, &[]);
        std::fs::write(format!("{dir}/fuzz/x/a"), "portafe").unwrap();
        let look = |input: &[u8]| {
            assert!(far(input) < 7, "found");
            kind(&far(input))
        };
        assert!(catch_unwind(AssertUnwindSafe(|| target.run(Vec::new(), look))).is_err());
        let kept: Vec<_> = target.corpus().into_iter().filter(|input| far(input) >= 7).collect();
        assert_eq!(kept.len(), 1, "what broke it is the next run's first input");
    }

    #[test]
    fn a_word_is_come_upon_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().to_str().unwrap();
        let target = target(dir, &["portage"]);
        std::fs::write(format!("{dir}/fuzz/x/a"), "").unwrap();
        let seen = target.run(Vec::new(), |input| kind(&far(input)));
        assert!(seen.kinds > 4, "{seen:?}");
        assert_eq!(
            seen,
            target.run(Vec::new(), |input| kind(&far(input))),
            "the same ones each time"
        );
    }

    #[test]
    fn an_empty_corpus_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let target = target(dir.path().to_str().unwrap(), &[]);
        assert!(catch_unwind(AssertUnwindSafe(|| target.run(Vec::new(), |_| 0))).is_err());
    }
}
