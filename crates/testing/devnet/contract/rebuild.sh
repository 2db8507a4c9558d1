#!/usr/bin/env bash
# Builds the token of the local chain and compares it with what is checked in.
#   rebuild.sh          builds, and fails if the result differs from token.wasm
#   rebuild.sh --write  builds, and replaces token.wasm and token.wasm.sha256
# The same toolchain gives the same bytes in every folder: the paths of this machine are mapped away.
set -euo pipefail
cd "$(dirname "$0")"
rustup target add wasm32-unknown-unknown
target=${CARGO_TARGET_DIR:-$(mktemp -d)}
registry=$(dirname "$(cargo fetch --locked >&2; cargo metadata --locked --format-version 1 |
    python3 -c 'import json,sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "near-sdk"))' |
    xargs dirname)")
sysroot=$(rustc --print sysroot)
RUSTFLAGS="--cfg near -C link-arg=-s --remap-path-prefix=$registry=/registry --remap-path-prefix=$PWD=/contract --remap-path-prefix=$sysroot=/rust" \
    cargo build --release --locked --target wasm32-unknown-unknown --target-dir "$target"
built=$target/wasm32-unknown-unknown/release/devnet_token.wasm
if [ "${1:-}" = --write ]; then
    cp "$built" token.wasm
    sha256sum token.wasm > token.wasm.sha256
fi
sha256sum "$built" token.wasm
cmp "$built" token.wasm
