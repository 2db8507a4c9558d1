//! A model of a disk after a loss of power: it keeps synced bytes, and a part of the others.

use super::trace::Call;
use crate::Outcome;
use crate::rng::Rng;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file's number: its name may change.
type Inode = usize;

/// The files below one folder.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    root: String,
    files: Vec<File>,
    /// As the process sees it.
    names: BTreeMap<String, Inode>,
    /// As a power loss leaves it at the least.
    durable: BTreeMap<String, Inode>,
    /// Changes of names whose folder was not synced since.
    unsynced: Vec<(usize, Rename)>,
}

#[derive(Debug, Clone, Default)]
struct File {
    durable: Vec<u8>,
    /// What was written and not synced, with the line of its return.
    unsynced: Vec<(usize, Change)>,
    /// Its length as the process sees it.
    len: u64,
}

#[derive(Debug, Clone)]
enum Change {
    Bytes { at: u64, bytes: Vec<u8> },
    Cut(u64),
}

/// One change of the folder.
#[derive(Debug, Clone)]
struct Rename {
    /// The name that goes; `None` where the file had none.
    from: Option<String>,
    /// This one is the file's.
    to: Option<(String, Inode)>,
}

/// Shared memory dies with those who share it.
const SHARED: &str = "-shm";

impl Disk {
    /// What is in a folder, all of it durable.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(root: &Path) -> Outcome<Self> {
        let mut disk = Self { root: root.to_string_lossy().into_owned(), ..Self::default() };
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
            for entry in std::fs::read_dir(&folder).map_err(fault)? {
                let path = entry.map_err(fault)?.path();
                let name = path.to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if !name.ends_with(SHARED) {
                    let durable = std::fs::read(&path).map_err(fault)?;
                    let len = long(durable.len());
                    disk.names.insert(name, disk.files.len());
                    disk.files.push(File { durable, unsynced: Vec::new(), len });
                }
            }
        }
        disk.durable = disk.names.clone();
        Ok(disk)
    }

    fn ours(&self, path: &str) -> bool {
        path.starts_with(&self.root) && !path.ends_with(SHARED)
    }

    /// The process made a call. One that never reached the kernel changed nothing; one that did not
    /// return may have.
    pub fn see(&mut self, call: &Call) {
        if call.injected || (call.ended.is_some() && call.result.is_none()) {
            return;
        }
        let at = call.ended.unwrap_or(usize::MAX);
        match call.name.as_str() {
            "openat" => self.opened(call, at),
            "pwrite64" => self.wrote(call, at, call.last()),
            "write" => self.wrote(call, at, None),
            "ftruncate" => {
                if let (Some(file), Some(len)) = (call.file(), call.last()) {
                    self.change(&file, at, Change::Cut(len));
                }
            }
            "rename" => {
                if let (Some(from), Some(to)) = (call.path(0), call.path(1)) {
                    self.renamed(Some(from), Some(to), at);
                }
            }
            "unlink" => self.renamed(call.path(0), None, at),
            "fsync" | "fdatasync" if call.ended.is_some() => {
                if let Some(file) = call.file() {
                    self.synced(&file, call.begun);
                }
            }
            _ => {}
        }
    }

    fn opened(&mut self, call: &Call, at: usize) {
        let Some(path) = call.path(0).filter(|path| self.ours(path)) else { return };
        if call.ended.is_none() {
            return;
        }
        if !self.names.contains_key(&path) && call.args.contains("O_CREAT") {
            let inode = self.files.len();
            self.files.push(File::default());
            self.names.insert(path.clone(), inode);
            self.unsynced.push((at, Rename { from: None, to: Some((path.clone(), inode)) }));
        }
        if call.args.contains("O_TRUNC") {
            self.change(&path, at, Change::Cut(0));
        }
    }

    /// Without a place it goes to the end: the process never writes so into the middle.
    fn wrote(&mut self, call: &Call, at: usize, place: Option<u64>) {
        let (Some(file), Some(mut bytes)) = (call.file(), call.string(0)) else { return };
        if let Some(wrote) = call.result {
            bytes.truncate(usize::try_from(wrote).unwrap_or_default());
        }
        let Some(inode) = self.names.get(&file) else { return };
        let len = self.files.get(*inode).map_or(0, |file| file.len);
        self.change(&file, at, Change::Bytes { at: place.unwrap_or(len), bytes });
    }

    fn change(&mut self, path: &str, at: usize, change: Change) {
        let Some(inode) = self.names.get(path) else { return };
        let Some(file) = self.files.get_mut(*inode) else { return };
        match &change {
            Change::Bytes { at, bytes } => {
                let end = at.saturating_add(long(bytes.len()));
                if end > file.len {
                    file.len = end;
                }
            }
            Change::Cut(len) => file.len = *len,
        }
        file.unsynced.push((at, change));
    }

    fn renamed(&mut self, from: Option<String>, to: Option<String>, at: usize) {
        let Some(from) = from.filter(|from| self.ours(from)) else { return };
        let Some(inode) = self.names.remove(&from) else { return };
        let to = to.map(|to| (to, inode));
        if let Some((to, inode)) = &to {
            self.names.insert(to.clone(), *inode);
        }
        self.unsynced.push((at, Rename { from: Some(from), to }));
    }

    /// What had returned before the sync was asked for is durable.
    fn synced(&mut self, path: &str, begun: usize) {
        if let Some(file) = self.names.get(path).and_then(|inode| self.files.get_mut(*inode)) {
            let (done, left) =
                std::mem::take(&mut file.unsynced).into_iter().partition(|(at, _)| *at < begun);
            file.unsynced = left;
            for (_, change) in done {
                apply(&mut file.durable, &change);
            }
            return;
        }
        let here = |rename: &Rename| {
            let name = rename.from.as_ref().or_else(|| rename.to.as_ref().map(|(to, _)| to));
            name.and_then(|name| Path::new(name).parent()).is_some_and(|up| up == Path::new(path))
        };
        let all = std::mem::take(&mut self.unsynced);
        for (at, rename) in all {
            if at < begun && here(&rename) {
                rename.apply(&mut self.durable);
            } else {
                self.unsynced.push((at, rename));
            }
        }
    }

    /// Writes what may be left of it into an empty folder; without chance, what was synced alone.
    ///
    /// # Errors
    /// That folder's.
    pub fn lose_power(&self, into: &Path, mut rng: Option<&mut Rng>) -> Outcome {
        let mut names = self.durable.clone();
        for (_, rename) in &self.unsynced {
            if rng.as_mut().is_some_and(|rng| rng.percent(50)) {
                rename.apply(&mut names);
            }
        }
        let fault = |error: std::io::Error| format!("{}: {error}", into.display());
        for (name, inode) in names {
            let Some(file) = self.files.get(inode) else { continue };
            let below = Path::new(&name).strip_prefix(&self.root).map_err(|e| e.to_string())?;
            let path: PathBuf = into.join(below);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(fault)?;
            }
            std::fs::write(&path, file.left(rng.as_deref_mut())).map_err(fault)?;
            // keys that others may read are refused
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(fault)?;
        }
        Ok(())
    }

    /// How many writes were not synced.
    pub fn unsynced(&self) -> usize {
        self.files.iter().map(|file| file.unsynced.len()).sum::<usize>() + self.unsynced.len()
    }
}

