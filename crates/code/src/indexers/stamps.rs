//! [`Stamps`]: what the files of a directory were before indexers ran.
//!
//! An indexer does not say when it reads a file. If a file is the same before all indexers and after them, its places
//! are those of its text.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_128;

/// The files of a directory at one time.
#[derive(Debug)]
pub struct Stamps {
    directory: PathBuf,
    taken: SystemTime,
    /// By the path from the directory on.
    files: HashMap<PathBuf, Stamp>,
}

/// What differs between a file and its changed form.
#[derive(Debug)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Of a file that was modified just before: the next change can have the same time. Also of a file that a build
    /// may write again with the same text.
    digest: Option<u128>,
}

impl Stamps {
    /// Those of the files below `directory`, without links to directories and without caches.
    pub fn of(directory: &Path) -> Self {
        let mut stamps = Self { directory: directory.to_owned(), taken: SystemTime::now(), files: HashMap::new() };
        let mut left = vec![PathBuf::new()];
        while let Some(below) = left.pop() {
            let here = directory.join(&below);
            // An indexer cannot read a directory that this cannot read either.
            let Ok(entries) = fs::read_dir(&here) else { continue };
            if here.join(CACHE_MARK).is_file() {
                continue;
            }
            for entry in entries.flatten() {
                let (name, path) = (entry.file_name(), below.join(entry.file_name()));
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if !CACHES.iter().any(|cache| name == *cache) {
                        left.push(path);
                    }
                } else if let Some(stamp) = stamps.stamp(&path) {
                    stamps.files.insert(path, stamp);
                }
            }
        }
        stamps
    }

    /// Whether the file at a path from the directory on is the same now.
    pub fn is_unchanged(&self, path: &str) -> bool {
        let path = Path::new(path);
        match (self.files.get(path), self.stamp(path)) {
            (Some(before), now) => now.is_some_and(|now| before.is_same(&now)),
            // It is in a cache or behind a link to a directory, or was written since.
            (None, Some(now)) => now.modified.is_some_and(|time| self.is_before(time)),
            // It was never there: the indexer has its text from elsewhere.
            (None, None) => true,
        }
    }

    fn stamp(&self, path: &Path) -> Option<Stamp> {
        let is_built = is_built(path);
        let path = self.directory.join(path);
        let metadata = fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let (bytes, modified) = (metadata.len(), metadata.modified().ok());
        let is_recent = !modified.is_some_and(|time| self.is_old(time));
        let is_digested = (is_recent && bytes <= DIGESTED_BYTES_MAX) || (is_built && bytes <= BUILT_BYTES_MAX);
        let text = if is_digested { fs::read(&path).ok() } else { None };
        Some(Stamp { bytes, modified, digest: text.map(|text| xxh3_128(&text)) })
    }

    /// Whether a file with this time was modified so long before that each later change has another time.
    fn is_old(&self, modified: SystemTime) -> bool {
        self.taken.duration_since(modified).is_ok_and(|age| age > CLOCK_STEP)
    }

    /// Whether a file with this time was last modified before. A part of a second says that the file system has short
    /// steps.
    fn is_before(&self, modified: SystemTime) -> bool {
        let has_parts = modified.duration_since(UNIX_EPOCH).is_ok_and(|since| since.subsec_nanos() != 0);
        let step = if has_parts { SHORT_CLOCK_STEP } else { CLOCK_STEP };
        self.taken.duration_since(modified).is_ok_and(|age| age > step)
    }
}

impl Stamp {
    /// Whether the file has the same text. If both texts are known, a new time is no change.
    fn is_same(&self, now: &Self) -> bool {
        self.bytes == now.bytes
            && match (self.digest, now.digest) {
                (None, None) => self.modified == now.modified,
                (before, after) => before == after,
            }
    }
}

/// Whether a file, by its path from the directory on, is below a directory into which builds write.
fn is_built(path: &Path) -> bool {
    path.parent().is_some_and(|below| below.iter().any(|name| BUILT.iter().any(|built| name == *built)))
}

