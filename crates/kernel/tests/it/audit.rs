//! A small audit in memory, tampered with in every way: each is found, and named.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a model built wrong fails its test"
)]

use crate::table::record;
use kernel::audit::proof::{
    ChainStart, ChainVerifier, End, Fault, Findings, RecordedSeal, StoredEntry, UnitFault,
};
use kernel::audit::seal::{Seal, SealKey, Sealing};
use kernel::audit::{
    AuditUnit, Entry, OPERATORS, UnitDigest, action_entry, birth, genesis, hex, link,
};
use kernel::ids::{AssetId, ChainId, Day, Id, LedgerId, Serial, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::record::{Account, Binding, Origin, Record, System, Terms, TermsVersion};
use std::collections::BTreeSet;
use std::sync::Arc;

const KEY: &[u8] = b"the key of these seals";

/// A transfer's row, or the operators' chain.
#[derive(Clone)]
struct Row {
    record: Option<Record>,
    serial: u64,
    entries: Vec<StoredEntry>,
    end: Option<End>,
}

impl Row {
    fn chain(&self) -> ChainStart {
        let (id, start) = match &self.record {
            Some(record) => (record.id, birth(record.id, "toy", &record.terms)),
            None => (OPERATORS, genesis(OPERATORS)),
        };
        ChainStart { id, serial: Serial(self.serial), start }
    }

    /// The entries of this text, each linked to the one before, and the row's end with them.
    fn relink(&mut self) {
        let mut prev = self.chain().start;
        for stored in &mut self.entries {
            prev = link(prev, &stored.entry);
            stored.hash = prev;
        }
        let events = u32::try_from(self.entries.len()).unwrap();
        let state = self.entries.last().map_or(0, |stored| stored.entry.to);
        let agreed = self.entries.iter().find_map(|stored| stored.entry.agreed);
        self.end =
            self.record.as_ref().map(|_| End { state, events, hash: prev, agreed, created_at: 7 });
    }
}

#[derive(Clone)]
struct Model {
    rows: Vec<Row>,
    units: Vec<AuditUnit>,
    seals: Vec<Seal>,
}

fn entry(seq: u32, to: i16, event: &str) -> Entry {
    let from = (seq > 0).then_some(to - 10);
    let (caller, detail) = (None, None);
    Entry { seq, at: 7, from, to, event: event.to_owned(), caller, detail, agreed: None }
}

impl Model {
    /// Seven transfers of four entries each, which end in units of others that began later; two
    /// actions of operators; a seal after every third unit.
    fn new() -> Self {
        let mut rows = vec![Row { record: None, serial: 0, entries: Vec::new(), end: None }];
        for (seq, unit) in [(0, 2), (1, 9)] {
            let entry = action_entry(seq, 7, "HALT", "ops|1", &["key", "service", "{}", "a test"]);
            rows[0].entries.push(StoredEntry { entry, hash: [0; 32], lane: 0, unit });
        }
        for serial in 1..=7_u64 {
            let at = |seq| serial + u64::from(seq) * (serial % 3);
            let words = [(0, 0, "CREATED"), (1, 10, "CALL"), (2, 20, "OK"), (3, 30, "END")];
            let stored = |(seq, to, word)| {
                let (entry, unit) = (entry(seq, to, word), at(seq));
                StoredEntry { entry, hash: [0; 32], lane: 0, unit }
            };
            let entries = words.into_iter().map(stored).collect();
            let record = Some(record(u128::from(serial) + 1_000));
            rows.push(Row { record, serial, entries, end: None });
        }
        rows.iter_mut().for_each(Row::relink);
        let mut model = Self { rows, units: Vec::new(), seals: Vec::new() };
        model.digest();
        model.seal(KEY);
        model
    }

    /// Every unit made of what the rows say.
    fn digest(&mut self) {
        let stored = || self.rows.iter().flat_map(|row| &row.entries);
        let last = stored().map(|stored| stored.unit).fold(0, |a, b| if a > b { a } else { b });
        let unit = |n| {
            let mut digest = UnitDigest::default();
            stored().filter(|stored| stored.unit == n).for_each(|stored| digest.push(stored.hash));
            AuditUnit { lane: 0, n, count: digest.count, digest: digest.finish(0, n) }
        };
        self.units = (1..=last).map(unit).collect();
        // the journal writes a row only where there is something, so its numbers have no hole
        assert!(self.units.iter().all(|unit| unit.count > 0));
    }

    fn seal(&mut self, key: &[u8]) {
        self.seals.clear();
        for units in self.units.chunks(3) {
            let mut sealing = Sealing::after(self.seals.last());
            assert!(units.iter().all(|unit| sealing.push(unit)));
            self.seals.extend(sealing.seal(&SealKey::new(key), 9));
        }
    }

    fn proven(&self, kept: Option<RecordedSeal>) -> Findings {
        let mut proof = ChainVerifier::new(SealKey::new(KEY), kept, true);
        for row in &self.rows {
            for StoredEntry { lane, unit, .. } in &row.entries {
                if proof.lacks(*lane, *unit) {
                    let found = self.units.iter().find(|row| (row.lane, row.n) == (*lane, *unit));
                    found.into_iter().for_each(|found| proof.row(*found));
                }
            }
            proof.begin(row.chain());
            row.entries.iter().for_each(|stored| proof.entry(stored));
            proof.end(row.end);
        }
        let mut seals = proof.chained();
        let mut units = self.units.iter().peekable();
        for seal in &self.seals {
            while let Some(unit) = units.next_if(|unit| unit.n <= seal.cover.of(unit.lane)) {
                seals.unit(unit);
            }
            seals.seal(seal.clone());
        }
        units.for_each(|unit| seals.unit(unit));
        seals.finish()
    }

    fn faults(&self) -> Vec<Fault> {
        self.proven(None).faults
    }

    fn terms(&mut self, row: usize, change: impl FnOnce(&mut Terms)) {
        let record = self.rows[row].record.as_mut().unwrap();
        let mut terms = Terms::clone(&record.terms);
        change(&mut terms);
        record.terms = Arc::new(terms);
    }
}

fn transfer(serial: u64) -> Id {
    Id(u128::from(serial) + 1_000)
}

fn unit(n: u64, what: UnitFault) -> Fault {
    Fault::Unit { lane: 0, n, what }
}

#[test]
fn an_untouched_audit_is_whole() {
    let model = Model::new();
    let found = model.proven(None);
    assert_eq!(found.faults, []);
    let counted = (found.transfers, found.entries, found.units, found.unsealed, found.seals);
    assert_eq!(counted, (7, 30, 11, 0, 4));
    assert_eq!(found.last.as_ref(), model.seals.last());
    for Seal { number, root, mac, .. } in model.seals.clone() {
        assert_eq!(model.proven(Some(RecordedSeal { number, root, mac })).faults, []);
    }
}

#[test]
fn what_is_not_sealed_yet_is_counted() {
    let mut model = Model::new();
    model.seals.pop();
    let found = model.proven(None);
    assert_eq!((found.faults, found.unsealed), (vec![], 2));
}

#[test]
fn a_change_names_its_entry() {
    let mut model = Model::new();
    model.rows[3].entries[1].entry.event = "OTHER".to_owned();
    assert_eq!(model.faults(), [Fault::Entry { id: transfer(3), seq: 1 }]);
    let mut model = Model::new();
    model.rows[0].entries[1].entry.caller = Some("ops|2".to_owned());
    assert_eq!(model.faults(), [Fault::Entry { id: OPERATORS, seq: 1 }]);
}

#[test]
fn an_agreement_is_that_of_one_entry_and_of_the_row() {
    let mut model = Model::new();
    let agreeing = |model: &mut Model, places: &[usize]| {
        for (n, place) in (7..).zip(places) {
            model.rows[3].entries[*place].entry.agreed = Some([n; 32]);
        }
        model.rows[3].relink();
        model.digest();
        model.seal(KEY);
    };
    agreeing(&mut model, &[2]);
    assert_eq!(model.faults(), []);
    let differs = Fault::RowDiffers { id: transfer(3), what: "agreement" };
    for agreed in [None, Some([8; 32])] {
        let mut changed = model.clone();
        changed.rows[3].end.as_mut().unwrap().agreed = agreed;
        assert_eq!(changed.faults(), std::slice::from_ref(&differs));
    }
    let mut removed = model.clone();
    removed.rows[3].entries[2].entry.agreed = None;
    assert_eq!(removed.faults(), [Fault::Entry { id: transfer(3), seq: 2 }, differs]);
    agreeing(&mut model, &[2, 3]);
    assert_eq!(model.faults(), [Fault::AgreedAgain { id: transfer(3), seq: 3 }]);
}

#[test]
fn a_change_of_the_terms_names_its_transfer() {
    let changes: [fn(&mut Terms); 5] = [
        |terms| terms.source.amount = Amount(1_000_000),
        |terms| terms.fee = Amount(2),
        |terms| terms.principal = "another".into(),
        |terms| terms.target.account = kernel::record::Account::Named("mine".into()),
        |terms| terms.memo = Some(String::new()),
    ];
    for change in changes {
        let mut model = Model::new();
        model.terms(3, change);
        assert_eq!(model.faults(), [Fault::Entry { id: transfer(3), seq: 0 }]);
    }
    let words = Fault::Entry { id: transfer(3), seq: 0 }.to_string();
    assert!(words.contains("amount"), "{words}");
}

/// A row of release 0.1.0, as its columns hold it.
fn kept() -> Terms {
    let ends = [LedgerId::FUNDING, LedgerId::SPOT];
    let user = UserId(4001);
    let between = Terms::between_ledgers("i|4001".into(), user, ends, AssetId(3), Amount(100));
    let binding = Binding { scope: "i|4001".into(), key: "paid".into(), fingerprint: [7; 32] };
    Terms {
        version: TermsVersion::V1,
        binding: Some(binding),
        reference: Some("invoice-7".to_owned()),
        metadata: [("order".to_owned(), "17".to_owned())].into(),
        day: Some(Day(20_000)),
        ..between
    }
}

/// What 0.1.0 wrote proves true for ever. Seen red with a version byte before the first version's fields.
#[test]
fn terms_of_the_first_version_keep_their_hash() {
    let hash = birth(Id(1), "internal", &kept());
    assert_eq!(hex(&hash), "5ccb67e5342ec16d61970453a0ade916383d4e97a6351a51c23e543fdbe00a7e");
    let now = Terms { version: TermsVersion::V2, ..kept() };
    assert_eq!(
        hex(&birth(Id(1), "internal", &now)),
        "dd921c0a098658840fd7ee9f85859aac34f6104f6173c9352c5148d6419865c7"
    );
    // the second version knew no refund fee
    let more = Terms { refund_fee: Amount(1), ..now.clone() };
    assert_eq!(birth(Id(1), "internal", &more), birth(Id(1), "internal", &now));
}

/// Seen red with a version that leaves out the target's asset, its amount, the origin or the owner.
#[test]
fn every_field_of_the_terms_changes_the_hash() {
    let origin = |chain, key: &str| Some(Origin { chain: ChainId(chain), key: key.into() });
    let changes: Vec<fn(&mut Terms)> = vec![
        |_| (),
        |terms| terms.version = TermsVersion::V1,
        |terms| terms.version = TermsVersion::V2,
        |terms| terms.principal = "i|4002".into(),
        |terms| terms.owner = TransferOwner::User(UserId(4002)),
        |terms| terms.owner = TransferOwner::Principal("i|4001".into()),
        |terms| {
            terms.owner = TransferOwner::ChainAccount { chain: ChainId(30), account: "a".into() }
        },
        |terms| {
            terms.owner = TransferOwner::ChainAccount { chain: ChainId(31), account: "a".into() }
        },
        |terms| terms.binding = None,
        |terms| terms.binding.iter_mut().for_each(|binding| binding.scope = "i".into()),
        |terms| terms.binding.iter_mut().for_each(|binding| binding.key = "k".into()),
        |terms| terms.binding.iter_mut().for_each(|binding| binding.fingerprint = [8; 32]),
        |terms| terms.source.system = System::Ledger(LedgerId::MARGIN),
        |terms| terms.source.account = Account::Named("4001".into()),
        |terms| terms.source.asset = AssetId(4),
        |terms| terms.source.amount = Amount(101),
        |terms| terms.target.system = System::Ledger(LedgerId::MARGIN),
        |terms| terms.target.account = Account::Unnamed,
        |terms| terms.target.asset = AssetId(4),
        |terms| terms.target.amount = Amount(101),
        |terms| terms.fee = Amount(1),
        |terms| terms.refund_fee = Amount(1),
        |terms| terms.deadline = Some(0),
        |terms| terms.deadline = Some(1),
        |terms| terms.memo = Some(String::new()),
        |terms| terms.reference = None,
        |terms| terms.metadata = [("order".to_owned(), "18".to_owned())].into(),
        |terms| terms.metadata = [("orders".to_owned(), "17".to_owned())].into(),
        |terms| terms.metadata.clear(),
        |terms| terms.day = None,
        |terms| terms.day = Some(Day(1)),
    ];
    let mut all = BTreeSet::new();
    let mut add = |terms: &Terms, what: String| {
        assert!(all.insert(birth(Id(1), "internal", terms)), "{what} is not hashed");
    };
    for (n, change) in changes.iter().enumerate() {
        let mut terms = Terms { version: TermsVersion::V3, ..kept() };
        change(&mut terms);
        add(&terms, format!("change {n}"));
    }
    for (chain, key) in [(30, "a"), (31, "a"), (30, "b")] {
        let origin = origin(chain, key);
        add(&Terms { version: TermsVersion::V3, origin, ..kept() }, format!("{chain} {key}"));
    }
    let plain = Terms { version: TermsVersion::V3, ..kept() };
    assert!(all.insert(birth(Id(2), "internal", &plain)));
    assert!(all.insert(birth(Id(1), "account", &plain)));
}

#[test]
fn a_change_that_was_hashed_again_is_found_in_its_units() {
    let mut model = Model::new();
    model.rows[3].entries[1].entry.event = "OTHER".to_owned();
    model.rows[3].relink();
    // all entries of this transfer are in one unit
    assert_eq!(model.faults(), [unit(3, UnitFault::Digest)]);
    model.digest();
    let sealed = "its units are not those that it sealed";
    assert_eq!(model.faults(), [Fault::Seal { number: 1, what: sealed }]);
    model.seal(b"another key");
    let forged = "its MAC is not of the key: forged";
    let numbers = (1..=4).map(|number| Fault::Seal { number, what: forged });
    assert_eq!(model.faults(), numbers.collect::<Vec<_>>());
    // with the key only the copy in the log tells
    let Seal { number, root, mac, .. } = Model::new().seals[0].clone();
    model.seal(KEY);
    assert_eq!(model.faults(), []);
    let found = model.proven(Some(RecordedSeal { number, root, mac }));
    assert_eq!(found.faults, [Fault::RecordedSeal { number: 1, what: "here it is another one" }]);
}

#[test]
fn a_removed_transfer_is_named_by_its_number_and_its_units() {
    let mut model = Model::new();
    model.rows.remove(4);
    let missing = |n| unit(n, UnitFault::TooFew(1));
    let removed = Fault::Removed { from: 4, to: 4 };
    assert_eq!(model.faults(), [removed, missing(4), missing(5), missing(6), missing(7)]);
}

#[test]
fn a_transfer_without_an_opening_is_named() {
    let mut model = Model::new();
    let mut row = model.rows[7].clone();
    row.serial = 8;
    row.record = Some(record(9_999));
    row.relink();
    model.rows.push(row);
    let found = model.faults();
    let id = Id(9_999);
    assert!(found.contains(&unit(8, UnitFault::TooMany(id))), "{found:?}");
    for stored in &mut model.rows[8].entries {
        stored.unit += 100;
    }
    assert!(model.faults().contains(&unit(107, UnitFault::NoRow(id))));
}

#[test]
fn a_row_that_stands_elsewhere_is_named() {
    let mut model = Model::new();
    if let Some(end) = &mut model.rows[2].end {
        end.state = 20;
    }
    assert_eq!(model.faults(), [Fault::RowDiffers { id: transfer(2), what: "state" }]);
    let mut model = Model::new();
    model.rows[2].entries.pop();
    let found = model.faults();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.contains(&unit(8, UnitFault::TooFew(1))), "{found:?}");
}

