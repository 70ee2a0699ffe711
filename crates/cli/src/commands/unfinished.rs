//! Writing a file that gets its name when it is complete and on the disk.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::commands::scratch::{place, sync_directory_of};
use crate::failure::Failure;

/// Writes a new file. Until it is complete, its name ends in `-unfinished`. If `work` fails, the file is removed. If
/// the process is interrupted, the file stays, and the next call for `path` removes it.
///
/// # Errors
/// If there is a file at `path`, another process writes it, or it cannot be written. Errors of `work`.
pub fn to_file(path: &Path, work: impl FnOnce(&mut BufWriter<File>) -> Result<u64, Failure>) -> Result<u64, Failure> {
    let unfinished = unfinished_path(path);
    refuse_existing(path)?;
    remove_left_over(path, &unfinished)?;
    let file = File::create_new(&unfinished).map_err(|error| Failure::file(path, "cannot be created", &error))?;
    // Some file systems have no locks.
    let _ = file.lock();
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    let outcome = work(&mut out).and_then(|written| {
        out.flush().and_then(|()| out.get_ref().sync_all()).map_err(Failure::Output)?;
        // Before this process locked its file, another one may have removed it as left over, and created its own.
        if !is_at(out.get_ref(), &unfinished) {
            return Err(in_use(path));
        }
        place(&unfinished, path)?;
        Ok(written)
    });
    // If the file was placed by a link, it has two names. `out` holds the lock until the end, so no other process takes
    // it for left over before.
    if is_at(out.get_ref(), &unfinished) {
        let _ = std::fs::remove_file(&unfinished);
    }
    let written = outcome.map_err(|failure| match failure {
        Failure::Output(error) => Failure::file(path, "writing failed", &error),
        other => other,
    })?;
    sync_directory_of(path)?;
    Ok(written)
}

/// Refuses the name of a compressed file, because no verb writes one.
///
/// # Errors
/// If the name has the extension of a compressed file.
pub fn refuse_packed_name(path: &Path) -> Result<(), Failure> {
    match path.extension().and_then(OsStr::to_str).filter(|extension| PACKED.contains(extension)) {
        None => Ok(()),
        Some(packed) => {
            let path = path.display();
            let remedy = format!("choose a name without .{packed}, or give --format to use this one");
            Err(Failure::Message(format!("{path}: the file would not be compressed; {remedy}")))
        }
    }
}

fn unfinished_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// Removes the file that an interrupted process has left. A running process holds the lock of its file.
fn remove_left_over(path: &Path, unfinished: &Path) -> Result<(), Failure> {
    // Opening a pipe would wait for its reader.
    if std::fs::symlink_metadata(unfinished).is_ok_and(|found| !found.is_file()) {
        let message = format!("{}: not a regular file; move it away, or choose another name", unfinished.display());
        return Err(Failure::Message(message));
    }
    let failed = |error| Failure::file(unfinished, "cannot be removed", &error);
    // Some network file systems lock a file only for processes that can write it.
    let file = match File::options().write(true).open(unfinished) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(failed)?,
    };
    match file.try_lock() {
        Ok(()) if is_at(&file, unfinished) => std::fs::remove_file(unfinished).map_err(failed),
        // If the name has another file or none, another process has removed the file, and may have created its own.
        Ok(()) | Err(TryLockError::WouldBlock) => Err(in_use(path)),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn in_use(path: &Path) -> Failure {
    Failure::Message(format!("{}: another process writes it; wait for it, or choose another name", path.display()))
}

/// Whether an open file is the one that has a name now.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(identity).ok() == std::fs::metadata(path).map(identity).ok()
}

/// On other systems, an open file keeps its name.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(fulgurite::Error::FileExists { path: path.to_path_buf() }.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::file(path, "cannot be created", &error)),
    }
}

/// The end of the name until the file is complete.
const UNFINISHED: &str = "-unfinished";
/// The extensions of compressed files.
const PACKED: [&str; 4] = ["gz", "bz2", "xz", "zst"];
/// Bytes that gather before they are written.
const BUFFER_BYTES: usize = 256 << 10;

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_unfinished_file_of_another_process_is_neither_placed_nor_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, unfinished) = (directory.path().join("a"), directory.path().join("a-unfinished"));
        let written = to_file(&path, |_| {
            // Another process that opened the file before it was locked would do this.
            std::fs::remove_file(&unfinished).unwrap();
            std::fs::write(&unfinished, "a part").unwrap();
            Ok(0)
        });
        assert!(written.is_err() && !path.exists() && unfinished.exists());
    }
}
