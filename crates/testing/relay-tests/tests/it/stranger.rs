//! Another account that has the token: it pays whom it likes, with whatever memo it likes.

use devnet::near::near_primitives::action::{Action, FunctionCallAction};
use devnet::near::near_primitives::types::{AccountId, Balance, Gas};
use devnet::near::{Devnet, Wallet};
use kernel::record::{Account, Record};
use std::sync::Mutex;
use std::sync::PoisonError;

const GAS: u64 = 10_000_000_000_000;

pub(crate) struct Stranger {
    wallet: Wallet,
    token: AccountId,
    /// The nonce that its key took last.
    nonce: Mutex<u64>,
}

impl Stranger {
    pub(crate) fn new(devnet: &Devnet, token: &AccountId) -> Self {
        let wallet = devnet.create_account("stranger.devnet", 10).unwrap();
        devnet.mint(token, &[(wallet.account.clone(), 1_000)]).unwrap();
        let nonce = devnet.nonce(&wallet.account, &wallet.public_key()).unwrap();
        Self { wallet, token: token.clone(), nonce: Mutex::new(nonce) }
    }

    /// Pays one unit to whom a transfer pays, with its memo.
    pub(crate) fn pays(&self, devnet: &Devnet, transfer: &Record) {
        let Account::Named(receiver) = &transfer.target().account else { return };
        let memo = transfer.id;
        let args = format!(r#"{{"receiver_id":"{receiver}","amount":"1","memo":"{memo}"}}"#);
        let call = Action::FunctionCall(Box::new(FunctionCallAction {
            method_name: "ft_transfer".to_owned(),
            args: args.into_bytes(),
            gas: Gas::from_gas(GAS),
            deposit: Balance::from_yoctonear(1),
        }));
        let mut nonce = self.nonce.lock().unwrap_or_else(PoisonError::into_inner);
        *nonce += 1;
        devnet.submit(self.wallet.sign(*nonce, devnet.final_hash(), &self.token, vec![call]));
    }
}
