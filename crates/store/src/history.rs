//! Links the stored entries of a transfer's history to its hash chain, for both stores.

use kernel::audit::proof::StoredEntry;
use kernel::audit::{self, Hash};
use kernel::flow::table::Flows;
use kernel::ports::journal::Linked;
use kernel::record::Record;

/// The hash before a history's first entry.
pub(crate) fn birth(flows: &Flows, record: &Record) -> Hash {
    audit::birth(record.id, flows.table(record.flow).flow, &record.terms)
}

/// The entries behind that hash, each with the one before it.
pub(crate) fn linked(mut prev: Hash, entries: Vec<StoredEntry>) -> Vec<Linked> {
    let mut linked = Vec::with_capacity(entries.len());
    for StoredEntry { entry, hash, .. } in entries {
        linked.push(Linked { entry, prev, hash });
        prev = hash;
    }
    linked
}
