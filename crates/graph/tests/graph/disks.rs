//! Checkpoints of a database on a disk of the caller's: every local file is on that disk.

use std::io;
use std::path::Path;
use std::sync::Arc;

use fulgurite::Database;
use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, Map};
use fulgurite_graph::{Checkpoints, DirectoryStorage};

use crate::checkpoints::{change, content, fill};

/// A disk whose files have other bytes than were written. Zeros stay zeros, because files grow by zeros.
#[derive(Debug)]
struct Scrambled(Arc<dyn Disk>);

impl ForwardDisk for Scrambled {
    fn inner(&self) -> &dyn Disk {
        &*self.0
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(ScrambledFile(self.0.open(path, access)?)))
    }
}

#[derive(Debug)]
struct ScrambledFile(Arc<dyn File>);

impl ForwardFile for ScrambledFile {
    fn inner(&self) -> &dyn File {
        &*self.0
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer)?;
        buffer.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(INVERSE));
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let scrambled: Vec<u8> = bytes.iter().map(|byte| byte.wrapping_mul(FACTOR)).collect();
        self.0.write_at(offset, &scrambled)
    }

    fn map(&self, _reserve_bytes: u64) -> io::Result<Option<Map>> {
        Ok(None)
    }
}

#[test]
fn checkpoints_of_a_disk_that_changes_bytes_are_restored_on_such_a_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk: Arc<dyn Disk> = Arc::new(Scrambled(Arc::clone(Database::options().used_disk())));
    let options = || Database::options().create(true).keep_log(256 << 20).disk(Arc::clone(&disk));
    let db = options().open(directory.path().join("state.ful")).expect("a database");
    fill(&db);
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    let mut checkpoints = Checkpoints::new(&storage);
    assert!(checkpoints.create(&db, 1).expect("created").is_whole);
    let first = content(&db);
    change(&db, 1);
    assert!(!checkpoints.create(&db, 2).expect("created").is_whole);
    for (id, expected) in [(1, first), (2, content(&db))] {
        let path = directory.path().join(format!("{id}.ful"));
        let restored = Checkpoints::new(&storage).restore(id, path, options()).expect("restored");
        assert!(content(&restored) == expected, "checkpoint {id}");
    }
}

/// Their product is 1 in eight bits.
const FACTOR: u8 = 3;
const INVERSE: u8 = 171;
