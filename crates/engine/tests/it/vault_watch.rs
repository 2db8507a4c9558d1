//! The watch of a vault: each movement is stored once and in order, a page that leaves one out is not stored, and money
//! that left without an attempt stops the chain.
//!
//! They turn red in a build with: the balance of a page not compared with the one before; the sum of its movements not
//! compared; a payment believed that no attempt has; the cursor of another vault read on; the inventory of the first
//! balance, or of a funding, left out; a page that one unit has to take.

use crate::fixture::test_service::TestService;
use crate::observed_deposits::{at, deposit, service};
use kernel::answer::Cause;
use kernel::books::ChainBook;
use kernel::ids::{AssetId, ChainId, FlowId, Millis};
use kernel::money::Amount;
use kernel::operators::Scope;
use kernel::ports::Fut;
use kernel::ports::deposits::{DepositSource, VaultMovement, VaultPage};
use kernel::ports::journal::ServiceQueries as _;
use sim::chain::balance_after;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testkit::{MINUTE, wait_until};

pub(crate) const SOLANA: ChainId = ChainId(30);
pub(crate) const USDC: AssetId = AssetId(4);
/// What the vault has when the watch begins.
pub(crate) const OWN: u128 = 7_000;

/// The movements of a vault, as its provider has them.
pub(crate) struct Script {
    name: &'static str,
    pub(crate) movements: Vec<VaultMovement>,
    /// The place of a movement that no page has.
    hidden: Option<usize>,
    /// The pages say that it was never there.
    denied: bool,
    /// All of them are in one block, which a page does not part.
    pub(crate) in_one_block: bool,
    /// The chain's time up to which it shows everything.
    read_to: Millis,
}

pub(crate) struct ScriptedVault {
    flow: FlowId,
    script: Mutex<Script>,
}

impl ScriptedVault {
    pub(crate) fn now(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn moves(&self, movement: VaultMovement) {
        self.now().movements.push(movement);
    }

    fn page(&self, behind: Option<&str>, limit: usize) -> VaultPage {
        let script = self.now();
        let after_place = behind.map(|place| place.parse().expect("a place"));
        let from: usize = after_place.unwrap_or(0);
        let limit = if script.in_one_block { usize::MAX } else { limit };
        let (to, all) = (from.saturating_add(limit), script.movements.len());
        let to = if to < all { to } else { all };
        let end = if behind.is_none() { 0 } else { to };
        let balance = |place: usize| {
            let denied = script.hidden.filter(|_| script.denied);
            let before = script.movements.iter().enumerate().take(place);
            let counted = before.filter(|(n, _)| Some(*n) != denied);
            Amount(counted.fold(OWN, |sum, (_, movement)| balance_after(sum, movement)))
        };
        let of_page = script.movements.iter().enumerate().take(end).skip(from);
        let seen = of_page.filter(|(n, _)| Some(*n) != script.hidden);
        VaultPage {
            movements: seen.map(|(_, movement)| movement.clone()).collect(),
            before: balance(from),
            after: balance(end),
            place: end.to_string().into(),
            read_to: script.read_to,
            more: end < script.movements.len(),
        }
    }
}

impl DepositSource for ScriptedVault {
    fn chain(&self) -> ChainId {
        SOLANA
    }

    fn flow(&self) -> FlowId {
        self.flow
    }

    fn asset(&self) -> AssetId {
        USDC
    }

    fn vault(&self) -> Arc<str> {
        self.now().name.into()
    }

    fn interval(&self) -> Millis {
        20
    }

    fn normal_lag(&self) -> Millis {
        60_000
    }

    fn movements<'a>(
        &'a self,
        behind: Option<&'a str>,
        limit: usize,
    ) -> Fut<'a, Result<VaultPage, Cause>> {
        let page = self.page(behind, limit);
        Box::pin(async move { Ok(page) })
    }
}

pub(crate) async fn watched() -> (TestService, Arc<ScriptedVault>) {
    let mut service = service().await;
    let flow = service.engine.flows().named("swap_in").expect("the flow");
    let (hidden, denied, read_to) = (None, false, Millis::MAX);
    let script = Script {
        name: "vault",
        movements: Vec::new(),
        hidden,
        denied,
        in_one_block: false,
        read_to,
    };
    let vault = Arc::new(ScriptedVault { flow, script: Mutex::new(script) });
    service.vault = Some(vault.clone());
    service.restart().await;
    (service, vault)
}

