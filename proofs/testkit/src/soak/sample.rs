//! What a process holds, and whether that stays.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// What is held at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Since the beginning of the steady load.
    pub at: Duration,
    /// Private memory of the process: `RssAnon` of /proc/self/status.
    pub memory_bytes: u64,
    /// All files in the database's directory.
    pub disk_bytes: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

/// Whether something grew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// The most in the second third of the time.
    pub middle: u64,
    /// The most in the last third.
    pub end: u64,
}

impl Sample {
    /// Now, for a database in this directory.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn now(at: Duration, directory: &Path) -> std::io::Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        let kib =
            status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
        let memory_bytes = kib.map_or(0, |kib: u64| kib << 10);
        let mut disk_bytes = 0;
        for entry in fs::read_dir(directory)? {
            // A file that goes away meanwhile counts nothing.
            disk_bytes += entry?.metadata().map_or(0, |metadata| metadata.len());
        }
        let descriptors = fs::read_dir("/proc/self/fd")?.count() as u64;
        Ok(Self { at, memory_bytes, disk_bytes, descriptors })
    }
}

impl Plateau {
    /// Of one of the numbers of the samples. None if there are too few.
    pub fn of(samples: &[Sample], number: impl Fn(&Sample) -> u64) -> Option<Self> {
        let third = samples.len() / 3;
        let most = |samples: &[Sample]| samples.iter().map(&number).max();
        Some(Self { middle: most(samples.get(third..2 * third)?)?, end: most(&samples[2 * third..])? })
    }

    /// Whether the end is no higher than the middle, but for a part in `share` and `slack`: both third's peaks are
    /// drawn from a saw, whose teeth are not of one height.
    pub fn holds(&self, share: u64, slack: u64) -> bool {
        self.end <= self.middle + self.middle / share + slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(u64) -> u64) -> Vec<Sample> {
        (0..90).map(|second| Sample { memory_bytes: memory(second), ..Sample::default() }).collect()
    }

    #[test]
    fn a_saw_is_a_plateau_and_a_slope_is_none() {
        let plateau = |memory: fn(u64) -> u64| Plateau::of(&samples(memory), |sample| sample.memory_bytes);
        assert!(plateau(|second| 1000 + second % 7 * 100).is_some_and(|plateau| plateau.holds(10, 0)));
        assert!(plateau(|second| 1000 + second.min(30) * 50).is_some_and(|plateau| plateau.holds(10, 0)), "warming up");
        assert!(plateau(|second| 1000 + second * 20).is_some_and(|plateau| !plateau.holds(10, 0)));
        assert_eq!(Plateau::of(&samples(|_| 1)[..2], |sample| sample.memory_bytes), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_sample_tells_of_this_process() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("file"), [0; 1234]).expect("the directory can be written");
        let sample = Sample::now(Duration::ZERO, directory.path()).expect("Linux has these files");
        assert_eq!(sample.disk_bytes, 1234);
        assert!(sample.descriptors >= 3 && sample.memory_bytes > 0, "{sample:?}");
    }
}
