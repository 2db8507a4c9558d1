//! Helpers of benchmarks: measures the sync time of the disk, and finds the body of a reply.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// The median of 300 bare appends of this number of bytes with `fdatasync` in a folder.
///
/// # Errors
/// The folder cannot be written to.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures with the real clock")]
pub fn fdatasync(folder: &Path, bytes: usize) -> io::Result<Duration> {
    let path = folder.join("probe");
    let (mut file, block) = (fs::File::create(&path)?, vec![7; bytes]);
    let mut took = Vec::new();
    for _ in 0..300 {
        file.write_all(&block)?;
        let begun = Instant::now();
        file.sync_data()?;
        took.push(begun.elapsed());
    }
    fs::remove_file(path)?;
    took.sort_unstable();
    Ok(took.get(150).copied().unwrap_or_default())
}

/// Where the body of an HTTP reply begins and ends, once its head is there.
#[must_use]
pub fn reply_body(text: &[u8]) -> Option<(usize, usize)> {
    let end = text.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(text.get(..end)?).to_ascii_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    Some((end, end + length.unwrap_or(0_usize)))
}
