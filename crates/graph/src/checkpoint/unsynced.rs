//! [`UnsyncedDisk`]: a disk for databases that are worth nothing until they are whole.

use std::io;
use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile};

/// Another disk without its syncs. After a power cut, the files of a database on it may have any content: the program
/// syncs them once at the end, or removes them.
#[derive(Debug)]
pub struct UnsyncedDisk(Arc<dyn Disk>);

impl UnsyncedDisk {
    /// The disk that gets all calls but syncs.
    pub fn of(disk: &Arc<dyn Disk>) -> Self {
        Self(Arc::clone(disk))
    }
}

impl ForwardDisk for UnsyncedDisk {
    fn inner(&self) -> &dyn Disk {
        &*self.0
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(UnsyncedFile(self.0.open(path, access)?)))
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct UnsyncedFile(Arc<dyn File>);

impl ForwardFile for UnsyncedFile {
    fn inner(&self) -> &dyn File {
        &*self.0
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
}
