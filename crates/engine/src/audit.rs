//! Seals the audit from time to time, and proves all of it on request.
//!
//! Neither reads or moves money. A seal goes to the journal and to the log, so a person who changes one of
//! them is contradicted by the other.

use kernel::answer::Cause;
use kernel::audit::proof::{
    ChainStart, ChainVerifier, Findings, RecordedSeal, SealVerifier, StoredEntry,
};
use kernel::audit::replay::{ActionRows, ActionTable};
use kernel::audit::seal::{Seal, SealKey, Sealing};
use kernel::audit::{OPERATORS, WORLD, genesis, hex, unhex};
use kernel::ids::{Id, Millis, Serial};
use kernel::ports::audit::{Audit, History, Trail};
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use std::sync::Arc;
use tokio::sync::Mutex;

/// How many rows are read at once.
const PAGE: usize = 1_000;

/// Seals and proves the audit. Cheap to share.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Sealer {
    audit: Arc<dyn Audit>,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    key: SealKey,
    interval_ms: Millis,
    /// Locked while the next seal is made: two seals of one number would contradict each other.
    sealing: Mutex<()>,
    /// Locked while a proof is made, one at a time: each reads everything.
    proving: Mutex<()>,
}

impl Sealer {
    /// Makes a sealer that seals every `interval_ms` milliseconds of the journal's time while something new is
    /// written.
    pub fn new(
        audit: Arc<dyn Audit>,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        key: SealKey,
        interval_ms: Millis,
    ) -> Self {
        let (sealing, proving) = (Mutex::const_new(()), Mutex::const_new(()));
        Self { audit, journal, clock, key, interval_ms, sealing, proving }
    }

    pub async fn run(self: Arc<Self>) {
        let mut said = None;
        loop {
            said = self.report_other_key(said).await;
            self.clock.sleep(self.interval_ms).await;
            if let Err(cause) = self.seal().await {
                tracing::warn!(%cause, "the audit could not be sealed; it is tried again");
            }
        }
    }

    /// The number of the newest seal where another key than this process's made it; `None` where the same
    /// one did, or where there is no seal.
    ///
    /// # Errors
    /// The journal does not answer.
    pub async fn other_key(&self) -> Result<Option<u64>, Cause> {
        let newest = self.audit.trail().await?.newest(None, 1).await?.pop();
        Ok(newest.filter(|seal| !seal.is_of(&self.key)).map(|seal| seal.number))
    }

    /// Warns once for each such seal that another process seals with another key. Returns the number of the
    /// last one that was found.
    async fn report_other_key(&self, said: Option<u64>) -> Option<u64> {
        let found = match self.other_key().await {
            Ok(Some(found)) => found,
            // where the journal does not answer, sealing says so
            Ok(None) | Err(_) => return said,
        };
        if said != Some(found) {
            tracing::error!(
                seal = found,
                "the newest seal was made with another key than this process has: every process of one \
                 database needs the same audit.mac_secret, or none trusts how far the others proved \
                 conservation, and `audit verify` fails in each of them"
            );
        }
        Some(found)
    }

    /// Seals what is new: each lane up to the last unit before a gap, whatever is being written meanwhile.
    /// `None` where nothing is new.
    ///
    /// # Errors
    /// The journal does not answer, or has no room.
    pub async fn seal(&self) -> Result<Option<Seal>, Cause> {
        let _turn = self.sealing.lock().await;
        let mut trail = self.audit.trail().await?;
        let last = trail.newest(None, 1).await?.pop();
        let mut sealing = Sealing::after(last.as_ref());
        for lane in trail.lanes().await? {
            'lane: loop {
                let page = trail.units(lane, sealing.cover().of(lane), PAGE).await?;
                for unit in &page {
                    if !sealing.push(unit) {
                        break 'lane;
                    }
                }
                if page.len() < PAGE {
                    break;
                }
            }
        }
        drop(trail);
        let Some(seal) = sealing.seal(&self.key, self.journal.now()) else { return Ok(None) };
        self.audit.put_seal(seal.clone()).await?;
        tracing::info!(target: "audit", seal = %SealText(&seal), covers = %seal.cover, "sealed");
        Ok(Some(seal))
    }

    /// Proves all of the audit. `None`: another proof is being made.
    ///
    /// # Errors
    /// As [`prove`].
    pub async fn prove(&self, recorded: Option<RecordedSeal>) -> Result<Option<Findings>, Cause> {
        let Ok(_turn) = self.proving.try_lock() else { return Ok(None) };
        let mut trail = self.audit.trail().await?;
        prove(&mut *trail, self.key.clone(), recorded).await.map(Some)
    }

    /// Seals below a number, or all, the newest first.
    ///
    /// # Errors
    /// The journal does not answer.
    pub async fn seals(&self, below: Option<u64>, limit: usize) -> Result<Vec<Seal>, Cause> {
        self.audit.trail().await?.newest(below, limit).await
    }
}

/// A seal in the form in which operators keep it: `NUMBER:ROOT:MAC`.
#[derive(Debug)]
pub struct SealText<'a>(pub &'a Seal);

impl std::fmt::Display for SealText<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.0.number, hex(&self.0.root), hex(&self.0.mac))
    }
}

