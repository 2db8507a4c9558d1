//! Defines the shapes of a transaction in borsh, as the protocol writes them (`Transaction::V0`). It
//! has only the two actions that the relay makes: bytes with any other action are not read.

use borsh::{BorshDeserialize, BorshSerialize};

/// A transaction and the signature of its hash.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct SignedEncoding {
    pub transaction: TransactionEncoding,
    pub signature: SignatureEncoding,
}

/// The transaction whose hash a key signs.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct TransactionEncoding {
    pub signer_id: String,
    pub public_key: KeyEncoding,
    pub nonce: u64,
    pub receiver_id: String,
    pub block_hash: [u8; 32],
    pub actions: Vec<ActionEncoding>,
}

/// A public key; the tag is the curve's.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub(super) enum KeyEncoding {
    Ed25519([u8; 32]),
}

/// A signature; the tag is the curve's.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub(super) enum SignatureEncoding {
    Ed25519([u8; 64]),
}

/// The two kinds of actions, by the protocol's numbers.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
#[borsh(use_discriminant = true)]
#[repr(u8)]
pub(super) enum ActionEncoding {
    FunctionCall(CallEncoding) = 2,
    Transfer(u128) = 3,
}

/// A call of a contract's method.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct CallEncoding {
    pub method: String,
    pub args: Vec<u8>,
    pub gas: u64,
    pub deposit: u128,
}
