//! The customers of the swap campaign: they pay into the vault with a good memo, a bad one or dust, whatever happens to
//! the servers.

use super::chain::{CUSTOMERS, SolanaChain};
use crate::rng::Rng;
use crate::{Outcome, clock};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two deposits of all customers.
const REST: Duration = Duration::from_millis(60);
/// How long until as many deposits are made as are wanted.
const TIMEOUT: Duration = Duration::from_secs(600);
/// The least amount that is given back, in base units; what is below it is dust, and is kept.
pub(super) const MINIMUM: u64 = 200_001;
/// The most base units of a deposit.
const MOST: u64 = 5_000_000;
const RECEIVER: &str = "nexus:8CvLySLAWEKDB9SJSUDdRgzAG6ALVcXLzPQREN9Nbf7AzuJkg5P";

/// What was paid, in base units, by the signature of each payment.
pub(super) type Deposits = BTreeMap<String, u64>;

/// The customers at work.
#[derive(Debug)]
pub(super) struct Customers {
    over: Arc<AtomicBool>,
    paid: Arc<Mutex<Deposits>>,
    thread: JoinHandle<Outcome>,
}

impl Customers {
    pub(super) fn start(chain: &Arc<SolanaChain>, mut rng: Rng) -> Self {
        let (over, paid) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Deposits>>::default());
        let (chain, stop, book) = (chain.clone(), over.clone(), paid.clone());
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let amount = if rng.percent(10) {
                    1 + rng.below(MINIMUM - 1)
                } else {
                    MINIMUM + rng.below(MOST)
                };
                let memo = rng.one(&[RECEIVER, "nexus:0OIl", "for lunch"]).copied();
                let memo = memo.unwrap_or_default();
                let signature = chain.deposit(rng.below(CUSTOMERS), amount, memo)?;
                let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
                book.insert(signature, amount);
                drop(book);
                std::thread::sleep(REST);
            }
            Ok(())
        });
        Self { over, paid, thread }
    }

    fn count(&self) -> usize {
        self.paid.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Waits until as many deposits are made.
    pub(super) fn until(&self, deposits: u64) -> Outcome {
        let enough = || u64::try_from(self.count()).is_ok_and(|count| count >= deposits);
        let made = clock::until(TIMEOUT, || {
            std::thread::sleep(REST);
            enough().then_some(())
        });
        made.ok_or_else(|| {
            format!("{} deposits were made, and {deposits} are wanted", self.count())
        })
    }

    /// They pay no more; what they paid.
    pub(super) fn end(self) -> Outcome<Deposits> {
        self.over.store(true, Ordering::SeqCst);
        self.thread.join().map_err(|_| "the customers panicked")??;
        Ok(self.paid.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
