//! Asks the rule of a state for its decision on a record, and writes down which facts the rule had. For the
//! plan.

use kernel::agreed::Agreed;
use kernel::flow::life::Ruling;
use kernel::flow::table::{R, Table};
use kernel::record::{Facts, Record, decision};
use std::sync::Arc;

/// The decision of a rule.
pub(crate) enum Decision {
    /// Yes, and what is agreed with that where the rule accepts the transfer.
    Yes(Option<Arc<Agreed>>),
    No,
    NotYet,
}

/// Asks the rule of the record's state. A yes that accepts the transfer without knowing what is agreed is
/// *not yet*.
pub(crate) fn decided(table: &Table, rule: R, record: &Record, facts: Option<&Facts>) -> Decision {
    let none = Facts::new();
    let facts = facts.unwrap_or(&none);
    match (table.rule)(rule, record, facts) {
        Ruling::Yes if !table.accepts(record.head.state) => Decision::Yes(None),
        Ruling::Yes => (table.agreement)(rule, record, facts)
            .map_or(Decision::NotYet, |agreed| Decision::Yes(Some(Arc::new(agreed)))),
        Ruling::No => Decision::No,
        Ruling::NotYet => Decision::NotYet,
    }
}

/// The detail of a decision's event: the rule and the facts that it had.
pub(crate) fn stored(table: &Table, rule: R, facts: &Facts) -> Arc<str> {
    let name = table.rules.get(usize::from(rule)).copied().unwrap_or_default();
    decision(name, facts).into()
}
