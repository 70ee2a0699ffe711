//! Files beside the database: one that is sent or was fetched, and a database that is being restored.
//!
//! They are reached through the disk of the database, so that proofs can cut the power under them.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use fulgurite::io::{Access, Disk, File};

/// Which file a path leads to. A new file in its place is another one.
#[derive(Debug, PartialEq, Eq)]
pub struct FileIdentity {
    path: PathBuf,
    created: Option<SystemTime>,
    device_and_inode: (u64, u64),
}

impl FileIdentity {
    /// That of a file of the operating system; `None` if a path of a disk of the caller's does not lead to one.
    ///
    /// # Errors
    /// The system's.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let metadata = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        Ok(Some(Self {
            path: path.to_path_buf(),
            created: metadata.created().ok(),
            device_and_inode: device_and_inode(&metadata),
        }))
    }
}

#[cfg(unix)]
fn device_and_inode(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn device_and_inode(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// A local file that is removed at the end.
#[derive(Debug)]
pub struct LocalFile {
    disk: Arc<dyn Disk>,
    /// Where it is.
    pub path: PathBuf,
}

impl LocalFile {
    /// The one beside the database at `database`, on the disk of that.
    pub fn beside(disk: &Arc<dyn Disk>, database: &Path) -> Self {
        Self { disk: Arc::clone(disk), path: with_suffix(database, "-checkpoint") }
    }

    /// Removes the file, if it is there.
    pub fn remove(&self) {
        let _ = self.disk.remove(&self.path);
    }

    /// Creates the file, in place of one that is there.
    ///
    /// # Errors
    /// The disk's.
    pub fn create(&self) -> io::Result<DiskWriter> {
        match self.disk.remove(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(DiskWriter { file: self.disk.open(&self.path, Access::CreateNew)?, at: 0 })
    }

    /// Reads the file from its beginning.
    ///
    /// # Errors
    /// The disk's.
    pub fn reader(&self) -> io::Result<DiskReader> {
        DiskReader::open(&*self.disk, &self.path)
    }

    /// The content of the file.
    ///
    /// # Errors
    /// The disk's.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.reader()?.read_to_end(&mut content)?;
        Ok(content)
    }
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Writes a file of a disk from its beginning. Nothing is buffered.
#[derive(Debug)]
pub struct DiskWriter {
    file: Arc<dyn File>,
    at: u64,
}

impl Write for DiskWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file of a disk.
#[derive(Debug)]
pub struct DiskReader {
    file: Arc<dyn File>,
    at: u64,
    end: u64,
}

impl DiskReader {
    /// Reads from the beginning of the file up to where it ends now.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(disk: &dyn Disk, path: &Path) -> io::Result<Self> {
        let file = disk.open(path, Access::Read)?;
        let end = file.len()?;
        Ok(Self { file, at: 0, end })
    }
}

impl Read for DiskReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let count = left.min(buffer.len());
        self.file.read_at(self.at, &mut buffer[..count])?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A database that is being restored. What is there is removed at the beginning and at the end.
#[derive(Debug)]
pub struct PartialDatabase {
    /// Where it is until it is whole.
    pub path: PathBuf,
    /// The disk on which it is.
    pub disk: Arc<dyn Disk>,
}

impl PartialDatabase {
    /// The one that will have the name `path`.
    pub fn new(disk: &Arc<dyn Disk>, path: &Path) -> Self {
        let partial = Self { path: with_suffix(path, "-restoring"), disk: Arc::clone(disk) };
        partial.remove();
        partial
    }

    fn remove(&self) {
        remove_database(&*self.disk, &self.path);
        // What the creation of a database leaves if it is interrupted.
        let _ = self.disk.remove(&with_suffix(&self.path, "-new"));
    }
}

impl Drop for PartialDatabase {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The directory of a path. The empty path is the current one.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Removes a database, if there is one.
pub fn remove_database(disk: &dyn Disk, path: &Path) {
    let _ = disk.remove(path);
    let Some(name) = path.file_name() else { return };
    for other in disk.list(directory_of(path)).unwrap_or_default() {
        let suffix = other.file_name().and_then(|file| file.as_encoded_bytes().strip_prefix(name.as_encoded_bytes()));
        if suffix.is_some_and(is_of_database) {
            let _ = disk.remove(&other);
        }
    }
}

/// Whether a file is of a database: its lock or a segment of its log. `suffix` follows the name of the database.
fn is_of_database(suffix: &[u8]) -> bool {
    let is_segment = |number: &[u8]| number == b"spare" || !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    suffix == b"-lock" || suffix.strip_prefix(b"-log.").is_some_and(is_segment)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
