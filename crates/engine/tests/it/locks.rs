//! A folder has one owner: a second one, in this process or in another, is told so and touches
//! nothing. Turns red where `Folder::open` or the store's `lock` ignores what `try_lock` says.

use crate::fixture::defaults::NEVER;
use crate::fixture::folders::books;
use crate::fixture::test_service::TestService;
use kernel::ports::meter::NoMeter;
use ledgers::disk::Folder;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use store::sqlite::{Embedded, OpenError, Options};
use testkit::ShiftedClock;

/// Names the folder to a second process of this very program.
const VARIABLE: &str = "PORTAGE_TEST_SECOND_OWNER";

fn both_are_locked(dir: &Path) {
    let journal = Embedded::open(Options {
        dir: dir.to_owned(),
        flows: Arc::new(flows::registry()),
        clock: Arc::new(ShiftedClock::new()),
        meter: Arc::new(NoMeter),
        fatal: Arc::new(|what| panic!("{what}")),
        max_bytes: None,
    });
    assert!(matches!(journal, Err(OpenError::Locked(_))));
    let spot = Folder::open(dir.join("spot"));
    assert!(matches!(spot, Err(ledgers::SpotOpenError::Locked)), "{spot:?}");
}

/// What the second process does; in the first one there is nothing to do.
#[test]
fn a_second_owner() {
    if let Some(dir) = std::env::var_os(VARIABLE) {
        both_are_locked(Path::new(&dir));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_has_one_owner() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let before = books(&service.faulty_spot.spot()).await;
    both_are_locked(service.dir.path());
    let this = std::env::current_exe().expect("this program");
    let ran = Command::new(this)
        .args(["--exact", "locks::a_second_owner", "--nocapture"])
        .env(VARIABLE, service.dir.path())
        .output()
        .expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
    // whoever was refused left everything as it was
    assert_eq!(books(&service.faulty_spot.spot()).await, before);
    service.work(1).await;
    service.assert_in_order().await;
    // and once the owner is gone, the next one has it
    service.restart().await;
    service.assert_in_order().await;
}
