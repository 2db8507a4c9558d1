//! The PostgreSQL that the tests use: the one that was given, or one that lives as long as they run.

use crate::{Outcome, run, tools};
use testbed::{GIVEN, Options, Server};

/// Enough for two test programs at once, whose tests have a pool each.
const CONNECTIONS: u32 = 400;

/// Makes sure that a server can be started.
pub(crate) fn needed() -> Outcome {
    tools::need(Server::possible, "postgresql", "the tests run on a real server")
}

/// Starts a server where none was given; every program started later finds its URL.
pub(crate) fn start() -> Outcome<Server> {
    if let Ok(given) = Server::given() {
        println!("{GIVEN} names a server: it is used as it is");
        return Ok(given);
    }
    needed()?;
    let options = Options { max_connections: CONNECTIONS, ..Options::default() };
    let server = Server::with(&options)?;
    run::hand_down(GIVEN, server.url())?;
    println!("a server of our own, until the tests end: {GIVEN}={}", server.url());
    Ok(server)
}
