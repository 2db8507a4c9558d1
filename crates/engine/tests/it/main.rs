//! The engine on the real store and the real Spot core: who a ledger is, and what must add up.
#![expect(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

mod burst;
mod commit;
mod events;
mod fixture;
mod halt;
mod invoice;
mod locks;
mod observed_deposits;
mod offered;
mod operators;
mod postgres;
mod proof;
mod publishing;
mod relayed;
mod remote_ledger;
mod replayed;
mod retired;
mod roles;
mod screened;
mod swapped;
mod vault_books;
mod vault_watch;
