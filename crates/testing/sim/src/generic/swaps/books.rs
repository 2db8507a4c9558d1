//! The books of both chains under the swaps of a trial: each case has inventory of its own, and whatever was done to it,
//! the counters are what the states of all swaps say, and the vault has what its books say at every instant.

use crate::chain::PlayedVault;
use crate::generic::chain::ChainClient;
use engine::reconciliation::vaults::read_vaults;
use kernel::answer::Cause;
use kernel::books::{ChainBook, lines};
use kernel::ids::{AssetId, ChainId, Serial};
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the service adds to the inventory of a case: enough for all of its payouts, and not for one to `poor…`.
const FUNDED: u128 = 100_000;
/// How long the last payments may take until they are final, in seconds.
const FINAL: u32 = 60;
/// Number of transfers of one page.
const PAGE: usize = 100;

fn funding(chain: ChainId, series: usize) -> Arc<str> {
    format!("funded:{}:{series}", chain.name()).into()
}

/// Adds the inventory of a case, once.
pub(super) async fn fund<V>(
    at: &ChainClient<V>,
    chain: ChainId,
    asset: AssetId,
) -> Result<(), Cause> {
    let (name, counter) = (funding(chain, at.series), ChainBook::Inventory.counter(chain, asset));
    let guard = Guard::Resource { name: name.clone(), version: 0 };
    let puts = vec![
        Put::Resource { name, value: asset.0.to_string().into() },
        Put::Add { counter, n: FUNDED },
    ];
    match at.journal.write(vec![Unit::guarded(vec![guard], puts)]).await.pop() {
        Some(Wrote::Written(_) | Wrote::Lost(_)) => Ok(()),
        Some(Wrote::Unknown(cause)) => Err(cause),
        Some(Wrote::Full | Wrote::Refused(_)) | None => Err(Cause::of(Cause::FULL)),
    }
}

/// Compares every counter of the books with what was added and with where each swap stands.
pub(super) async fn compare<V: PlayedVault>(
    at: &ChainClient<V>,
) -> Result<Result<(), String>, Cause> {
    let mut expected: BTreeMap<Arc<str>, u128> = BTreeMap::new();
    for funded in at.journal.resources("funded:".into()).await? {
        let chain = funded.name.split(':').nth(1).and_then(ChainId::parse);
        let asset = funded.value.parse().ok().map(AssetId);
        let Some((chain, asset)) = chain.zip(asset) else { return Err(Cause::of("BAD_ROW")) };
        for book in ChainBook::IN_VAULT {
            expected.entry(book.counter(chain, asset)).or_default();
        }
        *expected.entry(ChainBook::Inventory.counter(chain, asset)).or_default() += FUNDED;
    }
    if let Some(vault) = &at.vault
        && !at
            .journal
            .resources(format!("cursor:{}:", vault.chain().name()).into())
            .await?
            .is_empty()
    {
        let inventory = ChainBook::Inventory.counter(vault.chain(), vault.asset());
        *expected.entry(inventory).or_default() += vault.own().0;
    }
    let (mut taken, mut after) = (BTreeMap::<Arc<str>, u128>::new(), Serial(0));
    loop {
        let page = at.journal.transfers_after(after, None, PAGE).await?;
        for record in &page.records {
            let table = at.engine.flows().table(record.flow);
            for line in lines(table, record, record.head.state) {
                let side = if line.lacks { &mut taken } else { &mut expected };
                *side.entry(line.counter).or_default() += line.amount.0;
            }
        }
        match page.records.last().and_then(|record| record.serial) {
            Some(last) if page.records.len() == PAGE => after = last,
            Some(_) | None => break,
        }
    }
    let mut faults = Vec::new();
    let (expected, moved): (BTreeMap<_, _>, _) =
        expected.into_iter().partition(|(counter, _)| ChainBook::is_in_vault(counter));
    faults.extend(moved_otherwise(at, moved).await?);
    for (counter, added) in expected {
        let sum = at.journal.counter(counter.clone()).await?;
        let says = added.checked_sub(taken.remove(&counter).unwrap_or_default());
        if says != Some(sum) {
            faults.push(format!("{counter} is {sum}, and the swaps say {says:?}"));
        }
    }
    faults.extend(vaults_differ(at).await?);
    Ok(if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) })
}

/// What was paid out and taken in otherwise than the swaps say. What was called back counts on both sides.
async fn moved_otherwise<V>(
    at: &ChainClient<V>,
    expected: BTreeMap<Arc<str>, u128>,
) -> Result<Vec<String>, Cause> {
    let mut vaults: BTreeMap<String, [u128; 4]> = BTreeMap::new();
    for (counter, n) in expected {
        let Some((vault, book)) = counter.rsplit_once('/') else { continue };
        let [paid, taken, ..] = vaults.entry(vault.to_owned()).or_default();
        *(if book == ChainBook::PaidOut.name() { paid } else { taken }) += n;
    }
    for (vault, [.., paid, taken]) in &mut vaults {
        let sum = |book: ChainBook| at.journal.counter(format!("{vault}/{}", book.name()).into());
        (*paid, *taken) = (sum(ChainBook::PaidOut).await?, sum(ChainBook::TakenIn).await?);
    }
    let differ = vaults
        .iter()
        .filter(|(_, [paid, taken, is_paid, is_taken])| paid + is_taken != taken + is_paid);
    Ok(differ.map(|(vault, sums)| format!("{vault}: paid and taken in {sums:?}")).collect())
}

/// What the vault has and its books do not say, at this instant; `None`: they are equal.
pub(super) async fn differ<V>(at: &ChainClient<V>) -> Result<Option<String>, Cause> {
    let vaults = read_vaults(&*at.journal).await?;
    let other = vaults.iter().find(|vault| vault.difference() != 0);
    Ok(other
        .map(|vault| format!("the vault has {} beyond its books: {vault:?}", vault.difference())))
}

/// What the vault has and its books do not say, once every payment is final. A journal that saw other vaults of the
/// name before says nothing of this one.
async fn vaults_differ<V: PlayedVault>(at: &ChainClient<V>) -> Result<Option<String>, Cause> {
    let Some(vault) = at.vault.as_ref().filter(|_| at.series == 0) else { return Ok(None) };
    let mut books = 0;
    for book in ChainBook::IN_VAULT {
        books += at.journal.counter(book.counter(vault.chain(), vault.asset())).await?;
    }
    for _ in 0..FINAL {
        if vault.balance().0 == books {
            return Ok(None);
        }
        at.clock.sleep(1_000).await;
    }
    Ok(Some(format!("the vault has {}, and its books {books}", vault.balance().0)))
}
