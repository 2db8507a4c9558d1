//! Names the files of a core. Each name has the number of the first batch in the file, or of the batch
//! that comes next after it.

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileName {
    /// A piece of the log that begins with this batch.
    Segment(u64),
    /// The books before this batch.
    Snapshot(u64),
    /// A snapshot that was not finished.
    Unfinished(u64),
}

impl FileName {
    /// The kind of a file by its name; `None` for a file of another program.
    pub(crate) fn parse(file: &str) -> Option<Self> {
        let (number, ending) = file.strip_prefix("spot-")?.split_once('.')?;
        let kind: fn(u64) -> Self = match ending {
            "log" => Self::Segment,
            "snap" => Self::Snapshot,
            "snap.new" => Self::Unfinished,
            _ => return None,
        };
        let name = kind(number.parse().ok()?);
        // Only the one spelling: `spot-1.log` is not ours.
        (name.to_string() == file).then_some(name)
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Segment(first) => write!(f, "spot-{first:016}.log"),
            Self::Snapshot(next) => write!(f, "spot-{next:016}.snap"),
            Self::Unfinished(next) => write!(f, "spot-{next:016}.snap.new"),
        }
    }
}
