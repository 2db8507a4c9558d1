//! Setting a chain up: lamports, a mint, token accounts, nonce accounts and deposits, all by real transactions.

use super::{
    chain::{Chain, nonce},
    devnet::Devnet,
    node::Node,
    wallet::{Wallet, sign_message},
};
use crate::Outcome;
use solana_account::ReadableAccount;
use solana_address::Address;
use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_nonce::{state::State, versions::Versions};
use solana_program_pack::Pack;
use solana_system_interface::{instruction as system, program as system_program};
use solana_transaction::versioned::VersionedTransaction;
use spl_associated_token_account_interface::{
    address::get_associated_token_address, instruction::create_associated_token_account_idempotent,
};
use spl_memo_interface::instruction::build_memo;
use spl_token_interface::{
    instruction as token,
    state::{Account as TokenAccount, Mint},
};

/// The token program, the only one whose accounts hold USDC.
pub const TOKEN_PROGRAM: Address = spl_token_interface::ID;
/// The memo program of today; it refuses what is not UTF-8.
pub const MEMO_PROGRAM: Address = spl_memo_interface::v3::ID;
/// The first memo program, which wallets still use.
pub const OLD_MEMO_PROGRAM: Address = spl_memo_interface::v1::ID;

/// The seed of a lane's nonce account begins so; its number follows.
pub const LANE_SEED: &str = "portage-lane-";
/// The decimals of USDC on the network.
const DECIMALS: u8 = 6;
/// Lamports of a new wallet.
const WALLET_LAMPORTS: u64 = 10_000_000_000;
/// Instructions of one transaction of the setup, at most.
const BATCH: usize = 8;

/// A payment of USDC, with memos.
#[derive(Debug, Clone)]
pub(crate) struct DepositRequest {
    /// The token account that is paid.
    pub(crate) to: Address,
    /// The payment, in base units of USDC.
    pub(crate) amount: u64,
    pub(crate) memos: Vec<String>,
}

/// The address of a vault key's lane of this number.
///
/// # Errors
///
/// If the number makes no seed.
pub fn nonce_lane(vault: &Address, n: usize) -> Outcome<Address> {
    let seed = format!("{LANE_SEED}{n}");
    Address::create_with_seed(vault, &seed, &system_program::ID)
        .map_err(|error| format!("{seed}: {error:?}"))
}

/// The customer of this number, as the setup makes them.
pub(crate) fn customer(n: usize) -> Wallet {
    Wallet::derived(&format!("customer {n}"))
}

/// The mint that the setup makes.
pub(crate) fn mint() -> Wallet {
    Wallet::derived("mint USDC")
}

/// Lamports from the faucet.
pub(crate) fn airdrop(node: &Node, to: &Address, lamports: u64) -> Outcome<VersionedTransaction> {
    let transfer = system::transfer(&node.faucet.address(), to, lamports);
    sign_message(&[transfer], &[&node.faucet], newest(&node.chain()))
}

/// USDC from a wallet's own account, which the wallet signs.
pub(crate) fn deposit(
    node: &Node,
    from: &Wallet,
    request: &DepositRequest,
) -> Outcome<VersionedTransaction> {
    let mut instructions = vec![payment(from, &request.to, request.amount)?];
    instructions.extend(
        request
            .memos
            .iter()
            .map(|memo| build_memo(&MEMO_PROGRAM, memo.as_bytes(), &[&from.address()])),
    );
    sign_message(&instructions, &[from], newest(&node.chain()))
}

fn payment(from: &Wallet, to: &Address, amount: u64) -> Outcome<Instruction> {
    let (mint, owner) = (mint().address(), from.address());
    let account = get_associated_token_address(&owner, &mint);
    token::transfer_checked(&TOKEN_PROGRAM, &account, &mint, to, &owner, &[], amount, DECIMALS)
        .map_err(|error| format!("{error:?}"))
}

fn newest(chain: &Chain) -> Hash {
    chain.block(chain.height()).map(|block| block.blockhash).unwrap_or_default()
}

impl Devnet {
    /// Creates a wallet with lamports for its fees.
    ///
    /// # Errors
    ///
    /// If the faucet is empty.
    pub fn create_wallet(&self, name: &str) -> Outcome<Wallet> {
        let wallet = Wallet::derived(name);
        self.airdrop(&wallet.address(), WALLET_LAMPORTS)?;
        Ok(wallet)
    }

    /// Gives an address lamports.
    ///
    /// # Errors
    ///
    /// If the faucet is empty.
    pub fn airdrop(&self, to: &Address, lamports: u64) -> Outcome {
        let transaction = airdrop(&self.node, to, lamports)?;
        self.include(transaction).map(drop)
    }

    /// Creates the mint of USDC, whose authority, also to freeze, is the faucet.
    ///
    /// # Errors
    ///
    /// If it exists.
    pub fn create_mint(&self) -> Outcome<Address> {
        let (faucet, mint) = (&self.node.faucet, mint());
        let authority = faucet.address();
        let create = system::create_account(
            &authority,
            &mint.address(),
            self.rent(Mint::LEN),
            u64::try_from(Mint::LEN).unwrap_or(u64::MAX),
            &TOKEN_PROGRAM,
        );
        let initialize = token::initialize_mint2(
            &TOKEN_PROGRAM,
            &mint.address(),
            &authority,
            Some(&authority),
            DECIMALS,
        );
        let initialize = initialize.map_err(|error| format!("{error:?}"))?;
        self.run(&[create, initialize], &[faucet, &mint])?;
        Ok(mint.address())
    }

