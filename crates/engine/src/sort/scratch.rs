//! Files for runs: beside the database, with a name only while they are made.
//!
//! A file loses its name as soon as it is open, so its space is freed when it is dropped, however the process ends.
//! A crash in between leaves `name.ful-sort.N`; [`remove_leftovers`] finds it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::io::{Access, Disk, File};
use crate::sync::Arc;

/// Makes the files of one sort.
#[derive(Debug)]
pub(super) struct Scratch {
    disk: Arc<dyn Disk>,
    database: PathBuf,
    next: u64,
}

/// An open file that has no name any more.
#[derive(Debug)]
pub(super) struct ScratchFile {
    pub file: Arc<dyn File>,
    /// The name that it had, for errors.
    pub path: PathBuf,
}

impl Scratch {
    pub fn new(disk: Arc<dyn Disk>, database: &Path) -> Self {
        Self { disk, database: database.to_owned(), next: 0 }
    }

    pub fn create(&mut self) -> Result<ScratchFile> {
        loop {
            let mut path = name_start(&self.database);
            path.push(self.next.to_string());
            let path = PathBuf::from(path);
            self.next += 1;
            match self.disk.open(&path, Access::CreateNew) {
                Ok(file) => {
                    self.disk.remove(&path).map_err(|error| Error::io("remove", &path, error))?;
                    return Ok(ScratchFile { file, path });
                }
                // Another sort of this process is just making its own, or a crash left this one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &path, error)),
            }
        }
    }
}

/// Removes what sorts that ended in a crash left beside a database, and says how many files it was. Only the database's
/// writer may call this.
///
/// # Errors
/// If the directory cannot be listed, or a file not be removed.
pub fn remove_leftovers(disk: &dyn Disk, database: &Path) -> Result<usize> {
    let directory = database.parent().unwrap_or(Path::new(""));
    let start = name_start(database);
    let Some(start) = Path::new(&start).file_name() else { return Ok(0) };
    let paths = disk.list(directory).map_err(|error| Error::io("list", directory, error))?;
    let mut removed = 0;
    for path in paths {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let Some(number) = name.strip_prefix(start.as_encoded_bytes()) else { continue };
        if number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
            continue;
        }
        match disk.remove(&path) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("remove", &path, error)),
        }
    }
    Ok(removed)
}

/// All of a file's name but its number.
fn name_start(database: &Path) -> OsString {
    let mut name = database.as_os_str().to_owned();
    name.push("-sort.");
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    #[test]
    fn a_crash_leaves_only_files_that_the_next_open_removes() {
        let disk = MemoryDisk::new();
        let database = Path::new("dir/x.ful");
        let others = ["dir/x.ful", "dir/x.ful-sort.", "dir/x.ful-sort.1a", "dir/y.ful-sort.1", "dir/x.ful-log.1"];
        for path in others.iter().chain(&["dir/x.ful-sort.0", "dir/x.ful-sort.17"]) {
            disk.open(Path::new(path), Access::CreateNew).unwrap();
        }
        let scratch = Scratch::new(Arc::new(disk.clone()), database).create().unwrap();
        assert_eq!(scratch.path, Path::new("dir/x.ful-sort.1"));
        assert_eq!(remove_leftovers(&disk, database).unwrap(), 2);
        let mut left: Vec<PathBuf> = others.iter().map(PathBuf::from).collect();
        left.sort();
        assert_eq!(disk.list(Path::new("dir")).unwrap(), left);
    }

    #[test]
    fn a_file_works_without_its_name() {
        let disk = MemoryDisk::new();
        let scratch = Scratch::new(Arc::new(disk.clone()), Path::new("x.ful")).create().unwrap();
        assert!(disk.list(Path::new("")).unwrap().is_empty());
        scratch.file.write_at(0, b"here").unwrap();
        let mut back = [0; 4];
        scratch.file.read_at(0, &mut back).unwrap();
        assert_eq!(&back, b"here");
    }
}
