//! Power cuts and failing disks under a restoration: a whole database is at the path, or none. And power cuts while
//! checkpoints are created: the database keeps what the checkpoints have.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{Database, Durability, Options};
use fulgurite_graph::{CheckpointStorage, Checkpoints};
use fulgurite_testkit::{CrashDisk, Fault, FaultDisk, FaultError, Kinds};

use crate::checkpoints::{Content, change, content, fill, filled};

const PATH: &str = "state.ful";
const RESTORED: &str = "restored";
const COMMITTED: &str = "committed";
const CHECKPOINT: &str = "checkpoint";

/// Files of checkpoints that no cut takes, which are fetched to a disk.
struct Elsewhere {
    files: Arc<BTreeMap<String, Vec<u8>>>,
    disk: Arc<dyn Disk>,
}

impl CheckpointStorage for Elsewhere {
    fn store(&self, name: &str, _file: &Path) -> io::Result<()> {
        Err(io::Error::other(format!("{name} is stored by a restoration")))
    }

    fn fetch(&self, name: &str, path: &Path) -> io::Result<()> {
        let bytes = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        match self.disk.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = self.disk.open(path, Access::CreateNew)?;
        let mut offset = 0;
        for part in bytes.chunks(PART_BYTES) {
            file.write_at(offset, part)?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Err(io::Error::other(format!("{name} is removed by a restoration")))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.files.keys().cloned().collect())
    }
}

/// Stores files of a disk where no cut takes them.
struct Storing {
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    disk: Arc<dyn Disk>,
}

impl Storing {
    fn of(disk: &Arc<dyn Disk>) -> Self {
        Self { files: RefCell::default(), disk: Arc::clone(disk) }
    }

    /// What a stored checkpoint has. It is restored on another disk.
    fn restored(&self, id: u64) -> Content {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let storage = Elsewhere { files: Arc::new(self.files.borrow().clone()), disk: Arc::clone(&disk) };
        content(&Checkpoints::new(storage).restore(id, PATH, options(&disk)).expect("restored"))
    }
}

impl CheckpointStorage for Storing {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        let file = self.disk.open(file, Access::Read)?;
        let mut bytes = vec![0; usize::try_from(file.len()?).expect("it fits into memory")];
        file.read_at(0, &mut bytes)?;
        self.files.borrow_mut().insert(name.to_owned(), bytes);
        Ok(())
    }

    fn fetch(&self, name: &str, _path: &Path) -> io::Result<()> {
        Err(io::Error::other(format!("{name} is fetched for a new checkpoint")))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.borrow_mut().remove(name);
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.files.borrow().keys().cloned().collect())
    }
}

/// The files of two checkpoints, and what each of them has. The second has a file of changes.
fn two_checkpoints(compression_level: u32) -> (Arc<BTreeMap<String, Vec<u8>>>, [Content; 2]) {
    let (directory, storage, db) = filled();
    // Several segments.
    let mut checkpoints = Checkpoints::new(&storage).segment_bytes(64 << 10).compression_level(compression_level);
    assert!(checkpoints.create(&db, 1).expect("created").is_whole);
    let first = content(&db);
    change(&db, 1);
    assert!(!checkpoints.create(&db, 2).expect("created").is_whole);
    let mut files = BTreeMap::new();
    for name in storage.names().expect("a listing") {
        let bytes = fs::read(directory.path().join("checkpoints").join(&name)).expect("a stored file");
        files.insert(name, bytes);
    }
    (Arc::new(files), [first, content(&db)])
}

fn options(disk: &Arc<dyn Disk>) -> Options {
    let options = Database::options().create(true).background(false).keep_log(1 << 20);
    options.durability(Durability::Memory).disk(Arc::clone(disk))
}

/// Fails unless the database that a cut has left has this content, and the commit after the restoration if it must.
fn look(disk: &Arc<dyn Disk>, expected: &Content, must_have_commit: bool, image: &dyn std::fmt::Display) {
    let db = options(disk).create(false).open(PATH).unwrap_or_else(|error| panic!("{image}: {error}"));
    let report = db.check().unwrap_or_else(|error| panic!("{image}: {error}"));
    assert!(report.is_sound(), "{image}: {:?}", report.damages);
    let mut found = content(&db);
    let later = found.remove(&("state".to_owned(), b"later".to_vec()));
    assert!(later.is_some() || !must_have_commit, "{image}: a durable commit is lost");
    assert!(found == *expected, "{image}: it is a part of the checkpoint, or another one");
}

