//! What another program signed with a key of the relay: found in the blocks, proven by the normal rules, and
//! never taken from one provider.

use super::world::{CHAIN, RELAY, USDC, VALIDITY, World, words};
use devnet::near::near_primitives::action::{Action, FunctionCallAction, TransferAction};
use devnet::near::near_primitives::types::{Balance, Gas};
use devnet::near::{Fault, Lie, Rule};
use kernel::attempt::{Attempt, AttemptId, Lock};
use kernel::ids::FlowId;
use kernel::money::Amount;
use kernel::ports::chain::{AttemptProof, Chain, ForeignUse, LaneMark, Payment};
use kernel::record::{Account, Record};
use links::near::NearChain;
use serde_json::json;

/// The relay's account after one payment of its own, and the mark of that lane.
struct Env {
    world: World,
    port: NearChain,
    mark: LaneMark,
}

impl Env {
    async fn new(endpoints: usize) -> Self {
        let world = World::new(endpoints);
        let port = world.port();
        let mut attempt = world.pay(&port, world.members(2)).await;
        let anchor = attempt.forms[0].anchor;
        world.see_through(&port, &mut attempt).await;
        let mark = LaneMark { lane: attempt.lane, lock: attempt.lock, anchor, seen: None };
        Self { world, port, mark }
    }

    fn next(&self) -> u64 {
        self.mark.lock.0.parse::<u64>().unwrap() + 1
    }

    /// Another program signs this with the key, and it waits for a block.
    fn sends(&self, nonce: u64, receiver: &str, actions: Vec<Action>) {
        let base = self.world.devnet.final_hash();
        let to = receiver.parse().unwrap();
        self.world.devnet.submit(self.world.relay.sign(nonce, base, &to, actions));
    }

    async fn ahead(&self) -> Result<Vec<String>, &'static str> {
        let marks = [self.mark.clone()];
        let found = self.port.ahead(&marks).await.map_err(|cause| cause.class)?;
        Ok(found.into_iter().map(|one| one.lock.to_string()).collect())
    }

    async fn foreign(&self) -> Result<Vec<ForeignUse>, String> {
        self.port.foreign(&self.mark).await.map_err(|cause| cause.to_string())
    }

    fn attempt(&self, one: &ForeignUse, members: Vec<Record>) -> Attempt {
        Attempt {
            id: AttemptId(99),
            chain: CHAIN,
            flow: FlowId(2),
            state: 0,
            version: Attempt::FIRST,
            lane: self.mark.lane.clone(),
            lock: one.lock.clone(),
            members: members.into(),
            forms: vec![one.form.clone()],
            sent: false,
            due_at: None,
            closed: None,
        }
    }
}

/// Pays an amount to a receiver.
pub(super) fn pay(receiver: &str, amount: &str, memo: &str) -> Action {
    let args = json!({ "receiver_id": receiver, "amount": amount, "memo": memo });
    Action::FunctionCall(Box::new(FunctionCallAction {
        method_name: "ft_transfer".to_owned(),
        args: args.to_string().into_bytes(),
        gas: Gas::from_teragas(10),
        deposit: Balance::from_yoctonear(1),
    }))
}

fn nothing() -> Action {
    Action::Transfer(TransferAction { deposit: Balance::ZERO })
}

/// Turns red where a payment of another program is not found, or its form is taken for one of other members.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_program_paid_is_found_and_proven() {
    let env = Env::new(2).await;
    assert_eq!(env.ahead().await, Ok(vec![]));
    let record = env.world.record("r1.devnet", 10);
    let memo = record.id.to_string();
    env.sends(env.next() + 3, env.world.token.as_str(), vec![pay("r1.devnet", "10", &memo)]);
    env.world.devnet.settle();
    assert_eq!(env.ahead().await, Ok(vec![(env.next() + 3).to_string()]));
    let found = env.foreign().await.unwrap();
    let [one] = &found[..] else { panic!("{found:?}") };
    let pays = one.pays.as_deref().unwrap();
    let account = Account::Named("r1.devnet".into());
    assert_eq!(pays[0].payment, Payment { account, asset: USDC, amount: Amount(10) });
    assert_eq!((pays[0].id, &one.names[..]), (record.id, &[record.id][..]));
    assert_eq!(one.payer, Account::Named(RELAY.into()));
    // the prover proves it as any other, and sends nothing
    let attempt = env.attempt(one, vec![record.clone()]);
    let sent = env.port.broadcast(std::slice::from_ref(&attempt)).await;
    assert_eq!(sent[0].as_ref().unwrap_err().class, "SENT_ELSEWHERE");
    let proof = env.port.prove(std::slice::from_ref(&attempt)).await.pop();
    let Some(AttemptProof::Closed(verdicts)) = proof else { panic!("{proof:?}") };
    assert_eq!(words(&verdicts), [("done", false)]);
    // of other members it proves nothing
    let other = env.attempt(one, vec![env.world.record("r1.devnet", 10)]);
    let proof = env.port.prove(std::slice::from_ref(&other)).await.pop();
    assert!(
        matches!(&proof, Some(AttemptProof::NotYet(cause)) if cause.class == "FOREIGN_FORM"),
        "{proof:?}"
    );
}

