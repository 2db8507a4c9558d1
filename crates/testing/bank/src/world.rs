//! The local chain's side: a vault with one lane, the receivers, and the product's adapter, which signs.

use crate::cases::{Change, FormKind, Receiver};
use crate::seen::{Accounts, End};
use devnet::solana::{Address, Devnet, FEE, Options, TOKEN_PROGRAM, Wallet, nonce_lane};
use flows::swap_out;
use kernel::attempt::{Form, Purpose};
use kernel::flow::life::{Life as _, Word as _};
use kernel::ids::{AssetId, ChainId, FlowId, Id};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::chain::{Chain as _, ChainIdentity, SignRequest};
use kernel::ports::meter::NoMeter;
use kernel::record::{Account as Named, Head, Party, Record, System, Terms};
use links::solana::{KeyRing, SolanaChain, SolanaNetwork, SolanaSettings, SolanaVault};
use solana_account::Account;
use solana_sdk_ids::{bpf_loader_upgradeable, native_loader, sysvar};
use solana_system_interface::instruction::{create_account, transfer};
use solana_transaction::versioned::VersionedTransaction;
use spl_token_interface::instruction::{close_account, initialize_account3, initialize_mint2};
use std::fmt::Debug;
use std::sync::Arc;
use testkit::{DatedClock, SkippingClock};

const CHAIN: ChainId = ChainId(21);
/// The chain that swaps come from.
const SOURCE: ChainId = ChainId(22);
const USDC: AssetId = AssetId(4);
const USDD: AssetId = AssetId(5);
/// Base units of the vault, and of each payment.
const SUPPLY: u64 = 1_000_000;
const PAYMENT: u64 = 10;
/// More lamports than any account here needs for its rent.
const RENT: u64 = 10_000_000;
/// What an account without data must have on the network, or nothing at all.
const LEAST: u64 = 890_880;
/// Bytes of a mint and of a token account.
const MINT_BYTES: u64 = 82;
const ACCOUNT_BYTES: u64 = 165;
/// Where a program's account names the account of its code.
const CODE_ADDRESS: std::ops::Range<usize> = 4..36;

/// The accounts that a payment is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parties {
    pub(crate) key: Address,
    pub(crate) lane: Address,
    /// The token accounts of the vault and of the receiver.
    pub(crate) vault: Address,
    pub(crate) receiver: Address,
}

pub(crate) struct World {
    devnet: Devnet,
    vault: Wallet,
    account: Address,
    mint: Address,
    /// A receiver, and its associated account.
    alice: Wallet,
    alices: Address,
}

/// The text of an error that is one here only.
pub(crate) fn said(error: impl Debug) -> String {
    format!("{error:?}")
}

impl World {
    /// A chain of its own: no bytes that are valid on one are valid on another.
    pub(crate) fn new(seed: u64) -> Result<Self, String> {
        let devnet = Devnet::start(Options { seed, ..Options::manual() })?;
        let mint = devnet.create_mint()?;
        let (vault, alice) = (devnet.create_wallet("vault")?, devnet.create_wallet("alice")?);
        let account = devnet.create_token_account(&vault.address())?;
        let alices = devnet.create_token_account(&alice.address())?;
        devnet.mint_to(&[(account, SUPPLY)])?;
        devnet.create_lanes(&vault, 1)?;
        Ok(Self { devnet, vault, account, mint, alice, alices })
    }

    /// The account that a payment names; one of another mint is made first.
    pub(crate) fn receiver(&self, receiver: Receiver) -> Result<Address, String> {
        match receiver {
            Receiver::TokenAccount => Ok(self.alices),
            Receiver::Wallet => Ok(self.alice.address()),
            Receiver::NoAccount => Ok(Wallet::derived("no account").address()),
            Receiver::OtherMint => self.other_mint(),
        }
    }

    /// A token account of alice's of a mint that she made herself.
    fn other_mint(&self) -> Result<Address, String> {
        let (alice, program) = (self.alice.address(), &TOKEN_PROGRAM);
        let (mint, account) = (Wallet::derived("other mint"), Wallet::derived("other account"));
        let (at, of) = (account.address(), mint.address());
        let instructions = [
            create_account(&alice, &of, RENT, MINT_BYTES, program),
            initialize_mint2(program, &of, &alice, None, 6).map_err(said)?,
            create_account(&alice, &at, RENT, ACCOUNT_BYTES, program),
            initialize_account3(program, &at, &of, &alice).map_err(said)?,
        ];
        self.devnet.run(&instructions, &[&self.alice, &mint, &account])?;
        Ok(at)
    }

