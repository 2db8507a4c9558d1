//! Receivers are asked after in one round. The providers here answer whether one is registered only when all are
//! asked: who asks one after another waits for an answer that never comes.

use super::receivers::{Allowed, facts};
use super::world::World;
use flows::relay::rules::LATELY;
use kernel::ports::chain::ChainIdentity;
use kernel::ports::facts::FactSource;
use kernel::record::Fact;
use links::near::Reservation;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Barrier};

const RECEIVERS: usize = 3;

/// The JSON of one request; none where the connection ended.
fn request(stream: &mut TcpStream) -> Option<Value> {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).ok().filter(|read| *read > 0)?;
        text.extend_from_slice(&part[..read]);
        let end = text.windows(4).position(|four| four == b"\r\n\r\n");
        let body = end.and_then(|end| serde_json::from_slice(&text[end + 4..]).ok());
        if body.is_some() {
            return body;
        }
    }
}

fn answers(mut stream: TcpStream, (all, chain): (&Barrier, &ChainIdentity)) {
    while let Some(asked) = request(&mut stream) {
        let result = if asked["method"] == "status" {
            json!({ "chain_id": &*chain.name, "genesis_hash": &*chain.genesis })
        } else if asked["params"]["method_name"] == "storage_balance_of" {
            all.wait();
            json!({ "result": b"null" })
        } else if asked["params"]["method_name"] == "storage_balance_bounds" {
            json!({ "result": br#"{"min":"1","max":"1"}"# })
        } else {
            json!({ "amount": "1" })
        };
        let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    }
}

/// A provider of this chain; its address.
fn provider(chain: &ChainIdentity) -> String {
    let chain = chain.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let all = Arc::new(Barrier::new(RECEIVERS));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, all, chain) = (stream.unwrap(), all.clone(), chain.clone());
            std::thread::spawn(move || answers(stream, (&all, &chain)));
        }
    });
    url
}

/// Turns red where receivers are asked after one after another, and where one of them costs more than two calls to each
/// provider: whether it exists, and whether the token knows it. The token's price is asked once for all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receivers_are_asked_after_in_one_round() {
    let world = World::new(1);
    let mut settings = world.settings();
    settings.rpc_urls = vec![provider(&world.identity()), provider(&world.identity())];
    settings.providers_needed = 2;
    settings.limits.timeout_ms = 10_000;
    let source = world.port_with(settings).facts(Allowed::everyone(Reservation::Lately));
    let records = ["anna.devnet", "ben.devnet", "cleo.devnet"].map(|to| world.record(to, 1));
    let may = source.facts("may register", &records).await;
    let lately: Vec<_> = may.iter().map(|one| facts(one)[LATELY].clone()).collect();
    assert_eq!(lately, vec![Fact::Flag(true); RECEIVERS]);
    assert_eq!(world.meter.times("NEAR query answered"), RECEIVERS * 4 + 2);
}
