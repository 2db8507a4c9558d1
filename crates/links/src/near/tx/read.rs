//! Reads back from signed bytes what they do. It is strict: it reads nothing that this product would
//! not have written.

use super::encoding::{ActionEncoding, KeyEncoding, SignatureEncoding, SignedEncoding};
use super::write::{DEPOSIT, ONE_YOCTO, TRANSFER};
use super::{BatchAction, digest};
use ed25519_dalek::{Signature, VerifyingKey};
use kernel::answer::Cause;
use kernel::ports::chain::FOREIGN_FORM;
use serde::Deserialize;
use std::sync::Arc;

/// The content of signed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::near) struct ReadTransaction {
    /// Its name on the chain.
    pub hash: [u8; 32],
    /// The account that signed.
    pub signer: String,
    /// The key that signed.
    pub key: [u8; 32],
    /// The key's nonce that it takes.
    pub nonce: u64,
    /// The contract that is called, or the signer itself.
    pub receiver: String,
    /// The block that its validity counts from.
    pub base: [u8; 32],
    /// Its actions, in order.
    pub actions: Vec<BatchAction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferArgs {
    receiver_id: Arc<str>,
    amount: String,
    memo: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DepositArgs {
    account_id: Arc<str>,
    registration_only: bool,
}

/// Reads what signed bytes do, and checks their signature.
///
/// # Errors
/// `FOREIGN_FORM`: they are no transaction that this product writes.
pub(in crate::near) fn read(bytes: &[u8]) -> Result<ReadTransaction, Cause> {
    let foreign = |what: &str| Cause::because(FOREIGN_FORM, what);
    let signed: SignedEncoding =
        borsh::from_slice(bytes).map_err(|_| foreign("the bytes are no transaction"))?;
    let SignedEncoding { transaction, signature } = signed;
    let encoded =
        borsh::to_vec(&transaction).map_err(|_| foreign("the bytes are no transaction"))?;
    let hash = digest(&encoded);
    let KeyEncoding::Ed25519(key) = transaction.public_key;
    let SignatureEncoding::Ed25519(signature) = signature;
    let verifier = VerifyingKey::from_bytes(&key).map_err(|_| foreign("the key is none"))?;
    verifier
        .verify_strict(&hash, &Signature::from_bytes(&signature))
        .map_err(|_| foreign("the signature is not the key's"))?;
    let actions = transaction.actions.iter().map(action).collect::<Option<Vec<BatchAction>>>();
    let actions = actions.ok_or_else(|| foreign("an action is none that the relay makes"))?;
    let to_self = transaction.receiver_id == transaction.signer_id;
    if actions.iter().any(|action| (*action == BatchAction::Nothing) != to_self) {
        return Err(foreign("only what makes no payment goes to the signer"));
    }
    Ok(ReadTransaction {
        hash,
        signer: transaction.signer_id,
        key,
        nonce: transaction.nonce,
        receiver: transaction.receiver_id,
        base: transaction.block_hash,
        actions,
    })
}

fn action(action: &ActionEncoding) -> Option<BatchAction> {
    match action {
        ActionEncoding::Transfer(0) => Some(BatchAction::Nothing),
        ActionEncoding::Transfer(_) => None,
        ActionEncoding::FunctionCall(call) => read_call(&call.method, &call.args, call.deposit),
    }
}

/// The action of a call of a contract's method; `None`: the relay makes no such call.
pub(in crate::near) fn read_call(method: &str, args: &[u8], deposit: u128) -> Option<BatchAction> {
    match method {
        TRANSFER if deposit == ONE_YOCTO => {
            let args: TransferArgs = serde_json::from_slice(args).ok()?;
            let amount = args.amount.parse().ok()?;
            Some(BatchAction::Pay { receiver: args.receiver_id, amount, memo: args.memo })
        }
        DEPOSIT => {
            let args: DepositArgs = serde_json::from_slice(args).ok()?;
            let register = BatchAction::Register { account: args.account_id, deposit };
            args.registration_only.then_some(register)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Unwritten, unsigned, with_signature};
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};

    fn signed(actions: &[BatchAction], receiver: &str) -> Vec<u8> {
        let key = SigningKey::from_bytes(&[7; 32]);
        let bytes = unsigned(&Unwritten {
            signer: "relay.near",
            key: key.verifying_key().to_bytes(),
            nonce: 5,
            receiver,
            base: [9; 32],
            actions,
            gas: 3,
        })
        .unwrap();
        let signature = key.sign(&digest(&bytes)).to_bytes();
        with_signature(bytes, signature).unwrap()
    }

    fn pay(amount: u128) -> BatchAction {
        BatchAction::Pay { receiver: "a\"b.near".into(), amount, memo: "01J".to_owned() }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let register = BatchAction::Register { account: "b.near".into(), deposit: 7 };
        let actions = [pay(1), pay(u128::MAX), register];
        let found = read(&signed(&actions, "usdc.near")).unwrap();
        assert_eq!((found.nonce, found.base), (5, [9; 32]));
        assert_eq!(found.actions, actions);
        assert_eq!(found.receiver, "usdc.near");
        assert!(read(&signed(&[BatchAction::Nothing], "relay.near")).is_ok());
    }

    #[test]
    fn what_differs_is_not_read() {
        let bytes = signed(&[pay(1)], "usdc.near");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(read(&changed).is_err(), "byte {at}");
        }
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
        assert!(read(&[&bytes[..], &[0]].concat()).is_err());
        assert!(read(&signed(&[pay(1)], "relay.near")).is_err(), "a payment to the signer itself");
        assert!(read(&signed(&[BatchAction::Nothing], "usdc.near")).is_err());
    }
}