    /// The product's adapter, with the vault's key.
    fn adapter(&self) -> Result<SolanaChain, String> {
        let vault = SolanaVault {
            key: self.vault.address().to_string().into(),
            account: self.account.to_string().into(),
            mint: self.mint.to_string().into(),
            asset: USDC,
        };
        let mut settings = SolanaSettings::new(CHAIN, vault, self.devnet.urls());
        settings.network = SolanaNetwork::Localnet;
        settings.providers_needed = 1;
        settings.lanes = 1;
        let keypair = format!("{:?}", self.vault.keypair());
        let key = KeyRing::from_keypair_file(&keypair).map_err(said)?;
        let ring = KeyRing::plain([key.as_str()]).map_err(said)?;
        let clock = DatedClock::over(Arc::new(SkippingClock::default()), self.devnet.time());
        let adapter =
            SolanaChain::new(settings, Arc::new(ring), Arc::new(clock), Arc::new(NoMeter));
        let adapter = adapter.map_err(said)?;
        let genesis = self.devnet.genesis_hash().to_string().into();
        adapter.bind(&ChainIdentity { name: "localnet".into(), genesis });
        Ok(adapter)
    }

    /// The three forms of a payout to this account, all signed under one nonce.
    pub(crate) async fn sign(&self, receiver: &Address) -> Result<Forms, String> {
        self.devnet.settle();
        let adapter = self.adapter()?;
        let (flow, act) = (swap_out::State::FLOW, swap_out::Act::Pay.name());
        let lane = adapter.lanes(act).into_iter().next().ok_or("no lane")?;
        let members: Arc<[Record]> = [payout(receiver)].into();
        let lock = adapter.next_lock(&lane, None, &members).await.map_err(said)?;
        let (purpose, forms) = (Purpose::Pay, Vec::new());
        let first = SignRequest { flow, act, lane, lock, members, purpose, forms };
        let signed = async |request: &SignRequest| {
            adapter.sign(request).await.map(|signed| signed.form).map_err(said)
        };
        let paying = signed(&first).await?;
        let higher = SignRequest { forms: vec![paying.clone()], ..first.clone() };
        let void = SignRequest { purpose: Purpose::Void, ..higher.clone() };
        let (higher, void) = (signed(&higher).await?, signed(&void).await?);
        Forms::read(&paying, &higher, &void)
    }

    /// Changes the chain behind the adapter's back.
    pub(crate) fn change(&self, change: Change) -> Result<(), String> {
        let (devnet, key) = (&self.devnet, self.vault.address());
        let alice = self.alice.address();
        let take = |left: u64| {
            let taken = devnet.lamports(&key).saturating_sub(FEE).saturating_sub(left);
            devnet.run(&[transfer(&key, &alice, taken)], &[&self.vault]).map(drop)
        };
        match change {
            Change::Nothing => Ok(()),
            Change::ReceiverFrozen => devnet.freeze(&self.alices, true),
            Change::ReceiverClosed => {
                let close = close_account(&TOKEN_PROGRAM, &self.alices, &alice, &alice, &[]);
                devnet.run(&[close.map_err(said)?], &[&self.alice]).map(drop)
            }
            Change::VaultFrozen => devnet.freeze(&self.account, true),
            Change::VaultShort => {
                let taken = devnet.payment(&self.vault, &self.alices, SUPPLY.saturating_sub(1))?;
                devnet.run(&[taken], &[&self.vault]).map(drop)
            }
            Change::NoFees => take(0),
            Change::FeesBelowRent => take(LEAST),
        }
    }

    pub(crate) fn parties(&self, forms: &Forms) -> Result<Parties, String> {
        let key = self.vault.address();
        let lane = nonce_lane(&key, 0)?;
        Ok(Parties { key, lane, vault: self.account, receiver: forms.receiver(&TOKEN_PROGRAM)? })
    }

