//! The contract that is checked in.

use devnet::near::{TOKEN_WASM, near_primitives::hash::CryptoHash};

/// Turns red if the wasm is not the one that was built and whose hash was written down with it.
#[test]
fn the_wasm_is_the_one_that_was_built() {
    let written = include_str!("../../contract/token.wasm.sha256");
    let expected = written.split_whitespace().next().unwrap();
    let hash: String = CryptoHash::hash_bytes(TOKEN_WASM).0.iter().map(hex).collect();
    assert_eq!(hash, expected, "contract/rebuild.sh --write builds it anew");
}

/// Turns red if a path of the machine that built it is in the contract.
#[test]
fn the_wasm_holds_no_path_of_a_machine() {
    let text = String::from_utf8_lossy(TOKEN_WASM);
    for part in ["/root/", "/home/", ".cargo/registry", ".rustup"] {
        assert!(!text.contains(part), "{part}");
    }
}

fn hex(byte: &u8) -> String {
    format!("{byte:02x}")
}
