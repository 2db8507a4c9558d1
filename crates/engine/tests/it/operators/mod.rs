//! What operators do: actions, verdicts, cases, pauses and limits.

mod actions;
mod cancellations;
mod cases;
mod chain_stops;
mod crashes;
mod deposits;
mod freed_accounts;
mod limits;
mod numbered_accounts;
mod pauses;
mod verdict_races;
mod verdicts;