    /// What a Bank begins with: the accounts that forms name, and the code of their programs. It has sysvars and built-in
    /// programs of its own.
    pub(crate) fn genesis(&self, forms: &Forms) -> Vec<(Address, Account)> {
        let named = forms.addresses();
        let code = named.iter().filter_map(|address| code_of(&self.devnet.account(address)?));
        let all: Vec<_> = named.iter().copied().chain(code).collect();
        let own =
            |account: &Account| account.owner != native_loader::ID && account.owner != sysvar::ID;
        let account = |address| Some((address, self.devnet.account(&address).filter(own)?));
        all.into_iter().filter_map(account).collect()
    }

    pub(crate) fn accounts(&self, addresses: &[Address]) -> Accounts {
        let account = |address: &Address| Some((*address, self.devnet.account(address)?));
        addresses.iter().filter_map(account).collect()
    }

    /// Sends a transaction and makes a block.
    pub(crate) fn play(&self, transaction: VersionedTransaction) -> End {
        let preflight = self.devnet.preflight(&transaction);
        self.devnet.submit(transaction);
        self.devnet.advance(1);
        match preflight {
            Ok(Ok(())) => End::Done,
            Ok(Err(error)) => End::Failed(said(error)),
            Err(error) => End::Refused(said(error)),
        }
    }
}

/// A swap's payout to this account.
fn payout(receiver: &Address) -> Record {
    let party = |system, account: String, asset| Party {
        system: System::Chain(system),
        account: Named::Named(account.into()),
        asset,
        amount: Amount(PAYMENT.into()),
    };
    let owner = TransferOwner::Principal("bank|swap".into());
    let source = party(SOURCE, "8Bk5source".to_owned(), USDD);
    let target = party(CHAIN, receiver.to_string(), USDC);
    let terms = Terms::between("bank|swap".into(), owner, source, target);
    Record::new(Id(1_000_001), FlowId(4), Head::start(0), Arc::new(terms))
}

/// The account of a program's code, where the program can be upgraded.
fn code_of(program: &Account) -> Option<Address> {
    let upgradeable = program.executable && program.owner == bpf_loader_upgradeable::ID;
    Address::try_from(program.data.get(CODE_ADDRESS).filter(|_| upgradeable)?).ok()
}

/// The signed bytes of an attempt, read as a node reads them.
#[derive(Debug)]
pub(crate) struct Forms {
    first: VersionedTransaction,
    higher: VersionedTransaction,
    void: VersionedTransaction,
}

impl Forms {
    fn read(first: &Form, higher: &Form, void: &Form) -> Result<Self, String> {
        let read = |form: &Form| bincode::deserialize(&form.bytes).map_err(said);
        Ok(Self { first: read(first)?, higher: read(higher)?, void: read(void)? })
    }

    pub(crate) fn transaction(&self, kind: FormKind) -> VersionedTransaction {
        match kind {
            FormKind::First => self.first.clone(),
            FormKind::Higher => self.higher.clone(),
            FormKind::Void => self.void.clone(),
        }
    }

    /// All addresses that one of the forms names.
    fn addresses(&self) -> Vec<Address> {
        let forms = [&self.first, &self.higher, &self.void];
        let named = forms.into_iter().flat_map(|form| form.message.static_account_keys());
        let mut all: Vec<_> = named.copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The addresses that one of the forms may write: a transaction changes no other account.
    pub(crate) fn writable(&self) -> Vec<Address> {
        let forms = [&self.first, &self.higher, &self.void];
        let may_write = |address: &Address| {
            forms.iter().any(|form| {
                let mut own = form.message.static_account_keys().iter().enumerate();
                own.any(|(at, key)| key == address && form.message.is_maybe_writable(at, None))
            })
        };
        self.addresses().into_iter().filter(may_write).collect()
    }

    /// The token account that is paid: the third of the token program's instruction.
    fn receiver(&self, program: &Address) -> Result<Address, String> {
        let message = &self.first.message;
        let keys = message.static_account_keys();
        let of = |index: &u8| keys.get(usize::from(*index));
        let mut all = message.instructions().iter();
        let pays = all.find(|one| of(&one.program_id_index) == Some(program));
        let receiver = pays.and_then(|one| of(one.accounts.get(2)?));
        receiver.copied().ok_or_else(|| "the first form has no receiver".to_owned())
    }
}
