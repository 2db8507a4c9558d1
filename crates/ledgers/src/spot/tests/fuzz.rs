//! Reads drawn bytes as a log: the core accepts only bytes that it would write, and nothing panics.

use super::*;
use sim::fuzz::{Target, kind};
use std::mem::discriminant;

const WORDS: [&str; 6] =
    ["SPOT", "\u{1}", "\u{3}", "\u{7f}", "\0\0\0\0", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"];

fn target(name: &str) -> Target<'_> {
    Target { name, crate_dir: env!("CARGO_MANIFEST_DIR"), words: &WORDS }
}

/// Records of every kind, as they come about.
fn records() -> Vec<Record> {
    let mut core = born();
    let frozen = Command::Status(change(3, AccountStatus::Frozen, "k"));
    let horizon = Command::Horizon { id: Id(2), open: [Id(1)].into() };
    let ops =
        [op(1, Leg::Deposit, 3, 100), op(2, Leg::Withdraw, 3, 40), op(3, Leg::Withdraw, 4, 1)];
    let commands =
        vec![Command::Execute(ops.into()), Command::Fence(key(9, Leg::Deposit)), frozen, horizon];
    let (mut records, _) = core.run(commands);
    let mut place = Some(crate::spot::snapshot::PartStart::Head);
    while let Some(from) = place {
        let (part, after) = core.part(from, 9);
        records.extend(part);
        place = after;
    }
    records
}

/// A record has one spelling in bytes; books that were never written are refused, not panicked at.
#[test]
fn a_record_that_is_read_is_the_one_that_would_be_written() {
    let written = |records: &[Record]| frame::write(1, 0, records).unwrap().split_off(HEADER);
    let all = records();
    let mut starts: Vec<_> =
        all.iter().map(|record| written(std::slice::from_ref(record))).collect();
    starts.push(written(&all));
    let done = target("records").run(starts, |bytes| {
        let Some(records) = codec::read(bytes) else { return 0 };
        assert_eq!(written(&records), bytes, "{records:?}");
        let kinds: Vec<_> = records.iter().map(discriminant).take(3).collect();
        kind(&(kinds, born().apply(records).is_ok()))
    });
    assert!(done.kinds > 20, "{done:?}");
}

/// A batch counts as its header says, and only whole.
#[test]
fn a_batch_that_counts_is_the_one_that_would_be_written() {
    let all = records();
    let (one, more) = all.split_at(1);
    let starts = vec![frame::write(1, 0, one).unwrap(), frame::write(2, 5, more).unwrap()];
    let done = target("batches").run(starts, |bytes| match frame::parse_header(bytes) {
        frame::ParsedHeader::Nothing => 0,
        frame::ParsedHeader::Newer(version) => kind(&version),
        frame::ParsedHeader::Header(header) => {
            let body = bytes.get(HEADER..HEADER + header.len);
            let whole = body.filter(|body| header.fits(body)).and_then(codec::read);
            if let Some(records) = &whole {
                let again = frame::write(header.number, header.durable, records).unwrap();
                assert!(bytes.starts_with(&again), "{header:?} {records:?}");
            }
            kind(&(body.is_some(), whole.is_some()))
        }
    });
    assert!(done.kinds > 1, "{done:?}");
}
