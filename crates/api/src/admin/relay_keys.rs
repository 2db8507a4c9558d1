//! The bodies of the relay's keys and their state.

use super::chains::{ChainGenesis, ChainProvider, OpenChainAttempt};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The keys of the relay, as the journal has them now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayKeys {
    /// The name of the chain.
    #[schema(example = "NEAR")]
    pub chain: String,
    /// The relay's account on it.
    #[schema(example = "relay.near")]
    pub account_id: String,
    /// Why nothing is claimed or sent on the chain, where something keeps it; a person lifts each.
    #[schema(example = json!(["LANE_AHEAD: ed25519:6E8s, nonce 48 is spent and no attempt is stored"]))]
    pub paused: Vec<String>,
    /// Why keys that the chain is ahead of are not explained yet, as this process saw it last.
    #[schema(example = json!(["ed25519:6E8s: no transaction is shown that spent it"]))]
    pub unexplained: Vec<String>,
    /// Every key that was used, or that this process has, by name.
    pub keys: Vec<RelayKey>,
    /// What the account has in NEAR, as one provider says; `null` where that is not known now.
    #[schema(example = "12.500000000000000000000000")]
    pub balance: Option<String>,
    /// Nothing is signed while the account has less NEAR; `null` with `balance`.
    #[schema(example = "0.500000000000000000000000")]
    pub balance_floor: Option<String>,
    /// Why what the chain has is not known now, where it is not.
    #[schema(example = "TIMEOUT")]
    pub chain_unknown: Option<String>,
    /// The chain that this store is bound to; `null` until its providers showed one.
    pub identity: Option<ChainGenesis>,
    /// The providers of this process, in the order of its settings.
    pub providers: Vec<ChainProvider>,
    /// When it was read, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
}

/// One key. It has at most one open attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayKey {
    /// The public key, which names the lane.
    #[schema(example = "ed25519:6E8sCci9badyRkXb3JoRpBj5p8C6Tw41ELDZoiihKEtp")]
    pub key: String,
    /// `free`, `busy` with an attempt, `unused`, `retired`: no attempt takes it any more; `gone`: retired, and the
    /// chain was proven to have it no more, and does not have it again; or `unreadable`: its row is none of this release. One that is
    /// retired is `busy` until its attempt is closed.
    #[schema(example = "busy")]
    pub status: String,
    /// This process has it. Another process may have keys of its own.
    #[schema(example = true)]
    pub here: bool,
    /// The nonce of its last attempt; `null` before the first.
    #[schema(example = "47")]
    pub last_nonce: Option<String>,
    /// The attempt that has it, where one is open.
    pub attempt: Option<OpenChainAttempt>,
    /// Whether the account on the chain has it, as any provider showed within the last seconds; `null` where that
    /// is not known now. It proves nothing.
    #[schema(example = true)]
    pub on_chain: Option<bool>,
    /// That it was taken out of use, where it was.
    pub retired: Option<KeyRetirement>,
}

/// A key that no attempt takes any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyRetirement {
    /// Who retired it: `issuer|sub`.
    #[schema(example = "portage|ops-7")]
    pub by: String,
    /// When, by the journal's time, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// The final block at which two providers or more showed every key of the account without it; `null` until that
    /// is proven, and from when the account was seen to have it again.
    #[schema(example = 132_004_711)]
    pub gone_at_block: Option<u64>,
    /// The final block at which the account was seen to have the key again after that was proven; `null` where it was
    /// not. The key may sign, and is watched until it is proven gone again.
    #[schema(example = 132_104_711)]
    pub returned_at_block: Option<u64>,
}
