//! [`CheckpointStorage`]: where checkpoints are kept.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The storage of checkpoints: a directory, a distributed file system, an object store.
///
/// Names consist of letters, digits, `-`, `_`, `.` and `/`. Once [`CheckpointStorage::store`] has returned, the file
/// must be complete and durable, even if the power fails.
///
/// Local files are on the [disk of the database](fulgurite::Options::disk). A storage that opens them by their paths,
/// as [`DirectoryStorage`] does, needs a disk whose files are files of the operating system.
pub trait CheckpointStorage {
    /// Stores a local file under a name. Replaces a file of that name. The local file may be moved.
    ///
    /// # Errors
    /// Errors of the storage.
    fn store(&self, name: &str, file: &Path) -> io::Result<()>;

    /// Copies a stored file to a local path.
    ///
    /// # Errors
    /// Errors of the storage; [`io::ErrorKind::NotFound`] if there is no such file.
    fn fetch(&self, name: &str, path: &Path) -> io::Result<()>;

    /// Removes a stored file, which must stay removed even if the power fails. One that does not exist is no error.
    ///
    /// # Errors
    /// Errors of the storage.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all stored files.
    ///
    /// # Errors
    /// Errors of the storage.
    fn names(&self) -> io::Result<Vec<String>>;
}

impl<S: CheckpointStorage + ?Sized> CheckpointStorage for &S {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        (**self).store(name, file)
    }

    fn fetch(&self, name: &str, path: &Path) -> io::Result<()> {
        (**self).fetch(name, path)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        (**self).remove(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        (**self).names()
    }
}

/// A directory in which checkpoints are kept. It is created when the first one is stored.
#[derive(Clone, Debug)]
pub struct DirectoryStorage {
    directory: PathBuf,
}

impl DirectoryStorage {
    /// The storage in this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl CheckpointStorage for DirectoryStorage {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        let path = self.path(name);
        create_directories(directory_of(&path))?;
        // Under another name until it is whole.
        let fresh = path.with_extension("new");
        if fs::rename(file, &fresh).is_err() {
            fs::copy(file, &fresh)?;
        }
        File::open(&fresh)?.sync_all()?;
        fs::rename(&fresh, &path)?;
        sync_directory_of(&path)
    }

    fn fetch(&self, name: &str, path: &Path) -> io::Result<()> {
        fs::copy(self.path(name), path).map(drop)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        }
        sync_directory_of(&path)?;
        let directory = directory_of(&path);
        if directory != directory_of(&self.path("file")) {
            // It stays if it has other files.
            let _ = fs::remove_dir(directory);
        }
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let path = self.path("file");
        let directory = directory_of(&path);
        if directory.exists() {
            list(directory, "", &mut names)?;
        }
        Ok(names)
    }
}

fn list(directory: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Names that are not Unicode are none of ours.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

/// Creates a directory, and those that it is in, so that they stay if the power fails.
fn create_directories(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    create_directories(directory_of(directory))?;
    match fs::create_dir(directory) {
        // Another process was faster. Its name may not be durable yet.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
        other => other?,
    }
    sync_directory_of(directory)
}

/// The directory that a path is in: the current one for a name alone.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the name of a file or directory durable.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_in_the_current_directory_is_one() {
        for name in ["", "."] {
            let storage = DirectoryStorage::new(name);
            assert_eq!(directory_of(&storage.path("file")), Path::new("."), "{name}");
        }
    }

    #[test]
    fn directories_are_created_as_deep_as_they_are_named() {
        let root = tempfile::tempdir().expect("a directory");
        let storage = DirectoryStorage::new(root.path().join("a/b"));
        let file = root.path().join("file");
        fs::write(&file, "content").expect("a file");
        storage.store("c/d", &file).expect("stored");
        assert_eq!(storage.names().expect("a listing"), ["c/d"]);
        storage.remove("c/d").expect("removed");
        assert!(root.path().join("a/b").exists() && !root.path().join("a/b/c").exists());
    }
}
