//! A server that has no connection left: other programs took them.
//!
//! Wrong builds that were run: a writer that is cut off and never connects again turns it red; 53300 read
//! as a refusal does not, since a refusal counts only once it was stored, which needs a connection.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::FUNDING;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testbed::Options;
use testkit::{MINUTE, wait_until};

/// Room for one worker, and for some people.
const ROOM: u32 = 24;

/// Sessions that do nothing, until they are ended.
struct Idlers(Vec<Child>);

impl Idlers {
    /// Takes every connection that there is; the last one who comes is told that there is none.
    async fn fill(fixture: &Fixture) -> Self {
        let mut idlers = Self(Vec::new());
        for _ in 0..4 * ROOM {
            let mut psql = Command::new("psql");
            // it waits for a word of ours, and goes when we go
            psql.args(["-X", "-q", "-d", fixture.database.url()]).stdin(Stdio::piped());
            let psql = psql.stdout(Stdio::null()).stderr(Stdio::null());
            idlers.0.push(psql.spawn().expect("psql"));
            tokio::time::sleep(Duration::from_millis(30)).await;
            let turned_away = |child: &mut Child| child.try_wait().expect("it is asked").is_some();
            if idlers.0.iter_mut().any(turned_away) {
                return idlers;
            }
        }
        panic!("there is room without end")
    }
}

impl Drop for Idlers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // one was turned away
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// Turns red where "too many connections" (53300) is taken for a refusal, or where a worker that was
/// turned away does not come back once there is room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_no_connection_left_for_a_while() {
    let options = Options { max_connections: ROOM, ..Options::default() };
    let fixture = Fixture::open_on(&options, quick(true)).await;
    let worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 1_000).await;
    // its connections end, and others are there first
    fixture.proxy.refuse(true);
    fixture.proxy.cut();
    let idlers = Idlers::fill(&fixture).await;
    fixture.proxy.refuse(false);
    let asked = worker.create_with_key(FUNDING, 1, "no-room", 5).await;
    assert!(asked.is_err(), "{asked:?}");
    let told = "too many clients already";
    let logged = async || fixture.server.last_words().expect("a log").contains(told);
    assert!(wait_until(MINUTE, logged).await, "no connection was refused");
    drop(idlers);
    worker.complete_transfer(FUNDING, 1, "no-room", 5).await;
    fixture.wait_for_sql("SELECT count(*) FROM transfers", "2").await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}