impl Rename {
    fn apply(&self, names: &mut BTreeMap<String, Inode>) {
        if let Some(from) = &self.from {
            names.remove(from);
        }
        if let Some((to, inode)) = &self.to {
            names.insert(to.clone(), *inode);
        }
    }
}

impl File {
    /// What was synced, and a random part of the rest.
    fn left(&self, rng: Option<&mut Rng>) -> Vec<u8> {
        let mut left = self.durable.clone();
        let Some(rng) = rng else { return left };
        // all, none, or by chance: each is what some disk does
        let share = match rng.below(4) {
            0 => 0,
            1 => 100,
            _ => 1 + rng.below(99),
        };
        for (_, change) in &self.unsynced {
            if !rng.percent(share) {
                continue;
            }
            match change {
                Change::Bytes { at, bytes } if rng.percent(30) => {
                    let keep =
                        usize::try_from(rng.below(long(bytes.len()) + 1)).unwrap_or_default();
                    let bytes = bytes.get(..keep).unwrap_or_default().to_vec();
                    apply(&mut left, &Change::Bytes { at: *at, bytes });
                }
                Change::Bytes { .. } | Change::Cut(_) => apply(&mut left, change),
            }
        }
        left
    }
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Cut(len) => content.resize(short(*len), 0),
        Change::Bytes { at, bytes } => {
            let at = short(*at);
            let end = at.saturating_add(bytes.len());
            if content.len() < end {
                content.resize(end, 0);
            }
            if let Some(place) = content.get_mut(at..end) {
                place.copy_from_slice(bytes);
            }
        }
    }
}

