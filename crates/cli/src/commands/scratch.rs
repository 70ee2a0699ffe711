//! [`Scratch`]: unfinished files beside the one that is written, which gets its name when it is complete.

#[cfg(feature = "facts")]
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[cfg(feature = "facts")]
use fulgurite_code::IndexLock;

use crate::failure::Failure;

/// A directory for unfinished files, which is removed when it is dropped.
pub struct Scratch {
    directory: PathBuf,
    /// Until then, `facts delete` and other copies to the same name are refused.
    #[cfg(feature = "facts")]
    lock: IndexLock,
}

impl Scratch {
    /// A new one beside a file, with a name that no other file has. Those that killed processes have left for this file
    /// are removed.
    ///
    /// # Errors
    /// If it cannot be created, or another process writes a copy to this name.
    pub fn beside(path: &Path) -> Result<Self, Failure> {
        #[cfg(feature = "facts")]
        let lock = lock(path)?;
        // The processes that have created them have ended: they would hold the lock. What cannot be removed only takes
        // space. Without facts there is no lock, and everything stays.
        #[cfg(feature = "facts")]
        files_beside(path, is_scratch).iter().for_each(|left| drop(std::fs::remove_dir_all(left)));
        for number in 0_u64.. {
            let directory = with_suffix(path, &format!("{UNFINISHED}{}.{number}", std::process::id()));
            match create_private(&directory) {
                Ok(()) => {
                    return Ok(Self {
                        directory,
                        #[cfg(feature = "facts")]
                        lock,
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::file(path, "cannot be created", &error)),
            }
        }
        Err(Failure::Message(format!("{}: no name is free for unfinished files", path.display())))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
        // While it is locked: what another process locks from then on is another file.
        #[cfg(feature = "facts")]
        let _ = std::fs::remove_file(with_suffix(self.lock.path(), "-index-lock"));
    }
}

/// Locks a name to which a copy is written.
#[cfg(feature = "facts")]
fn lock(path: &Path) -> Result<IndexLock, Failure> {
    IndexLock::take(path).map_err(|error| match error {
        fulgurite_code::Error::File { source, .. } => Failure::file(path, "cannot be created", &source),
        error => error.into(),
    })
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Gives an unfinished file its name, unless another one has it.
///
/// # Errors
/// If it cannot.
pub fn place(file: &Path, to: &Path) -> Result<(), Failure> {
    // Unlike a rename, a link replaces nothing. Some file systems have no links.
    match std::fs::hard_link(file, to) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !to.exists() => std::fs::rename(file, to),
        linked => linked,
    }
    .map_err(|error| Failure::file(to, "cannot be written", &error))
}

/// Puts the names of the files beside `path` on the disk.
///
/// # Errors
/// If it cannot.
#[cfg(unix)]
pub fn sync_directory_of(path: &Path) -> Result<(), Failure> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = std::fs::File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| Failure::file(directory, "cannot be synced", &error))
}

/// Elsewhere a directory cannot be synced.
#[cfg(not(unix))]
pub fn sync_directory_of(_: &Path) -> Result<(), Failure> {
    Ok(())
}

/// The files beside a file whose names begin with its name, if `is_wanted` says so of the rest of the name.
#[cfg(feature = "facts")]
pub fn files_beside(path: &Path, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let directory = if directory == Path::new("") { Path::new(".") } else { directory };
    let is_beside =
        |other: &OsStr| other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes()).is_some_and(&is_wanted);
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| is_beside(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// Whether what follows the name of a file makes it that of a [`Scratch`] beside it.
#[cfg(feature = "facts")]
pub fn is_scratch(rest: &[u8]) -> bool {
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let numbers = rest.strip_prefix(UNFINISHED.as_bytes()).map(|numbers| numbers.split(|byte| *byte == b'.'));
    numbers.is_some_and(|numbers| numbers.clone().count() == 2 && numbers.clone().all(is_number))
}

/// Creates a directory that only its owner can read: `mksquashfs` creates files that all can read.
fn create_private(path: &Path) -> std::io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "it has no mode"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// What follows the name of the file in that of the directory, before the numbers of the process and of the directory.
const UNFINISHED: &str = "-unfinished.";
