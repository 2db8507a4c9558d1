//! The owner of a transfer, as one text: reads, lists and limits go by it.

use crate::ids::{ChainId, UserId};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The owner of a transfer: reads, lists and limits go by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransferOwner {
    /// An end user, by the number of the account.
    User(UserId),
    /// A caller that acts for itself: `issuer|sub`.
    Principal(Arc<str>),
    /// An account on a chain, known by what was sent from there.
    ChainAccount {
        /// The chain on which the account is.
        chain: ChainId,
        /// The account, as the chain names it.
        account: Arc<str>,
    },
}

impl TransferOwner {
    /// The end user, where it is one.
    pub const fn user(&self) -> Option<UserId> {
        match self {
            Self::User(user) => Some(*user),
            Self::Principal(_) | Self::ChainAccount { .. } => None,
        }
    }

    /// The column `user_id`: a user's number, and 0 for every other owner.
    pub fn number(&self) -> u64 {
        self.user().map_or(0, |user| user.0)
    }
}

impl From<UserId> for TransferOwner {
    fn from(user: UserId) -> Self {
        Self::User(user)
    }
}

/// The stored text: `user:4001`, `principal:issuer|sub`, `chain:30:address`.
impl fmt::Display for TransferOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "user:{user}"),
            Self::Principal(principal) => write!(f, "principal:{principal}"),
            Self::ChainAccount { chain, account } => write!(f, "chain:{chain}:{account}"),
        }
    }
}

/// A text that [`TransferOwner`] never writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an owner: user:…, principal:… or chain:…:…")]
pub struct BadOwner;

impl FromStr for TransferOwner {
    type Err = BadOwner;

    /// The way back; only a text that [`fmt::Display`] writes is one.
    fn from_str(text: &str) -> Result<Self, BadOwner> {
        let (kind, rest) = text.split_once(':').ok_or(BadOwner)?;
        let owner = match kind {
            "user" => Self::User(UserId(rest.parse().map_err(|_| BadOwner)?)),
            "principal" => Self::Principal(rest.into()),
            "chain" => {
                let (chain, account) = rest.split_once(':').ok_or(BadOwner)?;
                let chain = ChainId(chain.parse().map_err(|_| BadOwner)?);
                Self::ChainAccount { chain, account: account.into() }
            }
            _ => return Err(BadOwner),
        };
        // one owner has one text: `user:+7` and `chain:030:a` are none
        if owner.to_string() == text { Ok(owner) } else { Err(BadOwner) }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadOwner, TransferOwner};
    use crate::ids::{ChainId, UserId};

    #[test]
    fn an_owner_has_one_text() {
        let chain = |account: &str| TransferOwner::ChainAccount {
            chain: ChainId(30),
            account: account.into(),
        };
        for (owner, text) in [
            (TransferOwner::User(UserId(4001)), "user:4001"),
            (TransferOwner::User(UserId(u64::MAX)), "user:18446744073709551615"),
            (
                TransferOwner::Principal("https://issuer|auth0|5f".into()),
                "principal:https://issuer|auth0|5f",
            ),
            (TransferOwner::Principal("user:7".into()), "principal:user:7"),
            (chain("9xQeWvG816bUx9EP"), "chain:30:9xQeWvG816bUx9EP"),
            (chain("a:b"), "chain:30:a:b"),
        ] {
            assert_eq!((owner.to_string(), text.parse()), (text.to_owned(), Ok(owner)));
        }
        for text in ["", "user", "user:", "user:+7", "user:07", "chain:30", "chain:030:a", "x:7"] {
            assert_eq!(text.parse::<TransferOwner>(), Err(BadOwner), "{text}");
        }
    }
}