/// Turns red where a transaction that pays more than its members proves nothing of them, where a member that it does
/// not pay is proven by it, and where a payment that names no transfer hides the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_proves_those_of_its_payments_that_are_members() {
    let env = Env::new(2).await;
    let records: Vec<Record> =
        ["r1.devnet", "r2.devnet"].iter().map(|to| env.world.record(to, 10)).collect();
    let memo = |at: usize| records[at].id.to_string();
    let rent = pay("r1.devnet", "3", "rent");
    let actions = vec![rent, pay("r1.devnet", "10", &memo(0)), pay("r2.devnet", "10", &memo(1))];
    env.sends(env.next(), env.world.token.as_str(), actions);
    env.world.devnet.settle();
    let found = env.foreign().await.unwrap();
    let [one] = &found[..] else { panic!("{found:?}") };
    let ids: Vec<_> = one.pays.iter().flatten().map(|pay| pay.id).collect();
    assert_eq!(ids, [records[0].id, records[1].id]);
    let prove = async |members: Vec<Record>| {
        let attempt = env.attempt(one, members);
        env.port.prove(std::slice::from_ref(&attempt)).await.pop()
    };
    for members in [vec![records[0].clone()], vec![records[1].clone()], records.clone()] {
        let count = members.len();
        let proof = prove(members).await;
        let Some(AttemptProof::Closed(verdicts)) = proof else { panic!("{proof:?}") };
        assert_eq!(words(&verdicts), vec![("done", false); count]);
    }
    let (first, second) = (records[0].clone(), records[1].clone());
    let more = Record { id: env.world.record("r1.devnet", 10).id, ..first.clone() };
    for members in
        [vec![second, first.clone()], vec![first.clone(), first.clone()], vec![first, more], vec![]]
    {
        let proof = prove(members).await;
        let cause = match &proof {
            Some(AttemptProof::NotYet(cause)) => cause.class,
            _ => panic!("{proof:?}"),
        };
        assert_eq!(cause, "FOREIGN_FORM");
    }
}

/// Turns red where one of several is passed over: in another block, in the same block, one that failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_them_is_found_in_its_sequence() {
    let env = Env::new(2).await;
    let (next, token) = (env.next(), env.world.token.to_string());
    env.sends(next, RELAY, vec![nothing()]);
    env.sends(next + 1, RELAY, vec![nothing()]);
    env.world.devnet.settle();
    env.world.devnet.advance(40);
    let memo = env.world.record("r2.devnet", 5).id.to_string();
    env.sends(next + 7, &token, vec![pay("ghost.devnet", "5", &memo)]);
    env.world.devnet.settle();
    env.sends(next + 8, &token, vec![pay("r2.devnet", "5", "rent")]);
    env.world.devnet.settle();
    let found = env.foreign().await.unwrap();
    let locks: Vec<u64> = found.iter().map(|one| one.lock.0.parse().unwrap()).collect();
    assert_eq!(locks, [next, next + 1, next + 7, next + 8]);
    assert!(found.iter().all(|one| one.names.is_empty() && one.pays.is_none()), "{found:?}");
    assert!(found[2].facts.contains("it failed"), "{}", found[2].facts);
    // from the middle on, as it goes on once the first two are stored
    for at in 0..3 {
        let mark = LaneMark {
            lock: Lock(locks[at].to_string().into()),
            anchor: found[at].form.anchor,
            ..env.mark.clone()
        };
        let rest = env.port.foreign(&mark).await.unwrap();
        let rest: Vec<u64> = rest.iter().map(|one| one.lock.0.parse().unwrap()).collect();
        assert_eq!(rest, locks[at + 1..], "from {at}");
    }
}

/// Turns red where one provider's word explains a nonce: a chunk without the transaction, an outcome that is
/// not there, a nonce that is not spent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_provider_explains_nothing() {
    let env = Env::new(2).await;
    let record = env.world.record("r1.devnet", 10);
    let memo = record.id.to_string();
    let lie = |rule: Rule| env.world.devnet.endpoint(0).unwrap().add(rule);
    lie(Rule::always(Lie::Nonce { nonce: env.next() + 9 }));
    assert_eq!(env.ahead().await, Err("PROVIDERS_DISAGREE"));
    env.world.clear();
    env.sends(env.next(), env.world.token.as_str(), vec![pay("r1.devnet", "10", &memo)]);
    env.world.devnet.settle();
    let empty = json!({ "jsonrpc": "2.0", "id": "portage", "result": { "transactions": [] } });
    for rule in [
        Rule::always(Fault::Answer { code: 200, body: empty }).on(&["chunk"]),
        Rule::always(Lie::Unknown),
        Rule::always(Lie::Nonce { nonce: env.next() + 1 }),
        Rule::always(Lie::Nonce { nonce: env.next() - 1 }),
        Rule::always(Fault::Refuse),
    ] {
        lie(rule.clone());
        let found = env.foreign().await;
        assert!(found.is_err(), "{rule:?}: {found:?}");
        env.world.clear();
    }
    env.world.clock.forward(60_000);
    assert_eq!(env.foreign().await.map(|found| found.len()), Ok(1));
    let alone = Env::new(1).await;
    alone.sends(alone.next(), RELAY, vec![nothing()]);
    alone.world.devnet.settle();
    assert_eq!(alone.ahead().await, Ok(vec![alone.next().to_string()]), "it stops the pool");
    let why = alone.foreign().await.unwrap_err();
    assert!(why.contains("ONE_PROVIDER") && why.contains(&alone.next().to_string()), "{why}");
}

