//! Reads all accounts of a ledger at one instant, from outside, while clients work.

use crate::Outcome;
use crate::book::{ASSET, ASSET_ID};
use crate::create::units;
use crate::history::{CallResult, Event, Op};
use crate::store::Store;
use crate::workload::Workload;
use client::Error;
use tokio::runtime::Runtime;

/// Whom the history names as the one that looked.
const LOOKER: u64 = u64::MAX;

fn invoke(workload: &Workload, ledger: &str) -> Outcome<u64> {
    let n = workload.journal.number();
    let op = Op::Snapshot { ledger: ledger.to_owned() };
    workload.journal.note(&Event::Invoke { n, client: LOOKER, op })?;
    Ok(n)
}

/// Funding's accounts, as the store shows them to any reader.
///
/// # Errors
/// The store's, or books that do not add up.
pub(crate) fn funding(workload: &Workload, store: &dyn Store) -> Outcome {
    let n = invoke(workload, "FUNDING")?;
    let books = store.books(ASSET_ID)?;
    let users: Vec<(i64, i64)> = books.users.iter().map(|(_, has)| *has).collect();
    let sums = users.iter().fold((0, 0), |sum, user| (sum.0 + user.0, sum.1 + user.1));
    let total = i128::from(sums.0) + i128::from(sums.1);
    if total + i128::from(books.clearing) + i128::from(books.world) != 0 {
        return Err(format!("Funding's books do not add up: {books:?}"));
    }
    let said = CallResult::Books { users, sums, clearing: books.clearing, world: books.world };
    workload.journal.note(&Event::Ok { n, said })
}

/// Every ledger's sums, and the service's own proof over all of it.
///
/// # Errors
/// The proof fails, or it halts.
pub(crate) fn proof(workload: &Workload, runtime: &Runtime) -> Outcome {
    let n = invoke(workload, "SPOT")?;
    let proof = match runtime.block_on(workload.client().conservation()) {
        Ok(proof) => proof,
        Err(Error::Unreachable(_)) => {
            return workload.journal.note(&Event::Fail { n, code: "UNREACHABLE".to_owned() });
        }
        Err(fault) => return workload.journal.note(&Event::Info { n, why: fault.to_string() }),
    };
    if !proof.ok || proof.halted.is_some() {
        return Err(format!("the service's own proof fails: {proof:?}"));
    }
    let spot = proof.assets.iter().find(|books| books.ledger == "SPOT" && books.asset == ASSET);
    let said = match spot {
        Some(books) => CallResult::Books {
            users: Vec::new(),
            sums: (units(&books.users)?, units(&books.frozen)?),
            clearing: units(&books.clearing)?,
            world: units(&books.world)?,
        },
        None => CallResult::Books { users: Vec::new(), sums: (0, 0), clearing: 0, world: 0 },
    };
    workload.journal.note(&Event::Ok { n, said })
}
