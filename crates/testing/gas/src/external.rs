//! What the machine asks of the node around it: the contract's keys and values, and the receipts it makes.
//!
//! The machine's own mock charges nothing for a value that is written over or removed; a node does, and this
//! one as well. The nodes of a trie are charged by neither: see `relay`.

use devnet::near::near_crypto::PublicKey;
use devnet::near::near_primitives::hash::CryptoHash;
use near_primitives_core::types::{AccountId, Balance, Gas, GasWeight, Nonce, NonceIndex};
use near_vm_runner::logic::types::{
    ActionIndex, GlobalContractDeployMode, GlobalContractIdentifier, ReceiptIndex,
};
use near_vm_runner::logic::{External, HostError, StorageAccessTracker, VMLogicError, ValuePtr};
use near_vm_runner::{Contract, ContractCode};
use std::collections::BTreeMap;
use std::sync::Arc;

type Done<T> = Result<T, VMLogicError>;

/// The contract of one account.
#[derive(Clone)]
pub(crate) struct Account {
    own: AccountId,
    code: Arc<ContractCode>,
    pub(crate) stored: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Keys that were written or removed in this call.
    pub(crate) writes: u64,
    /// The receivers of the receipts that this call made.
    receivers: Vec<AccountId>,
    /// A call made a receipt that no call of this campaign makes.
    pub(crate) foreign: bool,
}

impl Account {
    pub(crate) fn new(own: &AccountId, code: &[u8]) -> Self {
        Self {
            own: own.clone(),
            code: Arc::new(ContractCode::new(code.to_vec(), None)),
            stored: BTreeMap::new(),
            writes: 0,
            receivers: Vec::new(),
            foreign: false,
        }
    }

    /// Forgets the call before.
    pub(crate) fn begin(&mut self) {
        self.writes = 0;
        self.receivers.clear();
    }

    fn foreign(&mut self) {
        self.foreign = true;
    }
}

impl Contract for Account {
    fn hash(&self) -> CryptoHash {
        *self.code.hash()
    }

    fn get_code(&self) -> Option<Arc<ContractCode>> {
        Some(Arc::clone(&self.code))
    }
}

struct Value<'a>(&'a [u8]);

