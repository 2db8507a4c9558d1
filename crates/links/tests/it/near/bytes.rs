//! The bytes that are signed are those of NEAR's own types, and no secret leaves the adapter.

use super::world::{RELAY, World};
use devnet::near::near_primitives::action::Action;
use devnet::near::near_primitives::transaction::SignedTransaction;
use kernel::attempt::Purpose;
use kernel::ports::chain::{Chain, SignRequest};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nears_own_types_read_what_is_signed() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    let attempt = world.pay(&port, members.clone()).await;
    let form = &attempt.forms[0];
    let signed: SignedTransaction = borsh::from_slice(&form.bytes).unwrap();
    assert_eq!(borsh::to_vec(&signed).unwrap(), &*form.bytes);
    let (hash, _) = signed.transaction.get_hash_and_size();
    assert_eq!(hash.0, &*form.name);
    assert!(signed.signature.verify(hash.as_ref(), signed.transaction.public_key()));
    assert_eq!(signed.transaction.signer_id().as_str(), RELAY);
    assert_eq!(signed.transaction.receiver_id(), &world.token);
    assert_eq!(signed.transaction.nonce().nonce().to_string(), *attempt.lock.0);
    for (action, member) in signed.transaction.actions().iter().zip(&members) {
        let Action::FunctionCall(call) = action else { unreachable!("{action:?}") };
        assert_eq!((call.method_name.as_str(), call.deposit.as_yoctonear()), ("ft_transfer", 1));
        let args: serde_json::Value = serde_json::from_slice(&call.args).unwrap();
        assert_eq!(args["memo"], member.id.to_string());
        assert_eq!(args["memo"].as_str().map(str::len), Some(26));
    }
    // what takes the lock alone goes to the relay itself, and pays nothing
    let request = SignRequest {
        flow: "relay",
        act: "ft_transfer",
        lane: attempt.lane.clone(),
        lock: attempt.lock.clone(),
        members: attempt.members.clone(),
        purpose: Purpose::Void,
        forms: attempt.forms.clone(),
    };
    let void = port.sign(&request).await.unwrap();
    assert!(void.pays.is_empty());
    let signed: SignedTransaction = borsh::from_slice(&void.form.bytes).unwrap();
    let [Action::Transfer(nothing)] = signed.transaction.actions() else { unreachable!() };
    assert!(nothing.deposit.is_zero() && signed.transaction.receiver_id().as_str() == RELAY);
    // and where it lands, the members are dead
    let mut voided = attempt.clone();
    voided.forms.push(void.form);
    let verdicts = world.see_through(&port, &mut voided).await;
    assert_eq!(super::world::words(&verdicts), [("dead", false); 2]);
    assert_eq!(world.paid(&members), [0, 0]);
}

#[test]
fn settings_that_cannot_work_are_refused_without_their_secrets() {
    let world = World::new(2);
    let fits = |change: fn(&mut links::near::NearSettings)| {
        let mut settings = world.settings();
        change(&mut settings);
        let ring = links::near::KeyRing::plain([world.relay.key.to_string().as_str()]).unwrap();
        links::near::NearChain::new(
            settings,
            std::sync::Arc::new(ring),
            world.dated.clone(),
            world.meter.clone(),
        )
    };
    assert!(fits(|_| ()).is_ok());
    let changes: [fn(&mut links::near::NearSettings); 10] = [
        |s| s.providers_needed = 3,
        |s| s.providers_needed = 0,
        |s| s.rpc_urls[1] = s.rpc_urls[0].clone(),
        |s| s.rpc_urls[1] = "ftp://canary".to_owned(),
        |s| s.rpc_urls[1] = "canary".to_owned(),
        |s| s.tokens.clear(),
        |s| s.account = "Relay.near".into(),
        |s| s.batch = 101,
        |s| s.tokens[0].least_tgas = 301,
        |s| s.limits.timeout_ms = 0,
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let refused = fits(change).unwrap_err().to_string();
        assert!(!refused.contains("canary"), "{n}: {refused}");
    }
    let mut settings = world.settings();
    settings.rpc_urls[1] = format!("{}/canary?key=canary", settings.rpc_urls[1]);
    let shown = format!("{:?}", world.port_with(settings));
    assert!(
        !shown.contains("canary") && !shown.contains(&world.relay.key.to_string()[20..]),
        "{shown}"
    );
}
