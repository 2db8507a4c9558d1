//! The table of the systems at which money can stand: number, name, kind. A new system is a row here; every
//! list of ledgers or chains reads this table.

use crate::ids::{ChainId, LedgerId};

/// What a system is to a transfer's ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemKind {
    /// A ledger with one account for each user: an account type of users' transfers.
    UserAccounts,
    /// A ledger whose accounts have numbers of their own and belong to users.
    NumberedAccounts,
    /// A chain: what is sent there is final after some blocks.
    Chain,
}

/// One system, a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemRow {
    /// The stored number (`source_type`, `target_type`); never given to another system.
    pub code: u8,
    /// The stored and shown name.
    pub name: &'static str,
    /// The kind of its accounts, or that it is a chain.
    pub kind: SystemKind,
    /// It lives in the journal's own database: its operations are part of a unit.
    pub enlisted: bool,
}

/// Every system, by number. The numbers are those of the stored contract.
pub const SYSTEMS: [SystemRow; 8] = [
    row(1, "FUNDING", SystemKind::UserAccounts, true),
    row(2, "SPOT", SystemKind::UserAccounts, false),
    row(3, "FUTURE", SystemKind::UserAccounts, false),
    row(4, "MARGIN", SystemKind::UserAccounts, false),
    row(10, "ACCOUNT", SystemKind::NumberedAccounts, true),
    row(20, "NEAR", SystemKind::Chain, false),
    row(30, "SOLANA", SystemKind::Chain, false),
    row(31, "NEXUS", SystemKind::Chain, false),
];

const fn row(code: u8, name: &'static str, kind: SystemKind, enlisted: bool) -> SystemRow {
    SystemRow { code, name, kind, enlisted }
}

impl SystemRow {
    /// The system of a stored number.
    pub fn coded(code: u8) -> Option<&'static Self> {
        SYSTEMS.iter().find(|row| row.code == code)
    }

    /// The system of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SYSTEMS.iter().find(|row| row.name == name)
    }

    /// True where money is sent and not booked.
    pub fn is_chain(&self) -> bool {
        self.kind == SystemKind::Chain
    }
}

impl LedgerId {
    /// The ledgers with one account for each user, by number.
    pub fn of_users() -> impl Iterator<Item = Self> {
        let of_users = |row: &&SystemRow| row.kind == SystemKind::UserAccounts;
        SYSTEMS.iter().filter(of_users).map(|row| Self(row.code))
    }

    /// Every ledger of the table, by number.
    pub fn all() -> impl Iterator<Item = Self> {
        SYSTEMS.iter().filter(|row| !row.is_chain()).map(|row| Self(row.code))
    }

    /// The stored and shown name.
    pub fn name(self) -> &'static str {
        SystemRow::coded(self.0).map_or("LEDGER", |row| row.name)
    }

    /// The ledger of that name.
    pub fn parse(text: &str) -> Option<Self> {
        SystemRow::named(text).filter(|row| !row.is_chain()).map(|row| Self(row.code))
    }

    /// True where its accounts are users', one for each user: an account type.
    pub fn is_of_users(self) -> bool {
        Self::of_users().any(|ledger| ledger == self)
    }

    /// True where it lives in the journal's own database.
    pub fn is_enlisted(self) -> bool {
        SystemRow::coded(self.0).is_some_and(|row| row.enlisted)
    }
}

impl ChainId {
    /// NEAR, the chain of the flow `relay`.
    pub const NEAR: Self = Self(20);
    /// Solana, the chain of USDC in the swaps.
    pub const SOLANA: Self = Self(30);
    /// Nexus, the chain of USDD in the swaps.
    pub const NEXUS: Self = Self(31);

    /// The stored and shown name.
    pub fn name(self) -> &'static str {
        SystemRow::coded(self.0).map_or("CHAIN", |row| row.name)
    }

    /// The chain of that name.
    pub fn parse(text: &str) -> Option<Self> {
        SystemRow::named(text).filter(|row| row.is_chain()).map(|row| Self(row.code))
    }
}

#[cfg(test)]
mod tests {
    use super::{SYSTEMS, SystemRow};
    use crate::ids::{ChainId, LedgerId};

    /// Turns red where a stored number changes its meaning.
    #[test]
    fn the_stored_numbers_are_those_of_the_contract() {
        let numbers: Vec<_> = SYSTEMS.iter().map(|row| (row.code, row.name)).collect();
        let contract = [
            (1, "FUNDING"),
            (2, "SPOT"),
            (3, "FUTURE"),
            (4, "MARGIN"),
            (10, "ACCOUNT"),
            (20, "NEAR"),
            (30, "SOLANA"),
            (31, "NEXUS"),
        ];
        assert_eq!(numbers, contract);
    }

    #[test]
    fn a_name_is_a_ledger_s_or_a_chain_s() {
        for row in &SYSTEMS {
            let (ledger, chain) = (LedgerId::parse(row.name), ChainId::parse(row.name));
            assert_eq!(chain.is_some(), row.is_chain(), "{}", row.name);
            assert_eq!(ledger.is_some(), !row.is_chain(), "{}", row.name);
            let name = ledger.map(LedgerId::name).or_else(|| chain.map(ChainId::name));
            assert_eq!(name, Some(row.name));
            assert_eq!(SystemRow::coded(row.code), Some(row));
        }
        assert_eq!(LedgerId::parse("CHAIN"), None);
        assert_eq!((LedgerId(9).name(), ChainId(99).name()), ("LEDGER", "CHAIN"));
    }
}
