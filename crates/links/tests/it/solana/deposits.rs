//! The deposits of the vault: who paid in what, and that nothing is left out.
//!
//! Red with wrong builds whose cursor passes a gap (`a_movement_that_is_left_out_is_a_gap`), that name a deposit by its
//! transaction alone (`each_payment_of_a_transaction_is_a_deposit`), that read blocks which are not final
//! (`a_deposit_that_is_taken_back_is_none`), or that believe a doubled memo (`one_memo_names_the_receiver`).

use super::world::{CHAIN, SUPPLY, USDC, World};
use devnet::solana::{
    Address, Edit, Fault, Lie, MEMO_PROGRAM, OLD_MEMO_PROGRAM, Rule, Wallet, sign_message,
};
use flows::swaps::fees::SwapFees;
use kernel::answer::Cause;
use kernel::ids::{AssetId, ChainId, FlowId};
use kernel::money::Amount;
use kernel::ports::deposits::{DepositSource, VAULT_GAP, VaultMovement, VaultPage};
use kernel::record::{Account, Terms};
use links::solana::{DepositSettings, SolanaDeposits};
use serde_json::json;
use solana_instruction::Instruction;
use spl_associated_token_account_interface::{
    address::get_associated_token_address,
    instruction::{create_associated_token_account, recover_nested},
};

const NEXUS: ChainId = ChainId(22);
const TIMEOUT: u64 = 3_600_000;

/// A customer with money, and the vault that it pays.
struct Deposits {
    world: World,
    alice: Wallet,
}

impl Deposits {
    fn new() -> Self {
        let world = World::new(2);
        world.devnet.mint_to(&[(world.alices, SUPPLY)]).unwrap();
        world.devnet.settle();
        let alice = world.alice.clone();
        Self { world, alice }
    }

    fn settings(&self) -> DepositSettings {
        DepositSettings {
            flow: FlowId(3),
            principal: "it|watcher".into(),
            target_chain: NEXUS,
            target_asset: AssetId(5),
            fees: SwapFees::new(SwapFees::SWAP_IN).unwrap(),
            refund_timeout_ms: TIMEOUT,
            funding_accounts: Vec::new(),
            start: None,
            normal_lag_ms: 60_000,
            interval_ms: 1_000,
        }
    }

    fn source(&self) -> SolanaDeposits {
        self.world.port().deposits(self.settings()).unwrap()
    }

    /// A deposit of alice in the newest block.
    fn pays(&self, amount: u64, memos: &[&str]) -> String {
        let world = &self.world;
        let deposit = world.devnet.deposit(&self.alice, &world.account, amount, memos).unwrap();
        let name = deposit.signatures[0].to_string();
        world.devnet.submit(deposit);
        world.devnet.advance(1);
        name
    }

    /// Instructions of alice in a block.
    fn runs(&self, instructions: &[Instruction]) {
        self.world.devnet.run(instructions, &[&self.alice]).unwrap();
    }

    fn payment(&self, amount: u64) -> Instruction {
        self.world.devnet.payment(&self.alice, &self.world.account, amount).unwrap()
    }
}

async fn begins(source: &SolanaDeposits) -> VaultPage {
    let page = source.movements(None, 10).await.unwrap();
    assert!(page.movements.is_empty() && page.before == page.after);
    page
}

/// All pages behind one, each of which goes on from the balance of the one before.
async fn read(source: &SolanaDeposits, from: &VaultPage, limit: usize) -> Vec<VaultMovement> {
    let (mut last, mut all) = (from.clone(), Vec::new());
    loop {
        let page = source.movements(Some(&last.place), limit).await.unwrap();
        assert_eq!(page.before, last.after);
        assert!(page.read_to >= last.read_to);
        all.extend(page.movements.clone());
        if !page.more {
            return all;
        }
        last = page;
    }
}

fn deposited(movements: &[VaultMovement]) -> Vec<Terms> {
    let of = |movement: &VaultMovement| match movement {
        VaultMovement::Deposited(terms) => Some(terms.clone()),
        VaultMovement::Offered(_)
        | VaultMovement::Funded(_)
        | VaultMovement::TakenIn(_)
        | VaultMovement::Left { .. } => None,
    };
    movements.iter().filter_map(of).collect()
}

fn amounts(movements: &[VaultMovement]) -> Vec<u128> {
    deposited(movements).iter().map(|terms| terms.source.amount.0).collect()
}

