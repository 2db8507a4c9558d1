//! A key with its address, for those who sign: tests, the setup, the control routes.

use crate::Outcome;
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};
use solana_address::Address;
use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_message::{Message, VersionedMessage};
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;

#[derive(Debug, Clone)]
pub struct Wallet {
    key: SigningKey,
}

impl Wallet {
    /// The wallet whose key is derived from a text: the same text gives the same key.
    pub fn derived(text: &str) -> Self {
        Self { key: SigningKey::from_bytes(&Sha256::digest(text.as_bytes()).into()) }
    }

    pub fn address(&self) -> Address {
        Address::from(self.key.verifying_key().to_bytes())
    }

    /// Secret and public key, as a keypair file holds them.
    pub fn keypair(&self) -> [u8; 64] {
        self.key.to_keypair_bytes()
    }

    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature::from(self.key.sign(message).to_bytes())
    }
}

/// Signs instructions as a legacy transaction; the first wallet pays the fee.
///
/// # Errors
///
/// If a signer is missing.
pub fn sign_message(
    instructions: &[Instruction],
    signers: &[&Wallet],
    blockhash: Hash,
) -> Outcome<VersionedTransaction> {
    let payer = signers.first().ok_or("no signer")?.address();
    let message = Message::new_with_blockhash(instructions, Some(&payer), &blockhash);
    sign_versioned(VersionedMessage::Legacy(message), signers)
}

/// Signs a message of either version.
///
/// # Errors
///
/// If a signer is missing.
pub fn sign_versioned(
    message: VersionedMessage,
    signers: &[&Wallet],
) -> Outcome<VersionedTransaction> {
    let bytes = message.serialize();
    let needed = usize::from(message.header().num_required_signatures);
    let signed = message.static_account_keys().iter().take(needed).map(|key| {
        let signer = signers.iter().find(|wallet| wallet.address() == *key);
        signer.map(|wallet| wallet.sign(&bytes)).ok_or_else(|| format!("{key} must sign"))
    });
    let signatures = signed.collect::<Outcome<Vec<_>>>()?;
    Ok(VersionedTransaction { signatures, message })
}
