//! What a crash leaves: a copy of the folder as it was at that moment, whole or torn.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a folder. SQLite's shared memory is no file of its own: it dies with the
/// processes that share it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("its entry is readable").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.to_string_lossy().ends_with("-shm") {
            found.push(path);
        }
    }
    found
}

/// The same file in another folder, and the folders above it.
fn moved(path: &Path, from: &Path, to: &Path) -> PathBuf {
    let target = to.join(path.strip_prefix(from).expect("it lies in the folder"));
    fs::create_dir_all(target.parent().expect("it has a folder")).expect("folders can be made");
    target
}

/// Copies a folder, permissions included.
pub(crate) fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        fs::copy(&path, moved(&path, from, to)).expect("a file can be copied");
    }
}

/// Leaves of the last write only the first `share` percent: what came between `before` and `after`
/// is cut there in every file that it changed.
pub(crate) fn tear(before: &Path, after: &Path, to: &Path, share: usize) {
    for path in files(after) {
        let new = fs::read(&path).expect("a file can be read");
        let old = fs::read(moved(&path, after, before)).unwrap_or_default();
        let target = moved(&path, after, to);
        fs::copy(&path, &target).expect("a file can be copied");
        if new != old {
            fs::write(&target, torn(&old, &new, share)).expect("a file can be written");
        }
    }
}

fn torn(old: &[u8], new: &[u8], share: usize) -> Vec<u8> {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let from = old.iter().zip(new).take_while(same).count();
    let equal_end = if old.len() == new.len() {
        old.iter().rev().zip(new.iter().rev()).take_while(same).count()
    } else {
        0
    };
    let changed = new.len() - equal_end - from;
    let cut = from + changed * share / 100;
    let mut left = new[..cut].to_vec();
    left.extend(old.get(cut..).unwrap_or_default());
    left
}

#[cfg(test)]
mod tests {
    use super::torn;

    #[test]
    fn half_of_what_changed_is_there() {
        assert_eq!(torn(b"abc", b"abcdefgh", 50), b"abcde");
        assert_eq!(torn(b"abcdefgh", b"abXYZWgh", 50), b"abXYefgh");
        assert_eq!(torn(b"", b"abcd", 50), b"ab");
        assert_eq!(torn(b"abcd", b"ab", 50), b"abcd");
    }
}