fn memo(program: Address, text: &str) -> Instruction {
    Instruction::new_with_bytes(program, text.as_bytes(), vec![])
}

/// Turns red where the sender is another account than the one that paid, where the fee or the deadline is another, and
/// where a page ends in the middle of a block.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_opens_a_swap_of_what_came_in() {
    let deposits = Deposits::new();
    let (source, world) = (deposits.source(), &deposits.world);
    assert_eq!((source.chain(), source.asset(), source.flow()), (CHAIN, USDC, FlowId(3)));
    let from = begins(&source).await;
    assert_eq!(from.after, Amount(SUPPLY.into()));
    let name = deposits.pays(300_000, &["nexus: 8Bk5"]);
    let paid_at = world.devnet.time()();
    world.devnet.settle();
    let page = source.movements(Some(&from.place), 10).await.unwrap();
    assert_eq!((page.before, page.after), (from.after, Amount((SUPPLY + 300_000).into())));
    let [terms] = &deposited(&page.movements)[..] else { panic!("{page:?}") };
    assert_eq!(terms.source.account, Account::Named(world.alices.to_string().into()));
    assert_eq!(terms.target.account, Account::Named("8Bk5".into()));
    assert_eq!(terms.memo.as_deref(), Some("nexus: 8Bk5"));
    assert_eq!(&*terms.origin.as_ref().unwrap().key, format!("{name}/0"));
    let quote = SwapFees::new(SwapFees::SWAP_IN).unwrap().quote(terms.source.amount);
    assert_eq!((terms.fee, terms.target.amount), (quote.fee, quote.net));
    assert_eq!(terms.refund_fee, quote.refund_fee);
    let deadline = terms.deadline.unwrap() - TIMEOUT;
    assert!(paid_at.abs_diff(deadline) < 1_000, "by the time of its block, in whole seconds");
    // read again from there: nothing more, and the place goes on
    let next = source.movements(Some(&page.place), 10).await.unwrap();
    assert!(next.movements.is_empty() && !next.more && next.after == page.after);
    // more than fit on a page
    for n in 0..7 {
        deposits.pays(1_000 + n, &[]);
    }
    world.devnet.settle();
    for limit in [1, 3, 100] {
        let all = read(&source, &page, limit).await;
        assert_eq!(amounts(&all), (1_000..1_007).collect::<Vec<u128>>(), "{limit}");
    }
}

/// Turns red where one payment hides another, where both have one key, or where one that a program made, one that does
/// not name its mint, or one behind a table of addresses is left out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_payment_of_a_transaction_is_a_deposit() {
    let deposits = Deposits::new();
    let (source, world) = (deposits.source(), &deposits.world);
    let from = begins(&source).await;
    deposits.runs(&[deposits.payment(5), memo(MEMO_PROGRAM, "hi"), deposits.payment(6)]);
    let unchecked = spl_token_interface::instruction::transfer(
        &devnet::solana::TOKEN_PROGRAM,
        &world.alices,
        &world.account,
        &deposits.alice.address(),
        &[],
        7,
    );
    deposits.runs(&[unchecked.unwrap()]);
    // a program pays: it sends back what lies in an account of the vault's account
    let (vault, program) = (world.vault.address(), devnet::solana::TOKEN_PROGRAM);
    let nested = get_associated_token_address(&world.account, &world.mint);
    let create = create_associated_token_account(&vault, &world.account, &world.mint, &program);
    let pays = world.devnet.payment(&deposits.alice, &nested, 40).unwrap();
    world.devnet.run(&[create, pays], &[&world.vault, &deposits.alice]).unwrap();
    let recover = recover_nested(&vault, &world.mint, &world.mint, &program);
    world.devnet.run(&[recover], &[&world.vault]).unwrap();
    world.devnet.mint_to(&[(world.account, 8)]).unwrap();
    world.devnet.settle();
    let all = read(&source, &from, 100).await;
    assert_eq!(amounts(&all), [5, 6, 7, 40, 8]);
    let terms = deposited(&all);
    let path = |n: usize| {
        let key = &terms[n].origin.as_ref().unwrap().key;
        key.split('/').next_back().unwrap().to_owned()
    };
    assert_eq!([path(0), path(1), path(2)], ["0", "2", "0"]);
    assert!(path(3).starts_with("0."), "an inner instruction: {}", path(3));
    assert_eq!(terms[3].source.account, Account::Named(nested.to_string().into()));
    assert_eq!(terms[4].source.account, Account::Unnamed, "what was created has no sender");
    let keys: std::collections::BTreeSet<_> =
        terms.iter().map(|one| &one.origin).map(|one| one.as_ref().map(|one| &one.key)).collect();
    assert_eq!(keys.len(), 5);
}

