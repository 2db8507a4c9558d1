//! What landed late, block by block until all that it did is final.
//!
//! Red with a build that says of a nonce which its own transaction spent that none of ours is found.

use super::world::{World, words};
use devnet::near::{Fault, Rule};
use kernel::ports::chain::{AttemptProof, Chain as _};

/// Its nonce is spent at a final block before its receipts are final: nothing is wrong with that, and no person is
/// called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_landed_late_is_found_before_it_is_final() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    let attempt = world.pay(&port, members.clone()).await;
    // later than it is a surprise that it is not found, and in time
    world.everywhere(&Rule::always(Fault::Late { blocks: 24 }).on(&["send_tx"]));
    drop(port.broadcast(std::slice::from_ref(&attempt)).await);
    world.clear();
    let mut seen = Vec::new();
    for _ in 0..40 {
        match port.prove(std::slice::from_ref(&attempt)).await.remove(0) {
            AttemptProof::NotYet(cause) => seen.push(cause.class),
            AttemptProof::Closed(verdicts) => {
                assert_eq!(words(&verdicts), [("done", false); 2]);
                seen.dedup();
                assert_eq!(seen, ["NOT_FOUND", "NOT_FINAL"]);
                return;
            }
            other @ (AttemptProof::Form(_) | AttemptProof::SpentElsewhere(_)) => {
                unreachable!("{other:?}: it is not past its last block")
            }
        }
        world.devnet.advance(1);
    }
    unreachable!("it is final in the end: {seen:?}")
}
