//! The options of a run: one number for each knob, all drawn from the seed.
//!
//! As in a swarm, each kind of trouble has a rate of its own in each run, and in half of the runs
//! none at all: trouble that is always there hides what only shows without it.

use crate::world::SplitMix;
use std::fmt;

/// Declares the knobs: what each is, its name in a replay, its calm value, and how it is drawn.
macro_rules! knobs {
    ($($(#[$doc:meta])* $name:ident = $text:literal, calm $calm:literal, $draw:expr;)*) => {
        /// One number of a run. Rates are per 1000 of what they are rates of.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Knob { $($(#[$doc])* $name),* }

        impl Knob {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in a replay.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The value that does the least.
            pub const fn calm(self) -> u64 {
                match self { $(Self::$name => $calm),* }
            }

            fn drawn(self, draws: &mut SplitMix) -> u64 {
                let draw: fn(&mut SplitMix) -> u64 = match self { $(Self::$name => $draw),* };
                draw(draws)
            }
        }
    };
}

/// From `low` to `high`.
const fn within(draws: &mut SplitMix, low: u64, high: u64) -> u64 {
    low + draws.next() % (high - low + 1)
}

/// Nothing in half of the runs, else up to `most`.
const fn swarm(draws: &mut SplitMix, most: u64) -> u64 {
    let none = draws.once_in(1, 2);
    let drawn = within(draws, 1, most);
    if none { 0 } else { drawn }
}

/// From ten seconds to three years, in milliseconds.
fn any_jump(draws: &mut SplitMix) -> u64 {
    10_u64.pow(u32::try_from(within(draws, 4, 11)).unwrap_or(4))
}

/// 1 in one run of `of`.
const fn once_in(draws: &mut SplitMix, of: u64) -> u64 {
    if draws.once_in(1, of) { 1 } else { 0 }
}

knobs! {
    /// Calls at Funding are part of the unit that leads to them.
    Fuse = "fuse", calm 1, |d| once_in(d, 2);
    /// How many users there are.
    Users = "users", calm 2, |d| within(d, 1, 10);
    /// How many transfers are asked for.
    Transfers = "transfers", calm 1, |d| within(d, 150, 800);
    /// How many clients ask at once.
    Clients = "clients", calm 1, |d| within(d, 1, 48);
    /// How long a client thinks between two transfers, in milliseconds at most.
    Think = "think", calm 0, |d| within(d, 0, 300);
    /// Creates that are sent twice at once.
    Repeats = "repeats", calm 0, |d| swarm(d, 200);
    /// Keys that come again with another body.
    Bodies = "bodies", calm 0, |d| swarm(d, 100);
    /// Keys that come again long after the end.
    Again = "again", calm 0, |d| swarm(d, 100);
    /// Clients that go away before they are answered and never come back.
    Leaves = "leaves", calm 0, |d| swarm(d, 100);
    /// Amounts at the edge of what can be asked for.
    Edges = "edges", calm 0, |d| swarm(d, 200);
    /// Places in each ring.
    Ring = "ring", calm 1000, |d| within(d, 2, 200);
    /// Items of a batch.
    Batch = "batch", calm 1000, |d| within(d, 1, 64);
    /// Transfers of a user on a day; 0: no limit.
    Daily = "daily", calm 0, |d| if d.once_in(1, 8) { within(d, 5, 60) } else { 0 };
    /// Spot cannot give back what it paid out.
    Irreversible = "irreversible", calm 0, |d| once_in(d, 12);

    /// Requests that never arrive.
    LostRequest = "lost_request", calm 0, |d| swarm(d, 200);
    /// Effects whose reply never arrives.
    LostReply = "lost_reply", calm 0, |d| swarm(d, 200);
    /// Requests that take long, and their replies with them.
    Delayed = "delayed", calm 0, |d| swarm(d, 100);
    /// Requests that are given up, and arrive later.
    Held = "held", calm 0, |d| swarm(d, 100);
    /// The longest such delay, in milliseconds.
    Delay = "delay", calm 10, |d| within(d, 10, 90_000);
    /// Requests that arrive twice at once.
    Twice = "twice", calm 0, |d| swarm(d, 200);
    /// Requests that arrive a second time later.
    TwiceLate = "twice_late", calm 0, |d| swarm(d, 200);
    /// Replies that cannot be read.
    Garbage = "garbage", calm 0, |d| swarm(d, 100);
    /// Replies that are short of an answer.
    Short = "short", calm 0, |d| swarm(d, 60);
    /// Ports that panic before they ask.
    PanicBefore = "panic_before", calm 0, |d| swarm(d, 30);
    /// Ports that panic when the effect exists.
    PanicAfter = "panic_after", calm 0, |d| swarm(d, 30);
    /// Withdraws and deposits that the ledger refuses, for ever.
    Refused = "refused", calm 0, |d| swarm(d, 100);
    /// Processes that die before they ask.
    CallCrashBefore = "call_crash_before", calm 0, |d| swarm(d, 4);
    /// Processes that die when the effect exists.
    CallCrashAfter = "call_crash_after", calm 0, |d| swarm(d, 4);
    /// Questions that are not answered.
    Unanswered = "unanswered", calm 0, |d| swarm(d, 100);
    /// How often a ledger falls silent for a while, in milliseconds; 0: never.
    Silence = "silence", calm 0, |d| if d.once_in(1, 3) { within(d, 500, 20_000) } else { 0 };

    /// Writes with an unknown answer that were not made.
    WriteLostBefore = "write_lost_before", calm 0, |d| swarm(d, 80);
    /// Writes with an unknown answer that were made.
    WriteLostAfter = "write_lost_after", calm 0, |d| swarm(d, 80);
    /// Writes that find the disk full.
    WriteFull = "write_full", calm 0, |d| swarm(d, 80);
    /// Processes that die before a write.
    WriteCrashBefore = "write_crash_before", calm 0, |d| swarm(d, 3);
    /// Processes that die after a write.
    WriteCrashAfter = "write_crash_after", calm 0, |d| swarm(d, 3);

    /// Disk calls of the Spot core that find no room.
    DiskFull = "disk_full", calm 0, |d| swarm(d, 40);
    /// Disk calls that fail for good: the process ends.
    DiskBroken = "disk_broken", calm 0, |d| swarm(d, 4);
    /// Processes that die in a disk call.
    DiskCrash = "disk_crash", calm 0, |d| swarm(d, 3);
    /// A process that dies takes the power with it.
    Power = "power", calm 0, |d| if d.once_in(1, 4) { 0 } else { 1 };

    /// How often the process is killed, in milliseconds of virtual time; 0: never.
    Kill = "kill", calm 0, |d| if d.once_in(1, 3) { 0 } else { within(d, 1_000, 40_000) };
    /// How often it is paused for up to two minutes; 0: never.
    Pause = "pause", calm 0, |d| if d.once_in(1, 2) { 0 } else { within(d, 1_000, 60_000) };
    /// How often the wall clock jumps; 0: never.
    Jump = "jump", calm 0, |d| if d.once_in(1, 2) { 0 } else { within(d, 500, 20_000) };
    /// How often a person does something, in milliseconds; 0: never.
    Actions = "actions", calm 0, |d| if d.once_in(1, 3) { 0 } else { within(d, 200, 5_000) };
    /// What becomes of the Spot folder: 1 lost, 2 set back, 3 cloned.
    Folder = "folder", calm 0, |d| if d.once_in(1, 6) { within(d, 1, 3) } else { 0 };
    /// How many workers share the journal.
    Workers = "workers", calm 1, |d| if d.once_in(1, 3) { within(d, 2, 3) } else { 1 };

    // new knobs come last: what a seed draws for the others stays what it was
    /// How many operators act beside the first one.
    Operators = "operators", calm 0, |d| if d.once_in(1, 2) { 0 } else { within(d, 2, 5) };
    /// How often each of them does something, in milliseconds.
    ActEvery = "act_every", calm 1000, |d| within(d, 200, 4_000);
    /// How often a process reads a ledger's sums wrong for a while, so that its check of conservation
    /// halts, in milliseconds; 0: never.
    Misread = "misread", calm 0, |d| if d.once_in(1, 4) { within(d, 5_000, 60_000) } else { 0 };
    /// Reads of the journal that are not answered.
    ReadFails = "read_fails", calm 0, |d| swarm(d, 60);
    /// Reads of the journal that are made late.
    ReadSlow = "read_slow", calm 0, |d| swarm(d, 100);
    /// Reads of the journal that are answered late: they show what was, not what is.
    ReadStale = "read_stale", calm 0, |d| swarm(d, 100);
    /// Writes with an unknown answer that are made later. Only where several workers share the
    /// journal: a database in a file has no wire to its process.
    WriteLostAndLate = "write_late", calm 0, |d| swarm(d, 40);
    /// Writes that are made and answered late.
    WriteAnsweredLate = "write_slow", calm 0, |d| swarm(d, 60);
    /// The longest delay of a read or a write of the journal, in milliseconds.
    JournalDelay = "journal_delay", calm 10, |d| within(d, 10, 8_000);
    /// How often the journal's standby goes away, in milliseconds; 0: never. Only where several workers
    /// share the journal.
    Standby = "standby", calm 0, |d| if d.once_in(1, 3) { within(d, 2_000, 40_000) } else { 0 };
    /// How long a proposal may be approved, in milliseconds of the journal's time.
    Lapse = "lapse", calm 86_400_000,
        |d| if d.once_in(1, 2) { 86_400_000 } else { within(d, 2_000, 60_000) };
    /// How many hours pass at once while nothing runs, when things have gone wrong for a while: what
    /// operators proposed lies about, and lapses.
    Night = "night", calm 0, |d| if d.once_in(1, 4) { within(d, 1, 30) } else { 0 };
    /// How far a wall clock jumps at most, in milliseconds: an hour, or anything up to three years.
    JumpMost = "jump_most", calm 3_600_000,
        |d| if d.once_in(1, 2) { 3_600_000 } else { any_jump(d) };
}

/// A run: its seed and its knobs. The seed draws everything that the knobs leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What everything that the knobs leave open is drawn from.
    pub seed: u64,
    values: Vec<u64>,
}

impl Options {
    /// The options of a seed.
    pub fn drawn(seed: u64) -> Self {
        let mut draws = SplitMix(seed ^ 0x5EED_0F0B_710B_5000);
        let values = Knob::ALL.iter().map(|knob| knob.drawn(&mut draws)).collect();
        Self { seed, values }
    }

    /// A run in which nothing goes wrong.
    pub fn calm(seed: u64) -> Self {
        Self { seed, values: Knob::ALL.iter().map(|knob| knob.calm()).collect() }
    }

    /// The value of a knob.
    pub fn get(&self, knob: Knob) -> u64 {
        let at = Knob::ALL.iter().position(|k| *k == knob);
        at.and_then(|at| self.values.get(at)).copied().unwrap_or_else(|| knob.calm())
    }

    /// The value of a knob, and at least 1.
    pub fn some(&self, knob: Knob) -> u64 {
        let value = self.get(knob);
        if value == 0 { 1 } else { value }
    }

    /// The same with one knob turned.
    #[must_use]
    pub fn with(mut self, knob: Knob, value: u64) -> Self {
        let at = Knob::ALL.iter().position(|k| *k == knob);
        if let Some(slot) = at.and_then(|at| self.values.get_mut(at)) {
            *slot = value;
        }
        self
    }

    /// The same with every knob calm that was added after this one: what a seed was before they came.
    #[must_use]
    pub fn up_to(self, last: Knob) -> Self {
        let later = Knob::ALL.iter().filter(|knob| **knob > last);
        later.fold(self, |options, knob| options.with(*knob, knob.calm()))
    }

    /// Turns the knob that a text like `twice=0` names; `upto=workers` calms those after `workers`.
    ///
    /// # Errors
    /// It names none.
    pub fn set(self, text: &str) -> Result<Self, String> {
        if let Some(last) = text.strip_prefix("upto=") {
            let last = Knob::ALL.iter().find(|knob| knob.name() == last);
            return last.map(|last| self.up_to(*last)).ok_or_else(|| format!("no knob: {text}"));
        }
        let known = text.split_once('=').and_then(|(name, value)| {
            let knob = Knob::ALL.iter().find(|knob| knob.name() == name)?;
            Some((*knob, value.parse().ok()?))
        });
        let (knob, value) = known.ok_or_else(|| format!("no knob: {text}"))?;
        Ok(self.with(knob, value))
    }

    /// The turned knobs: where they are not what the seed draws.
    pub fn turned(&self) -> Vec<(Knob, u64)> {
        let own = Self::drawn(self.seed);
        let turned = Knob::ALL.iter().filter(|knob| own.get(**knob) != self.get(**knob));
        turned.map(|knob| (*knob, self.get(*knob))).collect()
    }

    /// The line that replays the run.
    pub fn replay(&self) -> String {
        let mut line = format!("cargo xtask sim --seed {}", self.seed);
        let turned: Vec<_> =
            self.turned().iter().map(|(knob, value)| format!("{}={value}", knob.name())).collect();
        if !turned.is_empty() {
            line.push_str(" --with ");
            line.push_str(&turned.join(","));
        }
        line
    }
}

/// Every knob that is not calm.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed={}", self.seed)?;
        for knob in Knob::ALL {
            let value = self.get(*knob);
            if value != knob.calm() {
                write!(f, " {}={value}", knob.name())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Knob, Options};

    #[test]
    fn a_replay_is_the_run() {
        let run = Options::drawn(7).with(Knob::Transfers, 3).with(Knob::Twice, 999);
        let line = run.replay();
        let turned = line.split_once(" --with ").unwrap().1;
        let again = turned.split(',').try_fold(Options::drawn(7), Options::set);
        assert_eq!(again, Ok(run));
        assert!(Options::drawn(7).set("nothing=1").is_err());
        assert!(Options::drawn(7).set("twice=x").is_err());
        assert_eq!(Options::drawn(7).replay(), "cargo xtask sim --seed 7");
    }

    #[test]
    fn a_kept_seed_is_what_it_was_before_later_knobs_came() {
        let before = Options::drawn(7).set("upto=workers").unwrap();
        assert_eq!(before, Options::drawn(7).up_to(Knob::Workers));
        assert_eq!(before.get(Knob::Workers), Options::drawn(7).get(Knob::Workers));
        for knob in Knob::ALL.iter().filter(|knob| **knob > Knob::Workers) {
            assert_eq!(before.get(*knob), knob.calm());
        }
        assert!(Options::drawn(7).set("upto=nothing").is_err());
    }

    #[test]
    fn each_kind_of_trouble_is_there_in_some_runs_and_not_in_others() {
        let runs: Vec<_> = (0..200).map(Options::drawn).collect();
        for knob in Knob::ALL {
            let turned = runs.iter().filter(|run| run.get(*knob) != knob.calm()).count();
            assert!(turned > 5, "{knob:?} is drawn {turned} times");
        }
        for knob in [Knob::LostReply, Knob::Twice, Knob::WriteFull, Knob::Kill, Knob::Folder] {
            let calm = runs.iter().filter(|run| run.get(knob) == 0).count();
            assert!(calm > 40, "{knob:?} is nothing {calm} times");
        }
    }
}