/// Cuts the power under the restoration of a checkpoint and under the first commit after it. Returns how many images
/// had the database, and how many had none.
fn cut(id: u64, expected: &Content, files: &Arc<BTreeMap<String, Vec<u8>>>) -> (u32, u32) {
    let disk = CrashDisk::new();
    let local: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut checkpoints = Checkpoints::new(Elsewhere { files: Arc::clone(files), disk: Arc::clone(&local) });
    let db = checkpoints.restore(id, PATH, options(&local)).expect("restored");
    disk.mark(RESTORED, 1);
    assert_eq!(&content(&db), expected);
    let table = db.open_table("state").expect("the table");
    let mut txn = db.write().expect("a transaction");
    txn.put(&table, b"later", b"value").expect("a put");
    txn.commit_with(Durability::Disk).expect("a commit");
    disk.mark(COMMITTED, 1);
    drop((db, table));
    let (mut whole, mut none) = (0_u32, 0_u32);
    for image in disk.recording().images(id, Kinds { subsets: 3, torn: 3 }) {
        let after: Arc<dyn Disk> = Arc::new(image.disk());
        let has = |label: &str| image.marks().iter().any(|mark| mark.label == label);
        let is_committed = has(COMMITTED);
        if after.exists(Path::new(PATH)).expect("an answer") {
            look(&after, expected, is_committed, &image);
            whole += 1;
            continue;
        }
        assert!(!has(RESTORED), "{image}: a database is gone that was restored");
        if none.is_multiple_of(4) {
            // Files of the interrupted restoration do not make the next one fail.
            let storage = Elsewhere { files: Arc::clone(files), disk: Arc::clone(&after) };
            let db = Checkpoints::new(storage).restore(id, PATH, options(&after)).expect("restored again");
            assert!(content(&db) == *expected, "{image}");
        }
        none += 1;
    }
    (whole, none)
}

#[test]
fn a_power_cut_during_a_restoration_leaves_a_whole_database_or_none_and_after_it_the_database() {
    // Larger files are cut at more places.
    let (files, states) = two_checkpoints(0);
    for (id, expected) in (1..).zip(&states) {
        let (whole, none) = cut(id, expected, &files);
        assert!(whole >= 10 && none >= 10, "checkpoint {id}: {whole} whole, {none} without one");
    }
}

#[test]
fn a_restoration_that_fails_at_any_call_of_the_disk_leaves_no_database_and_the_next_one_is_whole() {
    let (files, states) = two_checkpoints(1);
    for (id, expected) in (1..).zip(&states) {
        let mut nth = 1;
        loop {
            let disk = FaultDisk::new(Arc::new(MemoryDisk::new()));
            let local: Arc<dyn Disk> = Arc::new(disk.clone());
            let restore = || {
                let storage = Elsewhere { files: Arc::clone(&files), disk: Arc::clone(&local) };
                Checkpoints::new(storage).restore(id, PATH, options(&local))
            };
            disk.arm(Fault { nth, error: FaultError::Medium, ..Fault::default() });
            let outcome = restore();
            let failed_call = disk.failed_call();
            disk.disarm();
            let Some(failed_call) = failed_call else { break };
            let db = outcome.or_else(|_| {
                assert!(!local.exists(Path::new(PATH)).expect("an answer"), "checkpoint {id}: {failed_call}");
                restore()
            });
            // A lock or file that cannot be removed is in nobody's way, so it may have succeeded.
            let db = db.unwrap_or_else(|error| panic!("checkpoint {id}: {failed_call}: {error}"));
            assert!(content(&db) == *expected, "checkpoint {id}: {failed_call}");
            assert!(db.read().expect("a snapshot").open_table("state").is_ok());
            nth += 1;
        }
        assert!(nth > 10, "only {nth} calls for checkpoint {id}");
    }
}

#[test]
fn a_power_cut_while_a_checkpoint_is_created_leaves_the_database_and_files_in_nobodys_way() {
    let disk = CrashDisk::new();
    let local: Arc<dyn Disk> = Arc::new(disk.clone());
    let db = options(&local).open(PATH).expect("a database");
    fill(&db);
    db.sync().expect("synced");
    let before = disk.operations();
    let storage = Storing::of(&local);
    let mut checkpoints = Checkpoints::new(&storage).compression_level(0);
    let mut states = Vec::new();
    for id in 1..=2 {
        if id > 1 {
            change(&db, id);
        }
        // This disk has no files of the system, so that no change of the file is recognised.
        assert!(checkpoints.create(&db, id).expect("created").is_whole);
        disk.mark(CHECKPOINT, id);
        states.push(content(&db));
    }
    drop(db);
    assert!(states[0] != states[1]);
    for (id, state) in (1..).zip(&states) {
        assert!(storage.restored(id) == *state, "checkpoint {id}");
    }
    let (mut images, mut with_file) = (0_u32, 0_u32);
    for image in disk.recording().images(9, Kinds { subsets: 3, torn: 3 }).since(before) {
        let after: Arc<dyn Disk> = Arc::new(image.disk());
        let leftovers = || {
            let names = after.list(Path::new("")).expect("a listing");
            names.iter().filter(|name| name.to_string_lossy().contains("-checkpoint")).count()
        };
        with_file += u32::from(leftovers() > 0);
        let db = options(&after).create(false).open(PATH).unwrap_or_else(|error| panic!("{image}: {error}"));
        assert!(db.check().expect("checked").is_sound(), "{image}");
        let found = content(&db);
        let is_second = image.marks().iter().any(|mark| mark.label == CHECKPOINT && mark.number == 2);
        assert!(found == states[1] || found == states[0] && !is_second, "{image}: the database has lost a checkpoint");
        if images.is_multiple_of(8) {
            let storage = Storing::of(&after);
            assert!(Checkpoints::new(&storage).create(&db, 3).expect("created").is_whole, "{image}");
            assert!(storage.restored(3) == found, "{image}");
            assert_eq!(leftovers(), 0, "{image}");
        }
        images += 1;
    }
    assert!(images > 20 && with_file > 10, "{images} images, {with_file} with a part of a file");
}

/// Fetched files are written in parts, so that a cut may come between them.
const PART_BYTES: usize = 48 << 10;
