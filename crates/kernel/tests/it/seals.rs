//! Seals and hashes by themselves: what is one, and what only looks like one.
#![expect(clippy::expect_used, reason = "a model built wrong fails its test")]

use kernel::audit::proof::{ChainVerifier, Fault, Findings, RecordedSeal};
use kernel::audit::seal::{Seal, SealKey, Sealing};
use kernel::audit::{AuditUnit, hex, unhex};
use kernel::ids::Serial;

const KEY: &[u8] = b"the key of these seals";

fn key() -> SealKey {
    SealKey::new(KEY)
}

fn unit(lane: u64, n: u64) -> AuditUnit {
    AuditUnit { lane, n, count: 1, digest: [7; 32] }
}

fn sealed(last: Option<&Seal>, units: &[AuditUnit]) -> Seal {
    let mut sealing = Sealing::after(last);
    assert!(units.iter().all(|unit| sealing.push(unit)));
    sealing.seal(&key(), 9).expect("a seal")
}

/// Seals after their units, with what was kept of one.
fn proven(seals: &[(Vec<AuditUnit>, Seal)], kept: Option<RecordedSeal>) -> Findings {
    let mut proof = ChainVerifier::new(key(), kept, true).chained();
    for (units, seal) in seals {
        units.iter().for_each(|unit| proof.unit(unit));
        proof.seal(seal.clone());
    }
    proof.finish()
}

#[test]
fn a_hash_has_sixty_four_digits_and_nothing_else() {
    let hash = std::array::from_fn(|n| u8::try_from(n * 8).unwrap_or(0));
    let text = hex(&hash);
    assert_eq!(unhex(&text), Some(hash));
    assert_eq!(unhex(&text.to_uppercase()), Some(hash));
    let none = [&text[..62], &format!("{text}00"), &"+1".repeat(32), &"g0".repeat(32), ""];
    assert_eq!(none.map(unhex), [None; 5]);
}

/// Turns red where two changes of a MAC undo each other.
#[test]
fn a_mac_counts_whole() {
    let seal = sealed(None, &[unit(0, 1)]);
    assert!(seal.is_of(&key()) && !seal.is_of(&SealKey::new(b"another key")));
    let mut forged = seal;
    forged.mac.iter_mut().take(2).for_each(|byte| *byte ^= 1);
    assert!(!forged.is_of(&key()));
}

/// A key that was replaced verifies what it sealed, and nothing that comes after its successor. Turns red where the
/// order of the keys is not looked at: a thief of the former key could go on sealing.
#[test]
fn a_former_key_seals_nothing_after_its_successor() {
    let (former, present) = (key(), SealKey::new(b"the next key"));
    let seal = |last: Option<&Seal>, n: u64, key: &SealKey| {
        let mut sealing = Sealing::after(last);
        assert!(sealing.push(&unit(0, n)));
        sealing.seal(key, 1).expect("a seal")
    };
    let first = seal(None, 1, &former);
    let second = seal(Some(&first), 2, &present);
    let third = seal(Some(&second), 3, &former);
    let both = present.clone().with_former(&[KEY.to_vec()]);
    assert_eq!(
        [&first, &second, &third].map(|seal| seal.key_age(&both)),
        [Some(1), Some(0), Some(1)]
    );
    let forged = |seals: &[&Seal], key: &SealKey| {
        let mut verifier = ChainVerifier::new(key.clone(), None, true).chained();
        seals.iter().for_each(|seal| verifier.seal((*seal).clone()));
        let faults = verifier.finish().faults;
        let forged = faults.iter().filter_map(|fault| {
            let Fault::Seal { number, what } = fault else { return None };
            what.contains("forged").then_some(*number)
        });
        forged.collect::<Vec<_>>()
    };
    assert!(forged(&[&first, &second], &both).is_empty());
    assert_eq!(forged(&[&first, &second, &third], &both), [3]);
    assert_eq!(forged(&[&first, &second], &present), [1]);
}

/// Turns red where a lane that stands still is taken for one that went back.
#[test]
fn a_seal_may_leave_a_lane_where_it_was() {
    let first = sealed(None, &[unit(0, 1), unit(1, 1)]);
    let second = sealed(Some(&first), &[unit(1, 2)]);
    let less = "it covers less than the seal before it";
    let back = |seals: &[(Vec<AuditUnit>, Seal)]| {
        let less = |fault: &Fault| matches!(fault, Fault::Seal { what, .. } if *what == less);
        proven(seals, None).faults.iter().any(less)
    };
    let begun = (vec![unit(0, 1), unit(1, 1)], first);
    let mut shrunk = second.clone();
    shrunk.cover.0.insert(0, 0);
    assert!(!back(&[begun.clone(), (vec![unit(1, 2)], second)]));
    assert!(back(&[begun, (vec![unit(1, 2)], shrunk)]));
}

/// Turns red where it is enough that one of the two is the same.
#[test]
fn a_kept_seal_is_its_root_and_its_mac() {
    let seal = sealed(None, &[unit(0, 1)]);
    let same = RecordedSeal { number: seal.number, root: seal.root, mac: seal.mac };
    let another = |kept: RecordedSeal| {
        let found = proven(&[(vec![unit(0, 1)], seal.clone())], Some(kept));
        found.faults.iter().any(|fault| matches!(fault, Fault::RecordedSeal { .. }))
    };
    let root = RecordedSeal { root: [1; 32], ..same };
    let mac = RecordedSeal { mac: [1; 32], ..same };
    assert_eq!([another(same), another(root), another(mac)], [false, true, true]);
}

/// A row that cannot be read is named; of more than two hundred faults the others are counted.
#[test]
fn what_cannot_be_read_is_named_and_counted() {
    let mut proof = ChainVerifier::new(key(), None, true);
    (1..=300).for_each(|n| proof.unreadable(Serial(n), "no JSON".to_owned()));
    let found = proof.chained().finish();
    assert_eq!((found.faults.len(), found.wrong, found.transfers), (200, 300, 300));
    let first = Fault::Unreadable { serial: 1, what: "no JSON".to_owned() };
    assert_eq!(found.faults.first(), Some(&first));
}