#[test]
fn a_removed_unit_is_named() {
    let mut model = Model::new();
    model.units.remove(4);
    let found = model.faults();
    assert!(found.contains(&unit(5, UnitFault::Gap)), "{found:?}");
    let no_row =
        |fault: &Fault| matches!(fault, Fault::Unit { n: 5, what: UnitFault::NoRow(_), .. });
    assert!(found.iter().any(no_row), "{found:?}");
    let what = "units that it covers are missing";
    assert!(found.contains(&Fault::Seal { number: 2, what }), "{found:?}");
}

/// Everything that came after unit 7 is gone, without a trace in what is left.
fn cut() -> Model {
    let mut model = Model::new();
    for row in &mut model.rows {
        row.entries.retain(|stored| stored.unit <= 7);
        row.relink();
    }
    model.units.truncate(7);
    model
}

#[test]
fn a_cut_end_is_found_by_its_seals() {
    let mut model = cut();
    let fault = |seal, sealed| Fault::Cut { seal, lane: 0, sealed, last: 7 };
    assert_eq!(model.faults(), [fault(3, 9), fault(4, 11)]);
    // without its seals only the one that was kept elsewhere tells
    let Seal { number, root, mac, .. } = model.seals[3].clone();
    model.seals.truncate(2);
    assert_eq!(model.faults(), []);
    let found = model.proven(Some(RecordedSeal { number, root, mac }));
    let what = "it is not there: the end was cut off";
    assert_eq!(found.faults, [Fault::RecordedSeal { number: 4, what }]);
}

