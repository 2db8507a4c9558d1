use crate::client::World;
use devnet::Outcome;

#[test]
fn a_batch_is_paid() -> Outcome {
    let world = World::manual()?;
    let signed = world.transfers(&["alice.devnet", "bob.devnet"])?;
    let sent = world.send(&signed, "NONE")?;
    println!("{}", sent.body);
    world.devnet.settle();
    let tx = world.tx(signed.get_hash(), "FINAL")?;
    println!("{}", serde_json::to_string_pretty(&tx.body).unwrap());
    println!("{:?}", world.devnet.events(&world.token));
    println!("{:?}", world.devnet.money());
    assert_eq!(world.balance("alice.devnet")?, 1);
    Ok(())
}
