//! Writes a transaction's bytes for signing, and joins them with the signature.

use super::BatchAction;
use super::encoding::{
    ActionEncoding, CallEncoding, KeyEncoding, SignatureEncoding, SignedEncoding,
    TransactionEncoding,
};
use kernel::answer::Cause;
use serde_json::json;

/// The method that pays.
pub(super) const TRANSFER: &str = "ft_transfer";
/// The method that registers.
pub(super) const DEPOSIT: &str = "storage_deposit";
/// The yoctoNEAR that a payment attaches: exactly one, so that only a full-access key can make it.
pub(super) const ONE_YOCTO: u128 = 1;

/// A transaction that is not signed yet.
#[derive(Debug)]
pub(in crate::near) struct Unwritten<'a> {
    /// The account that signs and pays the fees.
    pub signer: &'a str,
    /// The key that signs.
    pub key: [u8; 32],
    /// The nonce, which the chain spends at most once.
    pub nonce: u64,
    /// The contract, or the signer itself.
    pub receiver: &'a str,
    /// The hash of the block that its validity counts from.
    pub base: [u8; 32],
    /// Its actions, in order.
    pub actions: &'a [BatchAction],
    /// The gas that each call gets.
    pub gas: u64,
}

/// The bytes whose hash is signed.
///
/// # Errors
/// They cannot be written.
pub(in crate::near) fn unsigned(unwritten: &Unwritten<'_>) -> Result<Vec<u8>, Cause> {
    let call = |method: &str, args: serde_json::Value, deposit| {
        ActionEncoding::FunctionCall(CallEncoding {
            method: method.to_owned(),
            args: args.to_string().into_bytes(),
            gas: unwritten.gas,
            deposit,
        })
    };
    let action = |action: &BatchAction| match action {
        BatchAction::Pay { receiver, amount, memo } => {
            let amount = amount.to_string();
            let args = json!({ "receiver_id": receiver, "amount": amount, "memo": memo });
            call(TRANSFER, args, ONE_YOCTO)
        }
        BatchAction::Register { account, deposit } => {
            let args = json!({ "account_id": account, "registration_only": true });
            call(DEPOSIT, args, *deposit)
        }
        BatchAction::Nothing => ActionEncoding::Transfer(0),
    };
    let encoding = TransactionEncoding {
        signer_id: unwritten.signer.to_owned(),
        public_key: KeyEncoding::Ed25519(unwritten.key),
        nonce: unwritten.nonce,
        receiver_id: unwritten.receiver.to_owned(),
        block_hash: unwritten.base,
        actions: unwritten.actions.iter().map(action).collect(),
    };
    borsh::to_vec(&encoding).map_err(|_| Cause::of("BAD_TRANSACTION"))
}

/// The bytes that are sent.
///
/// # Errors
/// They cannot be written.
pub(in crate::near) fn with_signature(
    mut bytes: Vec<u8>,
    signature: [u8; 64],
) -> Result<Vec<u8>, Cause> {
    let signature = borsh::to_vec(&SignatureEncoding::Ed25519(signature));
    bytes.extend(signature.map_err(|_| Cause::of("BAD_TRANSACTION"))?);
    // what was put together is one transaction, and nothing is left over
    borsh::from_slice::<SignedEncoding>(&bytes).map_err(|_| Cause::of("BAD_TRANSACTION"))?;
    Ok(bytes)
}