#[test]
fn a_swapped_order_is_found() {
    let mut model = Model::new();
    model.rows[3].entries.swap(1, 2);
    let id = transfer(3);
    let wrong = |seq| Fault::Entry { id, seq };
    assert_eq!(model.faults()[..2], [wrong(1), wrong(2)]);
    let mut model = Model::new();
    let (a, b) = (model.units[3], model.units[4]);
    model.units[3] = AuditUnit { n: a.n, ..b };
    model.units[4] = AuditUnit { n: b.n, ..a };
    let found = model.faults();
    assert!(found.iter().any(|f| matches!(f, Fault::Unit { n: 4, .. })), "{found:?}");
    let what = "its units are not those that it sealed";
    assert!(found.contains(&Fault::Seal { number: 2, what }), "{found:?}");
}

#[test]
fn a_seal_cannot_be_changed_moved_or_taken_out() {
    let forged = |number| Fault::Seal { number, what: "its MAC is not of the key: forged" };
    let mut model = Model::new();
    model.seals[1].at += 1;
    let what = "it does not follow the seal before it";
    assert_eq!(model.faults(), [forged(2), Fault::Seal { number: 3, what }]);
    let mut model = Model::new();
    model.seals[1].cover = model.seals[0].cover.clone();
    assert!(model.faults().contains(&forged(2)), "{:?}", model.faults());
    let mut model = Model::new();
    model.seals.swap(1, 2);
    assert!(model.faults().len() >= 2, "{:?}", model.faults());
    let mut model = Model::new();
    model.seals.remove(1);
    let what = "seals before it are missing";
    assert!(model.faults().contains(&Fault::Seal { number: 3, what }), "{:?}", model.faults());
}

#[test]
fn a_seal_covers_no_gap() {
    let model = Model::new();
    let mut sealing = Sealing::after(None);
    assert!(sealing.push(&model.units[0]));
    assert!(!sealing.push(&model.units[2]), "unit 2 is not there yet");
    let other = AuditUnit { lane: 4, ..model.units[0] };
    assert!(sealing.push(&other), "another lane goes on");
    let seal = sealing.seal(&SealKey::new(KEY), 1).unwrap();
    assert_eq!(seal.cover.to_string(), "0:1,4:1");
    assert!(Sealing::after(Some(&seal)).seal(&SealKey::new(KEY), 2).is_none(), "nothing is new");
}

#[test]
fn no_two_actions_share_their_hash() {
    let of = |fields: &[&str]| link(genesis(OPERATORS), &action_entry(0, 1, "A", "b", fields));
    assert_ne!(of(&["a", "b"]), of(&["ab"]));
    assert_ne!(of(&["a", "b"]), of(&["a", "b", ""]));
    assert_ne!(of(&["a\",\"b"]), of(&["a", "b"]));
}