/// Turns red where what a wallet did in a row is not read to its end: more of it than one search reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_transactions_of_a_wallet_are_read_in_parts() {
    let mut env = Env::new(2).await;
    let first = env.next();
    for n in 0..100 {
        env.sends(first + n, RELAY, vec![nothing()]);
        if n % 3 == 0 {
            env.world.devnet.advance(1);
        }
    }
    env.world.devnet.settle();
    let (mut read, mut searches) = (Vec::new(), 0);
    while env.ahead().await != Ok(vec![]) {
        let found = env.foreign().await.unwrap();
        let last = found.last().unwrap();
        let (lock, anchor) = (last.lock.clone(), last.form.anchor);
        read.extend(found.iter().map(|one| one.lock.0.parse::<u64>().unwrap()));
        env.mark = LaneMark { lock, anchor, ..env.mark };
        searches += 1;
    }
    assert_eq!(read, (first..first + 100).collect::<Vec<_>>());
    assert!(searches > 1, "one search read all");
}

/// Turns red where endpoints that answer from replicas some blocks back say that a lane is level: below what was seen
/// ahead, or below what the journal has stored, nothing of now is shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_lag_do_not_show_a_lane_level() {
    let env = Env::new(2).await;
    env.world.devnet.advance(20);
    let before = env.world.devnet.height();
    env.sends(env.next(), RELAY, vec![nothing()]);
    env.world.devnet.settle();
    let lags = |blocks| {
        for endpoint in [0, 1] {
            env.world.devnet.endpoint(endpoint).unwrap().lag(blocks);
        }
    };
    let behind = env.world.devnet.height() - before;
    lags(behind);
    assert_eq!(env.ahead().await, Ok(vec![]), "it is not seen yet");
    lags(0);
    assert_eq!(env.ahead().await, Ok(vec![env.next().to_string()]));
    lags(behind);
    assert_eq!(env.ahead().await, Err("BEHIND"));
    let members = env.world.members(1);
    let next = env.port.next_lock(&env.mark.lane, Some(&env.mark.lock), &members).await;
    assert_eq!(next.unwrap_err().class, "BEHIND");
    let presence = env.port.lane_presence(&env.mark.lane, None).await;
    assert_eq!(presence.unwrap_err().class, "BEHIND");
    // another process, which has seen nothing: the engine gives it what the rows of the journal have stored
    let other = env.world.port();
    other.raise_floor(env.world.devnet.final_height());
    let level = other.ahead(std::slice::from_ref(&env.mark)).await;
    assert_eq!(level.unwrap_err().class, "BEHIND");
    lags(0);
    assert_eq!(env.ahead().await, Ok(vec![env.next().to_string()]));
}

/// Turns red where final blocks that are old by this machine's clock, or where a clock that is wrong, have a lane level,
/// a key gone, or an attempt expired; and where the clock is not named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_that_are_not_of_now_show_nothing_missing() {
    let env = Env::new(2).await;
    let attempt = env.world.pay(&env.port, env.world.members(1)).await;
    env.world.withhold();
    env.world.devnet.advance(2 * VALIDITY);
    let members = env.world.members(1);
    for wrong in [62_000, -62_000] {
        env.world.dated.shift(wrong);
        let cause = env.port.ahead(std::slice::from_ref(&env.mark)).await.unwrap_err();
        assert!(cause.to_string().contains("clock"), "{cause}");
        let next = env.port.next_lock(&env.mark.lane, Some(&env.mark.lock), &members).await;
        assert_eq!(next.unwrap_err().class, "PROVIDERS_DISAGREE");
        assert_eq!(env.world.not_yet(&env.port, &attempt).await, "PROVIDERS_DISAGREE");
    }
    env.world.dated.shift(50_000);
    assert_eq!(env.ahead().await, Ok(vec![]));
    let proof = env.port.prove(std::slice::from_ref(&attempt)).await.pop();
    assert!(matches!(proof, Some(AttemptProof::Form(_))), "{proof:?}");
}