/// The token program has instructions that hold others. Turns red where a payment that no instruction says holds up the
/// vault, or has no sender though one account alone paid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_no_instruction_says_is_a_deposit() {
    let deposits = Deposits::new();
    let source = deposits.source();
    let from = begins(&source).await;
    let mut batch = deposits.payment(30);
    let (accounts, length) = (batch.accounts.len(), batch.data.len());
    let head = [255, u8::try_from(accounts).unwrap(), u8::try_from(length).unwrap()];
    batch.data.splice(0..0, head);
    deposits.runs(&[batch, deposits.payment(3)]);
    deposits.world.devnet.settle();
    let terms = deposited(&read(&source, &from, 10).await);
    let [terms] = &terms[..] else { panic!("{terms:?}") };
    assert_eq!(terms.source.amount, Amount(33));
    let alices = deposits.world.alices.to_string().into();
    assert_eq!(terms.source.account, Account::Named(alices));
    assert!(terms.origin.as_ref().unwrap().key.ends_with("/balance"));
}

/// Turns red where a second memo, by whichever program, does not take the first one's word, and where another text does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_memo_names_the_receiver() {
    let deposits = Deposits::new();
    let source = deposits.source();
    let from = begins(&source).await;
    for memos in [
        &[memo(MEMO_PROGRAM, "NEXUS:8Bk5"), memo(MEMO_PROGRAM, "thanks")][..],
        &[memo(MEMO_PROGRAM, "nexus:8Bk5"), memo(OLD_MEMO_PROGRAM, "nexus:Thief")],
        &[memo(MEMO_PROGRAM, "nexus:8Bk5"), memo(MEMO_PROGRAM, "nexus:")],
        &[memo(MEMO_PROGRAM, "nexus_txid:8Bk5")],
        &[],
    ] {
        let pays = std::iter::once(deposits.payment(9)).chain(memos.iter().cloned());
        deposits.runs(&pays.collect::<Vec<_>>());
    }
    deposits.world.devnet.settle();
    let named: Vec<bool> = deposited(&read(&source, &from, 100).await)
        .iter()
        .map(|terms| terms.target.account != Account::Unnamed)
        .collect();
    assert_eq!(named, [true, false, false, false, false]);
}

/// Turns red where a block that is not final is read, and where what is in it again is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_that_is_taken_back_is_none() {
    let deposits = Deposits::new();
    let (source, world) = (deposits.source(), &deposits.world);
    let from = begins(&source).await;
    deposits.pays(10, &[]);
    world.devnet.advance(5);
    assert!(read(&source, &from, 10).await.is_empty(), "confirmed is not final");
    world.devnet.roll_back(6, false).unwrap();
    deposits.pays(11, &[]);
    world.devnet.settle();
    assert_eq!(amounts(&read(&source, &from, 10).await), [11]);
}

/// Turns red where a failed payment, or a stranger who only names the account, is a movement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moves_nothing_is_no_movement() {
    let deposits = Deposits::new();
    let (source, world) = (deposits.source(), &deposits.world);
    let from = begins(&source).await;
    let too_much = deposits.payment(2 * SUPPLY);
    let hash = world.devnet.blockhash();
    world.devnet.submit(sign_message(&[too_much], &[&deposits.alice], hash).unwrap());
    world.devnet.advance(1);
    let (alice, account) = (deposits.alice.address(), world.account);
    deposits.runs(&[solana_system_interface::instruction::transfer(&alice, &account, 1_000)]);
    world.devnet.settle();
    assert!(read(&source, &from, 10).await.is_empty());
}