    /// Creates the associated USDC account of an owner, if there is none.
    ///
    /// # Errors
    ///
    /// If there is no mint.
    pub fn create_token_account(&self, owner: &Address) -> Outcome<Address> {
        let faucet = &self.node.faucet;
        let mint = mint().address();
        let create = create_associated_token_account_idempotent(
            &faucet.address(),
            owner,
            &mint,
            &TOKEN_PROGRAM,
        );
        self.run(&[create], &[faucet])?;
        Ok(get_associated_token_address(owner, &mint))
    }

    /// Creates USDC on token accounts.
    ///
    /// # Errors
    ///
    /// If there is no mint, or one is no account of it.
    pub fn mint_to(&self, accounts: &[(Address, u64)]) -> Outcome {
        let faucet = &self.node.faucet;
        let (mint, authority) = (mint().address(), faucet.address());
        let create = |(account, amount): &(Address, u64)| {
            token::mint_to(&TOKEN_PROGRAM, &mint, account, &authority, &[], *amount)
                .map_err(|error| format!("{error:?}"))
        };
        for part in accounts.chunks(BATCH) {
            let instructions = part.iter().map(create).collect::<Outcome<Vec<_>>>()?;
            self.run(&instructions, &[faucet])?;
        }
        Ok(())
    }

    /// Freezes a USDC account, as its issuer can, or lets it go.
    ///
    /// # Errors
    ///
    /// If it is as it should be.
    pub fn freeze(&self, account: &Address, frozen: bool) -> Outcome {
        let faucet = &self.node.faucet;
        let (mint, authority) = (mint().address(), faucet.address());
        let change = if frozen { token::freeze_account } else { token::thaw_account };
        let change = change(&TOKEN_PROGRAM, account, &mint, &authority, &[]);
        self.run(&[change.map_err(|error| format!("{error:?}"))?], &[faucet]).map(drop)
    }

    /// Creates nonce accounts of a wallet's key, one for each number of a lane; their addresses.
    ///
    /// # Errors
    ///
    /// If the wallet lacks the rent, or a lane exists.
    pub fn create_lanes(&self, wallet: &Wallet, count: usize) -> Outcome<Vec<Address>> {
        let (owner, rent) = (wallet.address(), self.rent(State::size()));
        let mut lanes = Vec::new();
        for n in 0..count {
            let lane = nonce_lane(&owner, n)?;
            let seed = format!("{LANE_SEED}{n}");
            let create =
                system::create_nonce_account_with_seed(&owner, &lane, &owner, &seed, &owner, rent);
            self.run(&create, &[wallet])?;
            lanes.push(lane);
        }
        Ok(lanes)
    }

    /// The value of a nonce account at the head: the lock that its next transaction spends.
    pub fn nonce(&self, account: &Address) -> Option<Hash> {
        nonce_value(&self.account(account)?.data)
    }

    /// The value of a nonce account at the last final block.
    pub fn final_nonce(&self, account: &Address) -> Option<Hash> {
        let chain = self.node.chain();
        let held = chain.account(account, chain.final_height(chain.height()))?;
        nonce_value(held.data())
    }

    /// Pays USDC from a wallet's associated account, and gives the transaction, which is in no block yet.
    ///
    /// # Errors
    ///
    /// If the wallet's signature is not enough.
    pub fn deposit(
        &self,
        from: &Wallet,
        to: &Address,
        amount: u64,
        memos: &[&str],
    ) -> Outcome<VersionedTransaction> {
        let memos = memos.iter().map(|memo| (*memo).to_owned()).collect();
        deposit(&self.node, from, &DepositRequest { to: *to, amount, memos })
    }

    /// The instruction of such a payment, for a test that builds its own transaction.
    ///
    /// # Errors
    ///
    /// If the wallet is no signer.
    pub fn payment(&self, from: &Wallet, to: &Address, amount: u64) -> Outcome<Instruction> {
        payment(from, to, amount)
    }

    /// Base units of a token account at the head; 0 for one that does not exist.
    pub fn balance(&self, account: &Address) -> u64 {
        let held = self.account(account);
        let held =
            held.and_then(|held| TokenAccount::unpack(held.data.get(..TokenAccount::LEN)?).ok());
        held.map_or(0, |held| held.amount)
    }

    /// Signs instructions under the newest blockhash, and makes the block that holds them.
    ///
    /// # Errors
    ///
    /// If no block holds the transaction, or it failed.
    pub fn run(&self, instructions: &[Instruction], signers: &[&Wallet]) -> Outcome<Hash> {
        let transaction = sign_message(instructions, signers, self.blockhash())?;
        self.include(transaction)
    }

    fn include(&self, transaction: VersionedTransaction) -> Outcome<Hash> {
        let signature = transaction.signatures.first().copied().ok_or("no signature")?;
        self.submit(transaction);
        self.advance(1);
        match self.result(&signature) {
            Some(Ok(())) => Ok(self.blockhash()),
            Some(Err(error)) => Err(format!("{signature}: {error}")),
            None => Err(format!("{signature} entered no block")),
        }
    }

    fn rent(&self, size: usize) -> u64 {
        self.node.chain().rent(size)
    }
}

fn nonce_value(data: &[u8]) -> Option<Hash> {
    let versions: Versions = bincode::deserialize(data).ok()?;
    match versions.state() {
        State::Initialized(data) => Some(data.blockhash()),
        State::Uninitialized => None,
    }
}

/// Lamports for a signature.
pub const FEE: u64 = nonce::LAMPORTS_PER_SIGNATURE;
