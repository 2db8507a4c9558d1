//! The Apache Kafka that the tests use: the one that was given, or one that lives as long as they run; and
//! what the feature `kafka` needs to be built.

use crate::{Outcome, run, tools};
use std::process::Stdio;
use testbed::{GIVEN_KAFKA, Kafka};

/// The whole of the product is checked and tested: the feature is off by default.
pub(crate) const FEATURES: [&str; 2] = ["--features", "server/kafka"];

/// Makes sure that librdkafka can be built.
pub(crate) fn buildable() -> Outcome {
    let packages = "make g++ pkg-config libssl-dev zlib1g-dev";
    tools::need(builds, packages, "the feature `kafka` compiles librdkafka, and TLS is OpenSSL's")
}

fn builds() -> Outcome {
    let programs: [&[&str]; 3] =
        [&["make", "--version"], &["c++", "--version"], &["pkg-config", "--exists", "openssl"]];
    for words in programs {
        let mut program = run::program(words.first().copied().unwrap_or_default());
        program.args(words.iter().skip(1)).stdout(Stdio::null()).stderr(Stdio::null());
        run::must(program)?;
    }
    Ok(())
}

/// Makes sure that the feature can be built and a broker be started.
pub(crate) fn needed() -> Outcome {
    buildable()?;
    let why = "the bus and the flow of account transfers are tested on a real broker";
    // what kills a broker starts its own
    tools::need(Kafka::possible, "default-jdk-headless maven", why)
}

/// Starts a broker where none was given; every program started later finds its address.
pub(crate) fn start() -> Outcome<Kafka> {
    needed()?;
    if let Ok(given) = Kafka::given() {
        println!("{GIVEN_KAFKA} names a broker: it is used as it is");
        return Ok(given);
    }
    let broker = Kafka::start()?;
    run::hand_down(GIVEN_KAFKA, broker.brokers())?;
    println!("a broker of our own, until the tests end: {GIVEN_KAFKA}={}", broker.brokers());
    Ok(broker)
}
