//! Reads a store for the oracles, beside the process that serves it.

use crate::Outcome;

/// Names of the states in the journal.
const STATES: [(i64, &str); 8] = [
    (0, "INIT"),
    (10, "SOURCE_PENDING"),
    (20, "SOURCE_DONE"),
    (30, "TARGET_PENDING"),
    (40, "COMMITTED"),
    (-10, "FAILED"),
    (-20, "COMPENSATING"),
    (-30, "ROLLED_BACK"),
];

/// A transfer as its row says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    pub key: String,
    /// What was asked for, in the driver's spelling.
    pub body: String,
    pub state: String,
    pub user: u64,
    /// True from Funding to Spot.
    pub in_to_spot: bool,
    /// The amount in base units.
    pub units: i64,
}

/// Funding's books as of one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Books {
    /// By user: available and frozen.
    pub users: Vec<(u64, (i64, i64))>,
    /// Money on its way.
    pub clearing: i64,
    /// What came from the outside, as a negative sum.
    pub world: i64,
}

impl Books {
    /// One more row of clearing or of the outside.
    pub(crate) fn add(&mut self, name: &str, units: i64) -> Outcome {
        if name.eq_ignore_ascii_case("clearing") {
            self.clearing += units;
        } else if name.eq_ignore_ascii_case("world") {
            self.world += units;
        } else {
            return Err(format!("an unknown book: {name}"));
        }
        Ok(())
    }
}

/// What is asked of it.
pub trait Store {
    /// How many transfers have not ended.
    ///
    /// # Errors
    /// The store's.
    fn open_transfers(&self) -> Outcome<u64>;

    /// The transfer that a key is bound to.
    ///
    /// # Errors
    /// The store's.
    fn bound(&self, key: &str) -> Outcome<Option<Row>>;

    /// Every transfer.
    ///
    /// # Errors
    /// The store's.
    fn all(&self) -> Outcome<Vec<Row>>;

    /// An external booking: its id, user and base units.
    ///
    /// # Errors
    /// The store's.
    fn external(&self, reference: &str) -> Outcome<Option<(i64, u64, i64)>>;

    /// Funding's books of one asset, as of one instant.
    ///
    /// # Errors
    /// The store's.
    fn books(&self, asset: u32) -> Outcome<Books>;
}

/// The name of a state.
pub(crate) fn state(number: i64) -> String {
    let name = STATES.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

/// The driver's spelling of a transfer.
pub(crate) fn body(user: u64, in_to_spot: bool, units: i64) -> String {
    let way = if in_to_spot { "FUNDING>SPOT" } else { "SPOT>FUNDING" };
    format!("{user} {way} {units}")
}