pub(crate) fn deposited(key: &str, amount: u128) -> VaultMovement {
    VaultMovement::Deposited(deposit(key, amount))
}

pub(crate) async fn opened(service: &TestService, key: &str) -> bool {
    wait_until(MINUTE, async || at(service, key).await.is_some()).await
}

pub(crate) async fn inventory(service: &TestService) -> u128 {
    let counter = ChainBook::Inventory.counter(SOLANA, USDC);
    service.store().counter(counter).await.expect("the journal answers")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_movement_is_stored_once_over_every_life() {
    let (mut service, vault) = watched().await;
    vault.moves(deposited("a", 10_000));
    vault.moves(VaultMovement::Funded(Amount(500)));
    assert!(opened(&service, "a").await);
    assert_eq!(inventory(&service).await, OWN + 500, "the first balance and the funding");
    let first = at(&service, "a").await.map(|record| record.id);
    // two engines over one journal, and a life later
    let rival = service.rival().await;
    vault.moves(deposited("b", 20_000));
    assert!(opened(&service, "b").await);
    drop(rival);
    service.restart().await;
    vault.moves(deposited("c", 30_000));
    assert!(opened(&service, "c").await);
    assert_eq!(at(&service, "a").await.map(|record| record.id), first);
    assert_eq!(inventory(&service).await, OWN + 500);
    assert_eq!(service.episodes(), []);
}

/// A stranger pays in by the thousand, for little: one unit does not take all that a block has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_with_more_deposits_than_a_unit_takes_is_stored() {
    let (mut service, vault) = watched().await;
    let most = service.settings.batch_max;
    vault.moves(deposited("first", 10_000));
    assert!(opened(&service, "first").await);
    service.stop().await;
    {
        let mut script = vault.now();
        script.in_one_block = true;
        script.movements.extend((0..most + 50).map(|n| deposited(&format!("dust {n}"), 1)));
        script.movements.push(VaultMovement::Funded(Amount(500)));
    }
    service.start().await;
    let last = format!("dust {}", most + 49);
    assert!(opened(&service, "dust 0").await && opened(&service, &last).await);
    let funded = wait_until(MINUTE, async || inventory(&service).await == OWN + 500).await;
    assert!(funded, "once, with the last of them");
}

/// Not the page itself says that it lacks a movement, but the balance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_leaves_a_movement_out_is_not_stored() {
    for denied in [false, true] {
        let (service, vault) = watched().await;
        vault.moves(deposited("a", 10_000));
        assert!(opened(&service, "a").await);
        {
            let mut script = vault.now();
            (script.hidden, script.denied) = (Some(usize::from(!denied)), denied);
            script.movements.extend([deposited("b", 20_000), deposited("c", 30_000)]);
        }
        let stays_out =
            !wait_until(Duration::from_millis(1_500), async || at(&service, "c").await.is_some())
                .await;
        assert!(stays_out, "denied: {denied}");
        vault.now().hidden = None;
        assert!(opened(&service, "b").await && opened(&service, "c").await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_left_without_an_attempt_stops_the_chain() {
    let (service, vault) = watched().await;
    let form = b"a stranger's".as_slice().into();
    vault.moves(VaultMovement::Left { form, amount: Amount(40), facts: "to 9xQe".into() });
    vault.moves(deposited("a", 10_000));
    let chain = format!("chain/{}", SOLANA.name());
    service.wait_for_episodes(&[("FOREIGN_PAYMENT", chain, true)]).await;
    assert!(opened(&service, "a").await, "deposits are taken in all the same");
    let paused = service.service_status().await.paused;
    let scopes: Vec<Scope> = paused.iter().map(|paused| paused.scope).collect();
    assert_eq!(scopes, [Scope::Chain(SOLANA)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_of_another_vault_is_refused() {
    let (mut service, vault) = watched().await;
    vault.moves(deposited("a", 10_000));
    assert!(opened(&service, "a").await);
    service.stop().await;
    vault.now().name = "another vault";
    assert_eq!(service.refused_start().await.class, "OTHER_VAULT");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_falls_behind_has_a_case_until_it_has_read_again() {
    let (mut service, vault) = watched().await;
    vault.now().read_to = 0;
    service.restart().await;
    assert_eq!(service.episodes(), []);
    service.clock.forward(61_000);
    let behind = |open| [("WATCHER_BEHIND", format!("chain/{}", SOLANA.name()), open)];
    service.wait_for_episodes(&behind(true)).await;
    vault.now().read_to = Millis::MAX;
    service.wait_for_episodes(&behind(false)).await;
}