impl ValuePtr for Value<'_> {
    fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn deref(&self, _: &mut dyn StorageAccessTracker) -> Done<Vec<u8>> {
        Ok(self.0.to_vec())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

impl External for Account {
    fn storage_set(
        &mut self,
        tracker: &mut dyn StorageAccessTracker,
        key: &[u8],
        value: &[u8],
    ) -> Done<Option<Vec<u8>>> {
        self.writes = self.writes.saturating_add(1);
        if let Some(before) = self.stored.get(key) {
            tracker.deref_write_evicted_value_bytes(length(before))?;
        }
        Ok(self.stored.insert(key.to_vec(), value.to_vec()))
    }

    fn storage_get<'a>(
        &'a self,
        _: &mut dyn StorageAccessTracker,
        key: &[u8],
    ) -> Done<Option<Box<dyn ValuePtr + 'a>>> {
        Ok(self.stored.get(key).map(|value| -> Box<dyn ValuePtr + 'a> { Box::new(Value(value)) }))
    }

    fn storage_remove(
        &mut self,
        tracker: &mut dyn StorageAccessTracker,
        key: &[u8],
    ) -> Done<Option<Vec<u8>>> {
        self.writes = self.writes.saturating_add(1);
        if let Some(before) = self.stored.get(key) {
            tracker.deref_removed_value_bytes(length(before))?;
        }
        Ok(self.stored.remove(key))
    }

    fn storage_has_key(&mut self, _: &mut dyn StorageAccessTracker, key: &[u8]) -> Done<bool> {
        Ok(self.stored.contains_key(key))
    }

    fn generate_data_id(&mut self) -> CryptoHash {
        self.foreign();
        CryptoHash::default()
    }

    fn get_recorded_storage_size(&self) -> usize {
        0
    }

    fn validator_stake(&self, _: &AccountId) -> Done<Option<Balance>> {
        Ok(None)
    }

    fn validator_total_stake(&self) -> Done<Balance> {
        Ok(Balance::ZERO)
    }

    fn create_action_receipt(
        &mut self,
        _: Vec<ReceiptIndex>,
        receiver_id: AccountId,
    ) -> Done<ReceiptIndex> {
        let index = u64::try_from(self.receivers.len()).unwrap_or(u64::MAX);
        self.receivers.push(receiver_id);
        Ok(index)
    }

    fn get_receipt_receiver(&self, index: ReceiptIndex) -> &AccountId {
        // the machine asks only for what it made
        let made = usize::try_from(index).ok().and_then(|index| self.receivers.get(index));
        made.unwrap_or(&self.own)
    }

    /// Its deposit and its fees are the machine's business, and it is executed by no one here.
    fn append_action_transfer(&mut self, _: ReceiptIndex, _: Balance) {}

    fn create_promise_yield_receipt(&mut self, _: AccountId) -> Done<(ReceiptIndex, CryptoHash)> {
        self.foreign();
        Ok((0, CryptoHash::default()))
    }

    fn submit_promise_resume_data(&mut self, _: CryptoHash, _: Vec<u8>) -> Done<bool> {
        self.foreign();
        Ok(false)
    }

    fn append_action_create_account(&mut self, _: ReceiptIndex) {
        self.foreign();
    }

    fn append_action_deploy_contract(&mut self, _: ReceiptIndex, _: Vec<u8>) {
        self.foreign();
    }

    fn append_action_deploy_global_contract(
        &mut self,
        _: ReceiptIndex,
        _: Vec<u8>,
        _: GlobalContractDeployMode,
    ) {
        self.foreign();
    }

    fn append_action_use_global_contract(&mut self, _: ReceiptIndex, _: GlobalContractIdentifier) {
        self.foreign();
    }

    fn append_action_deterministic_state_init(
        &mut self,
        _: ReceiptIndex,
        _: GlobalContractIdentifier,
        _: Balance,
    ) -> ActionIndex {
        self.foreign();
        0
    }

    fn set_deterministic_state_init_data_entry(
        &mut self,
        receipt_index: ReceiptIndex,
        action_index: ActionIndex,
        _: Vec<u8>,
        _: Vec<u8>,
    ) -> Done<()> {
        self.foreign();
        Err(HostError::InvalidActionIndex { receipt_index, action_index }.into())
    }

    fn append_action_function_call_weight(
        &mut self,
        _: ReceiptIndex,
        _: Vec<u8>,
        _: Vec<u8>,
        _: Balance,
        _: Gas,
        _: GasWeight,
    ) -> Done<()> {
        self.foreign();
        Ok(())
    }

    fn append_action_transfer_to_gas_key(&mut self, _: ReceiptIndex, _: PublicKey, _: Balance) {
        self.foreign();
    }

    fn append_action_add_gas_key_with_full_access(
        &mut self,
        _: ReceiptIndex,
        _: PublicKey,
        _: NonceIndex,
    ) {
        self.foreign();
    }

    fn append_action_add_gas_key_with_function_call(
        &mut self,
        _: ReceiptIndex,
        _: PublicKey,
        _: NonceIndex,
        _: Option<Balance>,
        _: AccountId,
        _: Vec<Vec<u8>>,
    ) -> Done<()> {
        self.foreign();
        Ok(())
    }

    fn append_action_stake(&mut self, _: ReceiptIndex, _: Balance, _: PublicKey) {
        self.foreign();
    }

    fn append_action_add_key_with_full_access(&mut self, _: ReceiptIndex, _: PublicKey, _: Nonce) {
        self.foreign();
    }

    fn append_action_add_key_with_function_call(
        &mut self,
        _: ReceiptIndex,
        _: PublicKey,
        _: Nonce,
        _: Option<Balance>,
        _: AccountId,
        _: Vec<Vec<u8>>,
    ) -> Done<()> {
        self.foreign();
        Ok(())
    }

    fn append_action_delete_key(&mut self, _: ReceiptIndex, _: PublicKey) {
        self.foreign();
    }

    fn append_action_delete_account(&mut self, _: ReceiptIndex, _: AccountId) {
        self.foreign();
    }

    fn set_refund_to(&mut self, _: ReceiptIndex, _: AccountId) {
        self.foreign();
    }
}
