//! The relay by the binary where its journal was set back, and where another program has one of its keys: what
//! was paid is not paid again.
//!
//! Turns red where a lane that is ahead is not looked at before the first claim, where a payment that is found
//! is not bound to its transfer, and where a memo that no transfer has lets the pool go on.

use super::relay::{cases, completed, pause, status, taken_in, unpause};
use super::relay_chain::LocalChain;
use super::{Served, eventually};
use devnet::near::near_primitives::action::{Action, FunctionCallAction};
use devnet::near::near_primitives::types::{Balance, Gas};
use serde_json::json;
use std::path::Path;

fn kinds(served: &Served) -> Vec<String> {
    cases(served).into_iter().map(|(kind, _)| kind).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("a copy");
        }
    }
}

/// Copies the data of a folder, to go back to.
pub(super) fn keep(dir: &Path) {
    copy(&dir.join("data"), &dir.join("kept"));
}

/// The data of a folder is what it was at the last [`keep`].
pub(super) fn set_back(dir: &Path) {
    std::fs::remove_dir_all(dir.join("data")).expect("it was there");
    copy(&dir.join("kept"), &dir.join("data"));
}

#[test]
fn a_journal_that_was_set_back_pays_nothing_again() {
    let chain = LocalChain::start();
    let mut served = chain.served(2);
    let first = ["k-1", "k-2", "k-3", "k-4"];
    first.iter().for_each(|key| {
        taken_in(&served, key);
        completed(&served, &[key]);
    });
    pause(&served);
    let waiting = ["k-5", "k-6", "k-7"];
    waiting.iter().for_each(|key| drop(taken_in(&served, key)));
    let queued =
        |served: &Served| waiting.iter().all(|key| status(served, key) == "QUEUED_TRANSFER");
    eventually("they wait", || queued(&served));
    served.again(keep);
    unpause(&served);
    completed(&served, &waiting);
    assert_eq!(chain.payments().len(), 7);
    served.again(set_back);
    // the journal says that they wait; a person's pause keeps nothing from being explained
    completed(&served, &waiting);
    unpause(&served);
    assert_eq!(chain.payments().len(), 7, "one was paid twice");
    taken_in(&served, "k-8");
    completed(&served, &["k-8"]);
    eventually("every case is over", || kinds(&served).is_empty());
    assert_eq!(chain.payments().len(), 8);
    // the journal does not know what was taken in after the copy
    served.again(set_back);
    unpause(&served);
    eventually("a person is asked", || kinds(&served).contains(&"FOREIGN_PAYMENT".to_owned()));
    completed(&served, &waiting);
    taken_in(&served, "k-9");
    let keys = served.json(&["relay", "status"]);
    assert!(keys["paused"].to_string().contains("FOREIGN_PAYMENT"), "{keys}");
    assert_eq!(chain.payments().len(), 8);
    assert_ne!(status(&served, "k-9"), "COMPLETED");
}

#[test]
fn a_key_that_another_program_uses_is_explained() {
    let chain = LocalChain::start();
    let served = chain.served(2);
    for key in ["k-1", "k-2", "k-3"] {
        taken_in(&served, key);
        completed(&served, &[key]);
    }
    for wallet in &chain.keys {
        let key = wallet.public_key();
        let nonce = chain.devnet.nonce(&wallet.account, &key).expect("a key") + 3;
        let args = json!({ "receiver_id": "alice.devnet", "amount": "1", "memo": "rent" });
        let call = Action::FunctionCall(Box::new(FunctionCallAction {
            method_name: "ft_transfer".to_owned(),
            args: args.to_string().into_bytes(),
            gas: Gas::from_teragas(10),
            deposit: Balance::from_yoctonear(1),
        }));
        let signed = wallet.sign(nonce, chain.devnet.final_hash(), &chain.token, vec![call]);
        chain.devnet.submit(signed);
        eventually("it is final", || chain.devnet.nonce(&wallet.account, &key) == Some(nonce));
    }
    for key in ["k-4", "k-5", "k-6"] {
        taken_in(&served, key);
        completed(&served, &[key]);
    }
    eventually("every case is over", || kinds(&served).is_empty());
    assert_eq!(served.json(&["ops", "pauses"])["pauses"], json!([]));
    let rent = chain.payments().into_iter().filter(|(memo, _)| memo == "rent").count();
    assert_eq!((chain.payments().len() - rent, rent), (6, 2));
}
