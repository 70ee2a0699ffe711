//! What is asked of durable transactions: as many as the machine's flush allows by groups.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The name of a figure: durable transactions a second, by those that are asked for.
pub const PART: &str = "of the transactions asked for";

/// How often a second the disk takes a small write by itself.
///
/// # Errors
/// What the disk answered.
pub fn flushes_per_second(directory: &Path, span: Duration) -> Result<f64> {
    let path = directory.join("flushes");
    let io = |error| Error::io("sync", &path, error);
    let file = File::create(&path).map_err(io)?;
    file.write_all_at(&[0; WRITE.len() * WRITES as usize], 0).map_err(io)?;
    file.sync_all().map_err(io)?;
    let (begun, mut flushes) = (Instant::now(), 0);
    while begun.elapsed() < span {
        file.write_all_at(&WRITE, flushes % WRITES * WRITE.len() as u64).map_err(io)?;
        file.sync_data().map_err(io)?;
        flushes += 1;
    }
    let rate = flushes as f64 / begun.elapsed().as_secs_f64();
    std::fs::remove_file(&path).map_err(io)?;
    Ok(rate)
}

/// Transactions a second that are asked for: 20,000, or 0.8 of those that flushes allow, if each flush carries one of
/// every committer.
pub fn asked_for(flushes_per_second: f64, committers: usize) -> f64 {
    TRANSACTIONS.min(0.8 * flushes_per_second * committers as f64)
}

const TRANSACTIONS: f64 = 20_000.0;
const WRITE: [u8; 512] = [1; 512];
const WRITES: u64 = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_is_asked_for_less() {
        assert_eq!(asked_for(10_000.0, 32), 20_000.0);
        assert_eq!(asked_for(100.0, 32), 2_560.0);
        let directory = tempfile::tempdir().unwrap();
        assert!(flushes_per_second(directory.path(), Duration::from_millis(1)).unwrap() > 0.0);
    }
}