/// Parses a seal; `None` where the text is no seal.
pub fn parse_seal(text: &str) -> Option<RecordedSeal> {
    let mut parts = text.split(':');
    let (number, root, mac) = (parts.next()?, parts.next()?, parts.next()?);
    let recorded =
        RecordedSeal { number: number.parse().ok()?, root: unhex(root)?, mac: unhex(mac)? };
    parts.next().is_none().then_some(recorded)
}

/// Computes all hashes of the audit again, and compares the rows that operators' actions wrote with these. Its memory is
/// bounded by the units whose entries lie far apart, some 200 bytes for each, and by the number of those rows.
///
/// # Errors
/// The journal does not answer; nothing is known then.
pub async fn prove(
    trail: &mut dyn Trail,
    key: SealKey,
    recorded: Option<RecordedSeal>,
) -> Result<Findings, Cause> {
    let mut verifier = ChainVerifier::new(key, recorded, trail.gapless());
    for id in [WORLD, OPERATORS] {
        chain(trail, &mut verifier, id).await?;
    }
    let mut stored = ActionRows::new();
    for table in ActionTable::ALL {
        stored.insert(table, trail.action_rows(table).await?);
    }
    verifier.action_rows(&stored);
    let mut after = Serial(0);
    loop {
        let page = trail.histories(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.serial();
        let entries = page.iter().flat_map(|history| match history {
            History::Read { entries, .. } => entries.as_slice(),
            History::Unreadable { .. } => &[],
        });
        rows(trail, &mut verifier, entries).await?;
        for history in page {
            match history {
                History::Read { chain, entries, end } => {
                    verifier.begin(chain);
                    entries.iter().for_each(|stored| verifier.entry(stored));
                    verifier.end(Some(end));
                }
                History::Unreadable { serial, what } => verifier.unreadable(serial, what),
            }
        }
    }
    seals(trail, verifier.chained()).await
}

/// Reads one of the chains that belong to no transfer.
async fn chain(trail: &mut dyn Trail, verifier: &mut ChainVerifier, id: Id) -> Result<(), Cause> {
    verifier.begin(ChainStart { id, serial: Serial(0), start: genesis(id) });
    let mut above = 0;
    loop {
        let page = trail.chain_entries(id, above, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        above = *last;
        rows(trail, verifier, page.iter().map(|(_, stored)| stored)).await?;
        page.iter().for_each(|(_, stored)| verifier.entry(stored));
    }
    verifier.end(None);
    Ok(())
}

/// Reads the rows of units that these entries name for the first time.
async fn rows(
    trail: &mut dyn Trail,
    verifier: &mut ChainVerifier,
    entries: impl IntoIterator<Item = &StoredEntry>,
) -> Result<(), Cause> {
    let mut lacking: Vec<(u64, u64)> =
        entries.into_iter().map(|stored| (stored.lane, stored.unit)).collect();
    lacking.sort_unstable();
    lacking.dedup();
    lacking.retain(|(lane, n)| verifier.lacks(*lane, *n));
    if !lacking.is_empty() {
        trail.rows(lacking).await?.into_iter().for_each(|row| verifier.row(row));
    }
    Ok(())
}

/// Reads units in the order of their seals, then those above the last seal.
async fn seals(trail: &mut dyn Trail, mut verifier: SealVerifier) -> Result<Findings, Cause> {
    let lanes = trail.lanes().await?;
    let mut at = vec![0; lanes.len()];
    let mut number = 0;
    loop {
        let page = trail.seals(number, PAGE).await?;
        for seal in &page {
            for (lane, at) in lanes.iter().zip(&mut at) {
                *at = units(trail, &mut verifier, *lane, *at, seal.cover.of(*lane)).await?;
            }
            number = seal.number;
            verifier.seal(seal.clone());
        }
        if page.len() < PAGE {
            break;
        }
    }
    for (lane, at) in lanes.iter().zip(at) {
        units(trail, &mut verifier, *lane, at, u64::MAX).await?;
    }
    Ok(verifier.finish())
}

/// Reads a lane's units above one number up to another. Returns the last one that was there.
async fn units(
    trail: &mut dyn Trail,
    verifier: &mut SealVerifier,
    lane: u64,
    mut at: u64,
    upto: u64,
) -> Result<u64, Cause> {
    while at < upto {
        let left = usize::try_from(upto.saturating_sub(at)).unwrap_or(usize::MAX);
        let page = trail.units(lane, at, if left < PAGE { left } else { PAGE }).await?;
        if page.is_empty() {
            break;
        }
        for unit in page {
            if unit.n > upto {
                return Ok(at);
            }
            at = unit.n;
            verifier.unit(&unit);
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::{SealText, parse_seal};
    use kernel::audit::seal::{Cover, Seal};

    #[test]
    fn a_seal_is_read_as_it_is_said() {
        let (root, mac) = ([0xab; 32], [7; 32]);
        let seal =
            Seal { number: 12, at: 0, cover: Cover::default(), root, previous: [0; 32], mac };
        let said = SealText(&seal).to_string();
        let found = parse_seal(&said).unwrap();
        assert_eq!((found.number, found.root, found.mac), (12, root, mac));
        let more = format!("{said}:1");
        let signed = said.replacen("ab", "+b", 1);
        for bad in ["", "12", "12:ab:07", &more, &signed, said.trim_end_matches('7')] {
            assert!(parse_seal(bad).is_none(), "{bad}");
        }
    }
}
