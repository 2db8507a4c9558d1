//! Agave's side: a Bank that begins with the accounts of the local chain and executes transactions as a validator does.

use crate::seen::{Accounts, End};
use devnet::solana::Address;
use solana_account::Account;
use solana_program_test::{ProgramTest, ProgramTestContext};
use solana_transaction::versioned::VersionedTransaction;

pub(crate) struct Agave {
    context: ProgramTestContext,
}

impl Agave {
    /// Starts a Bank with these accounts, programs among them, beside its own.
    pub(crate) async fn start(accounts: Vec<(Address, Account)>) -> Self {
        let mut test = ProgramTest::default();
        for (address, account) in accounts {
            test.add_account(address, account);
        }
        Self { context: test.start_with_context().await }
    }

    pub(crate) async fn play(&self, transaction: VersionedTransaction) -> Result<End, String> {
        let client = &self.context.banks_client;
        let answer = client.process_transaction_with_metadata(transaction).await;
        let answer = answer.map_err(|error| error.to_string())?;
        Ok(match (answer.result, answer.metadata) {
            (Ok(()), _) => End::Done,
            // what a block holds has been executed, or has paid for being loaded
            (Err(error), Some(_)) => End::Failed(format!("{error:?}")),
            (Err(error), None) => End::Refused(format!("{error:?}")),
        })
    }

    pub(crate) async fn accounts(&self, addresses: &[Address]) -> Result<Accounts, String> {
        let mut accounts = Accounts::new();
        for address in addresses {
            let account = self.context.banks_client.get_account(*address).await;
            let account = account.map_err(|error| error.to_string())?;
            accounts.extend(account.map(|account| (*address, account)));
        }
        Ok(accounts)
    }
}
