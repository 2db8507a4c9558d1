//! Shifts the wall clock of processes while they run: by a small library of the campaign's own, which is preloaded, and
//! a file that says by how much.

use crate::Outcome;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("../../clock/shift.c");

/// The wall clock of the processes that are started with its settings.
#[derive(Debug)]
pub(crate) struct WallClock {
    library: PathBuf,
    path: PathBuf,
    shift: File,
}

impl WallClock {
    /// Compiles the library into a folder; the clock is right.
    ///
    /// # Errors
    /// There is no C compiler, or no room.
    pub(crate) fn compile(folder: &Path) -> Outcome<Self> {
        let (source, library) = (folder.join("shift.c"), folder.join("shift.so"));
        let path = folder.join("shift");
        let fault = |fault: std::io::Error| format!("{}: {fault}", folder.display());
        std::fs::write(&source, SOURCE).map_err(fault)?;
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut words = compiler.split_whitespace();
        let mut cc = Command::new(words.next().unwrap_or("cc"));
        cc.args(words).args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
        let done =
            cc.stdin(Stdio::null()).status().map_err(|fault| format!("{compiler}: {fault}"))?;
        if !done.success() {
            return Err(format!("{compiler} does not compile {}: {done}", source.display()));
        }
        let shift = File::options().create(true).truncate(true).write(true).open(&path);
        let clock = Self { library, path, shift: shift.map_err(fault)? };
        clock.shift(0)?;
        Ok(clock)
    }

    /// What a process needs whose clock this is.
    pub(crate) fn settings(&self) -> [(&'static str, String); 2] {
        [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("CRASH_CLOCK", self.path.display().to_string()),
        ]
    }

    /// From now on the clock is this number of seconds ahead of the right time; below 0 it is behind.
    ///
    /// # Errors
    /// The file's.
    pub(crate) fn shift(&self, seconds: i64) -> Outcome {
        let written = self.shift.write_all_at(&seconds.to_ne_bytes(), 0);
        written.map_err(|fault| format!("{}: {fault}", self.path.display()))
    }
}