/// Directories with many files that are no sources of the project.
pub const CACHES: [&str; 2] = [".git", "node_modules"];
/// Directories into which builds write. A build that an indexer runs writes sources there again, mostly the same ones.
pub const BUILT: [&str; 6] = ["build", "target", "out", "generated", "bin", "obj"];
/// Generated sources are smaller. What else builds write is not read.
const BUILT_BYTES_MAX: u64 = 4 << 20;
/// A file in other directories of this kind, such as those in which cargo builds (<https://bford.info/cachedir>).
pub const CACHE_MARK: &str = "CACHEDIR.TAG";
/// The times of files have steps of at most this length: those of FAT have it.
const CLOCK_STEP: Duration = Duration::from_secs(2);
/// Where times have parts of a second, systems set them from a clock with steps of up to 16 milliseconds.
const SHORT_CLOCK_STEP: Duration = Duration::from_millis(50);
/// Sources are smaller. Of larger files, the size and the time are compared.
const DIGESTED_BYTES_MAX: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn write(path: &Path, text: &str, modified: SystemTime) {
        fs::write(path, text).expect("a file");
        let file = File::options().write(true).open(path).expect("the file");
        file.set_modified(modified).expect("the time of a file can be set");
    }

    #[test]
    fn a_change_of_the_same_size_within_a_step_of_the_clock_is_found() {
        let directory = tempfile::tempdir().expect("a directory");
        // A time in the future is never old, however long the test pauses.
        let now = SystemTime::now() + Duration::from_secs(3600);
        let path = directory.path().join("a.rs");
        write(&path, "fn a() {}", now);
        let stamps = Stamps::of(directory.path());
        assert!(stamps.is_unchanged("a.rs"));
        write(&path, "fn b() {}", now);
        assert!(!stamps.is_unchanged("a.rs"));
        write(&path, "fn a() {}", now);
        assert!(stamps.is_unchanged("a.rs"));
    }

    #[test]
    fn files_that_get_another_size_or_time_that_appear_or_are_removed_are_changed() {
        let directory = tempfile::tempdir().expect("a directory");
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("src")).expect("a directory");
        for name in ["src/same.rs", "src/longer.rs", "src/later.rs", "src/gone.rs"] {
            write(&path(name), "fn a() {}", long_ago);
        }
        let stamps = Stamps::of(directory.path());
        write(&path("src/longer.rs"), "fn ab() {}", long_ago);
        write(&path("src/later.rs"), "fn a() {}", long_ago + Duration::from_secs(3));
        fs::remove_file(path("src/gone.rs")).expect("it is there");
        fs::write(path("src/new.rs"), "fn a() {}").expect("a file");
        let names = ["same", "longer", "later", "gone", "new", "never"];
        let unchanged = names.map(|name| stamps.is_unchanged(&format!("src/{name}.rs")));
        assert_eq!(unchanged, [true, false, false, false, false, true]);
    }

    /// A build that an indexer runs writes generated sources each time. They left the index for good.
    #[test]
    fn a_source_that_a_build_writes_again_with_the_same_text_is_unchanged() {
        let directory = tempfile::tempdir().expect("a directory");
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        let names = ["target/generated-sources/a/A.java", "app/build/generated/A.kt", "src/A.java", "build.rs"];
        for name in names {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
            write(&path, "class A {}", long_ago);
        }
        let stamps = Stamps::of(directory.path());
        for later in [Duration::from_secs(60), Duration::from_secs(7200)] {
            names.iter().for_each(|name| write(&directory.path().join(name), "class A {}", long_ago + later));
            assert_eq!(names.map(|name| stamps.is_unchanged(name)), [true, true, false, false], "{later:?}");
        }
        names.iter().for_each(|name| write(&directory.path().join(name), "class B {}", long_ago));
        assert_eq!(names.map(|name| stamps.is_unchanged(name))[..2], [false, false]);
    }

    #[test]
    fn a_file_in_a_cache_is_changed_if_its_time_is_recent() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["node_modules", "target/out"] {
            fs::create_dir_all(directory.path().join(name)).expect("a directory");
        }
        fs::write(directory.path().join("target").join(CACHE_MARK), "").expect("a file");
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        for name in ["node_modules/a.js", "target/out/a.rs"] {
            let path = directory.path().join(name);
            write(&path, "text", long_ago);
            let stamps = Stamps::of(directory.path());
            assert!(stamps.files.keys().all(|path| !path.ends_with("a.js") && !path.ends_with("a.rs")), "{stamps:?}");
            assert!(stamps.is_unchanged(name), "{name}");
            fs::write(&path, "text").expect("a file");
            assert!(!stamps.is_unchanged(name), "{name}");
        }
    }

    /// After `npm install`, all files that it had written were named as changed.
    #[test]
    fn a_file_in_a_cache_that_was_written_just_before_is_unchanged() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("node_modules")).expect("a directory");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs();
        let a_second_ago = UNIX_EPOCH + Duration::from_secs(now - 1) + Duration::from_micros(1);
        write(&directory.path().join("node_modules/a.js"), "text", a_second_ago);
        assert!(Stamps::of(directory.path()).is_unchanged("node_modules/a.js"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_behind_a_link_to_a_directory_is_changed_if_its_time_is_recent() {
        let (directory, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let file = other.path().join("a.rs");
        write(&file, "fn a() {}", SystemTime::now() - Duration::from_secs(3600));
        std::os::unix::fs::symlink(other.path(), directory.path().join("link")).expect("a link");
        let stamps = Stamps::of(directory.path());
        assert!(stamps.is_unchanged("link/a.rs"));
        fs::write(&file, "fn b() {}").expect("a file");
        assert!(!stamps.is_unchanged("link/a.rs"));
    }
}
