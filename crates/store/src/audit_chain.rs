//! Names, for both stores, the tables of the two audit chains, whose rows belong to no transfer:
//! external movements and operators' actions.
//!
//! Each is a row of a table of its own and an entry of a chain (`kernel::audit`).

use kernel::audit;
use kernel::ids::Id;

/// One of the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuditChain {
    /// External movements: deposits and withdrawals.
    ExternalMovements,
    OperatorActions,
}

/// The table of a chain's entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainTable {
    pub(crate) table: &'static str,
    /// The column of the row's number.
    pub(crate) number: &'static str,
    /// The column of the word for what was done.
    pub(crate) event: &'static str,
    /// Every other column that is hashed.
    pub(crate) fields: &'static [&'static str],
}

impl AuditChain {
    pub(crate) const fn id(self) -> Id {
        match self {
            Self::ExternalMovements => audit::WORLD,
            Self::OperatorActions => audit::OPERATORS,
        }
    }

    /// The chain of that id.
    pub(crate) fn of(id: Id) -> Option<Self> {
        [Self::ExternalMovements, Self::OperatorActions].into_iter().find(|chain| chain.id() == id)
    }

    /// Its place in a write's digest: before every transfer, which count from 1.
    pub(crate) const fn order(self) -> i64 {
        match self {
            Self::ExternalMovements => -1,
            Self::OperatorActions => 0,
        }
    }

    pub(crate) const fn table(self) -> ChainTable {
        match self {
            Self::ExternalMovements => ChainTable {
                table: "externals",
                number: "operation_id",
                event: "direction",
                fields: &[
                    "operation_id",
                    "reference",
                    // a numbered account is hashed with its owner; rows of users are as they were
                    "user_id || coalesce('/' || account_number, '')",
                    "asset_id",
                    "amount",
                    "available",
                    "reason",
                ],
            },
            Self::OperatorActions => ChainTable {
                table: "operator_actions",
                number: "action_id",
                event: "action",
                fields: &["subject", "value", "reason", "idempotency_key", "result"],
            },
        }
    }
}
