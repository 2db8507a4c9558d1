//! The history of an address, page by page, newest first.

use super::{Chain, record::Record};
use solana_address::Address;
use solana_signature::Signature;

/// What one page of an address's history is to hold.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) address: Address,
    /// Only older ones than this.
    pub(crate) before: Option<Signature>,
    /// Only newer ones than this; one that the node does not know ends no page.
    pub(crate) until: Option<Signature>,
    pub(crate) limit: usize,
    /// Transactions that the index lacks.
    pub(crate) hidden: Vec<Signature>,
}

impl Chain {
    pub(crate) fn record(&self, signature: &Signature, height: u64) -> Option<&Record> {
        self.records.get(signature).filter(|record| record.height <= height)
    }

    /// The transactions of an address up to this height.
    pub(crate) fn history(&self, page: &Page, height: u64) -> Vec<&Record> {
        let place = |record: &Record| (record.height, record.index);
        let before = match &page.before {
            None => None,
            Some(before) => match self.record(before, height) {
                Some(record) => Some(place(record)),
                None => return Vec::new(),
            },
        };
        let until = page.until.as_ref().and_then(|until| self.record(until, height)).map(place);
        let of_address = self.addresses.get(&page.address).into_iter().flatten().rev();
        of_address
            .filter(|signature| !page.hidden.contains(signature))
            .filter_map(|signature| self.record(signature, height))
            .filter(|record| before.is_none_or(|before| place(record) < before))
            .take_while(|record| until.is_none_or(|until| place(record) > until))
            .take(page.limit)
            .collect()
    }
}
