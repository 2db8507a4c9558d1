//! Defines the errors that keep the Spot core from opening its folder.

use std::{fmt, io};

/// Why a folder was not opened. Nothing in it was changed, unless by the disk's own failure.
#[derive(Debug)]
pub enum SpotOpenError {
    /// Another owner holds the folder.
    Locked,
    /// The disk failed, or has no room for the first record.
    Io(io::Error),
    /// A file is damaged before its last batch, or files are missing: durable money is gone.
    Damaged {
        file: String,
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The log ends in the middle of a batch whose operations were answered.
    Acknowledged {
        file: String,
        /// Where the whole batches end.
        offset: u64,
        /// The highest operation before that.
        durable: u64,
        /// The highest operation that was answered.
        acknowledged: u64,
    },
    /// Written by a newer version of this program.
    Newer {
        file: String,
        /// The version in it.
        version: u8,
    },
}

impl fmt::Display for SpotOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked => f.write_str("another process holds the folder"),
            Self::Io(error) => write!(f, "disk: {error}"),
            Self::Damaged { file, offset, what } => {
                write!(f, "{file} is damaged at offset {offset}: {what}")
            }
            Self::Acknowledged { file, offset, durable, acknowledged } => write!(
                f,
                "{file} is torn at offset {offset}: whole up to operation {durable}, but operation \
                 {acknowledged} was acknowledged"
            ),
            Self::Newer { file, version } => {
                write!(f, "{file} was written in format {version}, newer than this program's")
            }
        }
    }
}

impl std::error::Error for SpotOpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Locked
            | Self::Damaged { .. }
            | Self::Acknowledged { .. }
            | Self::Newer { .. } => None,
        }
    }
}

impl From<io::Error> for SpotOpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
