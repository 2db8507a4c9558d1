//! Who may read what the service keeps, where its folder is open to others.

use crate::release::server::{Server, portage, token};
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Each file and folder below this one, with its mode.
fn modes(dir: &Path) -> Vec<(String, u32)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let entry = entry.expect("an entry");
        let about = entry.metadata().expect("its mode");
        let name = entry.path().display().to_string();
        all.push((name, about.permissions().mode() & 0o777));
        if about.is_dir() {
            all.extend(modes(&entry.path()));
        }
    }
    all
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

/// Red where files take the umask's mode: `portage.db`, its log and the Spot log were 0644 (run: `private`
/// and `Folder` without their modes, and a bus that SQLite makes).
#[test]
fn a_wide_folder_holds_files_of_this_service_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let dir = home.path().join("data");
    fs::create_dir(&dir).expect("a folder");
    mode(&dir, 0o755);
    let server = Server::start(&dir);
    let ops = token(&dir, "1", "ops:read ops:act");
    let body = json!({
        "user_id": 4001, "asset": "USDT", "amount": "5", "ref": "seed", "reason": "a test",
    });
    assert_eq!(server.must("POST", "/api/v1/ops/deposits", &ops, Some(body)).status, 201);
    let user = token(&dir, "4001", "transfers:create");
    let made = server.transfer(&user, ("FUNDING", "SPOT"), "1", "c").expect("an answer");
    assert_eq!(made.status, 200, "{made:?}");

    let narrow = |log: &str| {
        let all = modes(&dir);
        assert!(all.len() > 6, "{all:?}");
        for (name, mode) in all.iter().filter(|(name, _)| !name.ends_with("server.log")) {
            assert_eq!(mode & 0o077, 0, "{name} is {mode:o}");
        }
        let said = fs::read_to_string(dir.join("server.log")).expect("a log");
        assert!(said.contains("data.dir is open to others") && said.contains("0755"), "{said}");
        assert!(said.contains(log), "{said}");
    };
    narrow("data.dir is open to others");
    server.kill();

    // what an earlier release, or a copy, left open is narrowed and named
    for name in ["portage.db", "owner", "portage.lock", "spot/lock", "bus.db"] {
        mode(&dir.join(name), 0o644);
    }
    mode(&dir.join("spot"), 0o755);
    fs::write(dir.join("notes.txt"), "another program's").expect("a file");
    mode(&dir.join("notes.txt"), 0o640);
    let server = Server::start(&dir);
    assert_eq!(
        modes(&dir).iter().find(|(name, _)| name.ends_with("notes.txt")).map(|m| m.1),
        Some(0o640)
    );
    fs::remove_file(dir.join("notes.txt")).expect("it goes");
    narrow("was open to others; now it is not");
    server.kill();
    assert!(portage(&["check"], &dir).status.success());
}