fn long(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

fn short(len: u64) -> usize {
    usize::try_from(len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::trace::calls;
    use super::Disk;
    use crate::rng::Rng;
    use std::collections::BTreeSet;

    /// The contents of these files on many images after such calls, in a folder that held `old`.
    fn images(trace: &str, files: [&str; 2]) -> BTreeSet<[Option<String>; 2]> {
        let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path().to_string_lossy().into_owned();
        std::fs::write(folder.path().join("old"), "abcd").unwrap();
        let mut disk = Disk::of(folder.path()).unwrap();
        for call in calls(&trace.replace("ROOT", &root)) {
            disk.see(&call);
        }
        let left = |rng: Option<&mut Rng>| {
            let image = tempfile::tempdir_in(to.path()).unwrap();
            disk.lose_power(image.path(), rng).unwrap();
            files.map(|file| std::fs::read_to_string(image.path().join(file)).ok())
        };
        let mut rng = Rng(1);
        (0..400).map(|_| left(Some(&mut rng))).chain([left(None)]).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn what_was_synced_is_there_and_the_rest_may_be() {
        let trace = r#"1 pwrite64(3<ROOT/old>, "X", 1, 0) = 1
1 fsync(3<ROOT/old>) = 0
1 pwrite64(3<ROOT/old>, "YZ", 2, 2) = 2"#;
        let found = images(trace, ["old", "none"]);
        let expected = ["Xbcd", "XbYd", "XbYZ"].map(|left| [some(left), None]);
        assert_eq!(found, expected.into_iter().collect());
    }

    #[test]
    fn a_sync_that_was_not_done_or_did_not_return_is_none() {
        for sync in ["fsync(3<ROOT/old>) = 0 (INJECTED)", "fdatasync(3<ROOT/old>) = ?"] {
            let found = images(
                &format!("1 pwrite64(3<ROOT/old>, \"X\", 1, 0) = 1\n1 {sync}"),
                ["old", "none"],
            );
            let expected = ["abcd", "Xbcd"].map(|left| [some(left), None]);
            assert_eq!(found, expected.into_iter().collect(), "{sync}");
        }
    }

    #[test]
    fn a_write_beside_a_sync_may_be_missing() {
        let trace = r#"1 fsync(3<ROOT/old> <unfinished ...>
2 pwrite64(3<ROOT/old>, "X", 1, 0) = 1
1 <... fsync resumed>) = 0"#;
        assert!(images(trace, ["old", "none"]).contains(&[some("abcd"), None]));
    }

    #[test]
    fn a_name_is_durable_with_its_folder() {
        let made = r#"1 openat(AT_FDCWD<ROOT>, "ROOT/new", O_WRONLY|O_CREAT, 0600) = 4<ROOT/new>
1 write(4<ROOT/new>, "n", 1) = 1
1 fsync(4<ROOT/new>) = 0
1 rename("ROOT/new", "ROOT/old") = 0"#;
        let found = images(made, ["old", "new"]);
        assert!(found.contains(&[some("abcd"), None]), "{found:?}");
        assert!(found.contains(&[some("abcd"), some("n")]), "{found:?}");
        assert!(found.contains(&[some("n"), None]), "{found:?}");
        let synced = format!("{made}\n1 fsync(5<ROOT>) = 0");
        let found = images(&synced, ["old", "new"]);
        assert_eq!(found, [[some("n"), None]].into_iter().collect());
        let removed = r#"1 unlink("ROOT/old") = 0"#;
        let found = images(removed, ["old", "none"]);
        assert_eq!(found, [[None, None], [some("abcd"), None]].into_iter().collect());
    }

    #[test]
    fn a_cut_may_be_missing() {
        let found = images("1 ftruncate(3<ROOT/old>, 1) = 0", ["old", "none"]);
        assert_eq!(found, ["a", "abcd"].map(|left| [some(left), None]).into_iter().collect());
    }
}