/// Payouts and deposits in one block, and money of the service's own. Turns red where what left has another name than the
/// form that paid it, where a block's sequence is the index's, or where funding opens a swap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_leaves_and_what_is_our_own_opens_no_swap() {
    let deposits = Deposits::new();
    let (world, port) = (&deposits.world, deposits.world.port());
    let owner = world.devnet.create_wallet("owner").unwrap();
    let fund = world.devnet.create_token_account(&owner.address()).unwrap();
    world.devnet.mint_to(&[(fund, 1_000)]).unwrap();
    world.devnet.settle();
    let mut settings = deposits.settings();
    settings.funding_accounts = vec![fund.to_string().into()];
    let source = port.deposits(settings).unwrap();
    let from = begins(&source).await;
    let attempt = world.pay(&port, world.record(&world.alices, 500)).await;
    for amount in [5, 4, 500, 3] {
        let hash = world.devnet.blockhash();
        let pays = sign_message(&[deposits.payment(amount)], &[&deposits.alice], hash).unwrap();
        world.devnet.submit(pays);
    }
    world.send(&port, &attempt).await;
    let pays = world.devnet.payment(&owner, &world.account, 700).unwrap();
    world.devnet.run(&[pays], &[&owner]).unwrap();
    world.devnet.settle();
    let all = read(&source, &from, 100).await;
    let mut swaps = amounts(&all);
    swaps.sort_unstable();
    assert_eq!(swaps, [3, 4, 5, 500]);
    assert!(all.contains(&VaultMovement::Funded(Amount(700))));
    let left: Vec<_> = all
        .iter()
        .filter_map(|one| match one {
            VaultMovement::Left { form, amount, .. } => Some((form.clone(), *amount)),
            VaultMovement::Deposited(_)
            | VaultMovement::Offered(_)
            | VaultMovement::Funded(_)
            | VaultMovement::TakenIn(_) => None,
        })
        .collect();
    assert_eq!(left, [(attempt.forms[0].name.clone(), Amount(500))]);
}

async fn refused(source: &SolanaDeposits, from: &VaultPage) -> Cause {
    source.movements(Some(&from.place), 10).await.unwrap_err()
}

/// Turns red where a page is given without what an index, or all of them, leave out; and where one index is believed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_movement_that_is_left_out_is_a_gap() {
    let deposits = Deposits::new();
    let (source, world) = (deposits.source(), &deposits.world);
    let from = begins(&source).await;
    let names: Vec<String> = (0..3).map(|n| deposits.pays(10 + n, &[])).collect();
    world.devnet.settle();
    let gap = |name: &String| Rule::always(Lie::Gap { signatures: vec![name.clone()] });
    for hidden in &names {
        // one of them has it: it is read there
        world.endpoint(0).add(gap(hidden));
        assert_eq!(amounts(&read(&source, &from, 10).await), [10, 11, 12]);
        world.clear();
        // none has it: also the last one is missed, by the vault's balance
        world.everywhere(&gap(hidden));
        assert_eq!(refused(&source, &from).await.class, VAULT_GAP, "{hidden}");
        world.clear();
    }
    // an index that has nothing, and one whose transaction is not found anywhere
    let empty = Fault::Edited { edits: vec![Edit::set("", json!([]))] };
    world.everywhere(&Rule::always(empty).on(&["getSignaturesForAddress"]));
    assert_eq!(refused(&source, &from).await.class, VAULT_GAP);
    world.clear();
    world.everywhere(&Rule::always(Lie::Unknown).of(&names[1]));
    assert_eq!(refused(&source, &from).await.class, VAULT_GAP);
    world.clear();
    // one provider shows another amount
    let at = "/meta/postTokenBalances/*/uiTokenAmount/amount";
    let more = Fault::Edited { edits: vec![Edit::set(at, json!("9000000"))] };
    world.endpoint(1).add(Rule::always(more).on(&["getTransaction"]));
    assert_eq!(refused(&source, &from).await.class, "PROVIDERS_DISAGREE");
    world.clear();
    assert_eq!(amounts(&read(&source, &from, 10).await), [10, 11, 12]);
}

/// Turns red where the watch begins in front of the transaction that the settings name, or without the balance there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_watch_begins_behind_a_transaction() {
    let deposits = Deposits::new();
    let (world, port) = (&deposits.world, deposits.world.port());
    let names: Vec<String> = (0..3).map(|n| deposits.pays(20 + n, &[])).collect();
    world.devnet.settle();
    let mut settings = deposits.settings();
    settings.start = Some(names[0].as_str().into());
    let source = port.deposits(settings.clone()).unwrap();
    let from = begins(&source).await;
    assert_eq!(from.after, Amount((SUPPLY + 20).into()));
    assert_eq!(amounts(&read(&source, &from, 10).await), [21, 22]);
    settings.start = Some(devnet::solana::Signature::default().to_string().into());
    let never = port.deposits(settings.clone()).unwrap().movements(None, 10).await.unwrap_err();
    assert_eq!(never.class, "NOT_SHOWN");
    settings.funding_accounts = vec![world.account.to_string().into()];
    assert!(port.deposits(settings).is_err());
}
