//! Authenticates callers by their tokens and decides which routes they may use.

pub mod jwks;
pub mod key;
pub mod keys;
pub mod source;
pub mod token;
pub mod verify;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
#[path = "../../tests/keys/mod.rs"]
mod keys_for_tests;
#[cfg(test)]
mod tests;

use kernel::ids::UserId;
use std::sync::Arc;

/// The scopes that a token may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A user's own creates.
    TransfersCreate,
    /// A user's own reads.
    TransfersRead,
    /// A service that acts for the `user_id` in the body.
    TransfersAny,
    /// Creates of the relay.
    RelayCreate,
    /// Reads of the relay.
    RelayRead,
    /// Reads of the operators' routes.
    OpsRead,
    /// Actions of one operator.
    OpsAct,
    /// Another operator's consent to an action.
    OpsApprove,
    /// Everything that the other scopes allow.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 9] = [
        Self::TransfersCreate,
        Self::TransfersRead,
        Self::TransfersAny,
        Self::RelayCreate,
        Self::RelayRead,
        Self::OpsRead,
        Self::OpsAct,
        Self::OpsApprove,
        Self::Admin,
    ];

    /// The spelling in a token.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransfersCreate => "transfers:create",
            Self::TransfersRead => "transfers:read",
            Self::TransfersAny => "transfers:any",
            Self::RelayCreate => "relay:create",
            Self::RelayRead => "relay:read",
            Self::OpsRead => "ops:read",
            Self::OpsAct => "ops:act",
            Self::OpsApprove => "ops:approve",
            Self::Admin => "admin",
        }
    }

    /// The scope of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == text)
    }
}

/// The holder of a good token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `issuer|sub`: the scope of idempotency keys, and the name in the audit.
    pub principal: Arc<str>,
    /// The user's id, where the token names one.
    pub user: Option<UserId>,
    /// The scopes of the token. Unknown scopes allow nothing.
    pub scopes: Vec<Scope>,
}

impl Caller {
    /// Whether the token allows it.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|held| *held == scope || *held == Scope::Admin)
    }
}
