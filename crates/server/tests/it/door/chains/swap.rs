//! The swaps over HTTP, without a network and without the vault's key.

use super::Door;
use serde_json::json;
use server::config::Config;

const VAULT: &str = "So11111111111111111111111111111111111111112";

fn swap(config: &mut Config) {
    config.swap.vault_account = "7VbmmXo2LkfKQcuMnDA8HdbYBEdWkkDe2yqeCfeqMnNK".to_owned();
    config.swap.vault = VAULT.to_owned();
    config.swap.mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v".to_owned();
    // nothing listens there
    config.swap.solana_rpc_urls = vec!["http://127.0.0.1:9".into()];
}

/// Turns red where a chain that this process does not reach is shown, or one that it reaches is not.
#[tokio::test]
async fn operators_see_the_vault_s_chain() {
    let door = Door::set(swap).await;
    let chain = door.get(("ops", "ops:read"), "/api/v1/ops/chains/SOLANA").await;
    assert_eq!(chain.status, 200, "{chain:?}");
    assert_eq!((&chain.body["chain"], &chain.body["lanes"]), (&json!("SOLANA"), &json!([])));
    assert_eq!(chain.body["providers"][0]["provider"], "127.0.0.1:9");
    assert_eq!(chain.body["identity"], json!(null), "no provider shows one");
    for other in ["NEXUS", "NEAR", "solana", "FUNDING"] {
        let path = format!("/api/v1/ops/chains/{other}");
        assert_eq!(door.get(("ops", "ops:read"), &path).await.status, 404, "{other}");
    }
    let refused = door.get(("4001", "transfers:read"), "/api/v1/ops/chains/SOLANA").await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

/// Both ends of a swap are named by assets that the store knows from the first start on.
#[tokio::test]
async fn usdd_is_an_asset_where_swaps_are_offered() {
    let symbols = async |door: &Door| {
        let assets = door.get(("ops", "ops:read"), "/api/v1/ops/assets").await;
        let rows = assets.body["assets"].as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| row["symbol"].clone()).collect::<Vec<_>>()
    };
    assert!(!symbols(&Door::open().await).await.contains(&json!("USDD")));
    assert!(symbols(&Door::set(swap).await).await.contains(&json!("USDD")));
    let health = Door::set(swap).await.get(("ops", "ops:read"), "/health").await;
    assert_eq!(health.body["solana"], "unavailable", "{health:?}");
}
