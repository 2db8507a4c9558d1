//! `devnet demo`: the relay at work on a chain of this process, while its providers fail and it is killed once.
//!
//! `chain` is what is paid on, `product` the real server in a process of its own, `wire` speaks to it, `view` shows
//! how far it is, and `proof` counts the chain's own events at the end.

mod chain;
mod product;
mod proof;
mod view;
mod wire;

use crate::Outcome;
use chain::DemoChain;
use product::Product;
use std::path::PathBuf;
use std::time::Duration;
use view::{Progress, View};

/// Number of transfers in one request.
const BATCH: usize = 100;
/// From one look to the next.
const LOOK: Duration = Duration::from_millis(500);
/// Number of looks without a change after which the demo ends: something is stuck.
const STUCK_AFTER: u32 = 240;

/// What the demo is asked for.
#[derive(Debug, Clone)]
pub struct DemoRequest {
    pub transfers: usize,
    pub keys: usize,
    pub receivers: usize,
    pub block_millis: u64,
    /// The product's program; without it, it is built or found beside this one.
    pub portage: Option<PathBuf>,
    /// Where its folder is made; it is removed at the end.
    pub dir: PathBuf,
    /// Lines instead of a table, whatever the output is.
    pub plain: bool,
}

/// Shows it, and proves that each transfer was paid once.
///
/// # Errors
///
/// What does not start, does not end, or was not paid once.
pub fn run(request: &DemoRequest, print: &mut dyn FnMut(&str)) -> Outcome {
    if request.transfers == 0 || request.keys == 0 || request.receivers == 0 {
        return Err("transfers, keys and receivers are one at least".to_owned());
    }
    let program = product::find(request.portage.as_deref(), print)?;
    print("a chain with the real token contract is set up …");
    let chain = DemoChain::start(request)?;
    let mut product = Product::start(&program, &request.dir, chain.settings())?;
    print(&format!(
        "the relay listens at {}, and pays from {} with {} keys",
        product.address,
        chain.relay(),
        request.keys
    ));
    let view = View::new(request.plain);
    let mut demo = Demo { request, chain: &chain, view, killed: false };
    for line in chain.fail() {
        demo.view.note(&line, print);
    }
    demo.load(&mut product, print)?;
    let seen = demo.follow(&mut product, print)?;
    product.stop();
    print("");
    print(&proof::of(&chain, request.transfers, &seen)?);
    Ok(())
}

struct Demo<'a> {
    request: &'a DemoRequest,
    chain: &'a DemoChain,
    view: View,
    /// The process was killed and started again.
    killed: bool,
}

impl Demo<'_> {
    /// Posts all transfers in batches.
    fn load(&mut self, product: &mut Product, print: &mut dyn FnMut(&str)) -> Outcome {
        let all = self.request.transfers;
        for from in (0..all).step_by(BATCH) {
            let to = from.saturating_add(BATCH);
            let to = if to < all { to } else { all };
            let rows = from..to;
            wire::post_batch(product, rows.map(|n| self.chain.transfer(n)))?;
            self.view.show(&self.progress(product, to)?, print);
        }
        Ok(())
    }

    /// Looks until every transfer has ended; the process is killed once on the way.
    fn follow(&mut self, product: &mut Product, print: &mut dyn FnMut(&str)) -> Outcome<Progress> {
        let all = self.request.transfers;
        let (mut last, mut same) = (0, 0_u32);
        loop {
            let seen = self.progress(product, all)?;
            self.view.show(&seen, print);
            let ended = seen.completed.saturating_add(seen.failed);
            if ended >= all {
                return Ok(seen);
            }
            if !self.killed && ended >= all / 3 {
                self.killed = true;
                product.kill_and_start()?;
                let line =
                    "the relay was killed (SIGKILL) with transactions under way, and started again";
                self.view.note(line, print);
            }
            same = if ended == last { same.saturating_add(1) } else { 0 };
            last = ended;
            if same > STUCK_AFTER {
                return Err(format!(
                    "{ended} of {all} have ended, and nothing moves: {}",
                    product.log()
                ));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn progress(&self, product: &Product, accepted: usize) -> Outcome<Progress> {
        let stats = wire::stats(product)?;
        let (requests, spent) = (self.chain.requests(), self.chain.transactions());
        Ok(Progress { accepted, requests, transactions: spent, ..stats })
    }
}
