//! Tests, with drawn requests, that the records alone give the books, and that a snapshot of the books
//! gives them too.

use super::*;
use crate::spot::snapshot::PartStart;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn leg() -> impl Strategy<Value = Leg> {
    prop_oneof![Just(Leg::Withdraw), Just(Leg::Deposit), Just(Leg::Refund), Just(Leg::Settle)]
}

fn any_op() -> impl Strategy<Value = Op> {
    (1..40_u128, leg(), 0..5_u64, 0..50_u128, 1..4_u32).prop_map(
        |(id, leg, user, amount, asset)| Op { asset: AssetId(asset), ..op(id, leg, user, amount) },
    )
}

fn any_command() -> impl Strategy<Value = Command> {
    let statuses = [AccountStatus::Active, AccountStatus::Frozen, AccountStatus::Disabled];
    let ids = prop::collection::vec((1..40_u128).prop_map(Id), 0..8);
    prop_oneof![
        20 => prop::collection::vec(any_op(), 0..8).prop_map(|ops| Command::Execute(ops.into())),
        2 => (1..40_u128, leg()).prop_map(|(id, leg)| Command::Fence(key(id, leg))),
        1 => (1..30_u128, ids)
            .prop_map(|(id, open)| Command::Horizon { id: Id(id), open: open.into() }),
        1 => (0..9_u64).prop_map(Command::Halt),
        2 => (1..5_u64, 0..3_usize, 0..9_u8).prop_map(move |(user, status, key)| {
            Command::Status(change(user, statuses[status], &key.to_string()))
        }),
    ]
}

/// The books, read from a snapshot of them.
fn through_a_snapshot(core: &Core) -> Core {
    let mut read = Core::new(ASSETS);
    let mut place = Some(PartStart::Head);
    while let Some(from) = place {
        let (records, after) = core.part(from, 9);
        read.apply(through_bytes(&records)).unwrap();
        place = after;
    }
    read
}

proptest! {
    #[test]
    fn a_replay_is_what_ran_and_no_effect_happens_twice(
        batches in prop::collection::vec(prop::collection::vec(any_command(), 1..5), 1..30),
    ) {
        let (mut ran, mut replayed) = (born(), born());
        let mut stored = BTreeSet::new();
        // Every batch is asked twice.
        for batch in batches.into_iter().flat_map(|batch| [batch.clone(), batch]) {
            let (records, _) = ran.run(batch);
            for record in &records {
                if let Record::Result { entry, .. } = record {
                    prop_assert!(stored.insert(entry.key()), "{entry:?}");
                }
            }
            replayed.apply(through_bytes(&records)).unwrap();
            prop_assert_eq!(&replayed, &ran);
            replayed = through_a_snapshot(&ran);
            prop_assert_eq!(&replayed, &ran);
            ran.whole();
        }
    }

    #[test]
    fn garbage_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Some(records) = codec::read(&bytes) {
            prop_assert_eq!(&through_bytes(&records), &records);
            // Nor does taking it panic.
            born().apply(records).ok();
        }
        frame::parse_header(&bytes);
    }
}
