//! A disk whose calls fail on demand, seeded commits, and shorthand for writing and reading a log.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::format::{LargeValue, Operation, OverflowRef, RECORD_ALIGNMENT, RecordEncoder};
use crate::ids::{ExtentId, PageNumber, SegmentNumber, Sequence, TableId};
use crate::io::{Access, Disk, File, ForwardDisk, ForwardFile, MemoryDisk};
use crate::log::read_back::Replay;
use crate::log::{Images, Keep, Log, LogEnd, OperationPlace, ReplayFrom, read_back, read_back_keeping};
use crate::sync::{Arc, Mutex};

pub const UUID: [u8; 16] = *b"0123456789abcdef";

pub fn database() -> &'static Path {
    Path::new("/data/x.ful")
}

pub fn segment(number: u64) -> PathBuf {
    PathBuf::from(format!("/data/x.ful-log.{number}"))
}

pub fn spare() -> PathBuf {
    PathBuf::from("/data/x.ful-log.spare")
}

pub fn from_start() -> ReplayFrom {
    ReplayFrom { sequence: Sequence(0), first_segment: SegmentNumber(1), first_segment_exists: false }
}

pub fn from(sequence: u64, first_segment: u64) -> ReplayFrom {
    ReplayFrom {
        sequence: Sequence(sequence),
        first_segment: SegmentNumber(first_segment),
        first_segment_exists: false,
    }
}

/// A change of a commit, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Put(u32, Vec<u8>, Vec<u8>),
    PutLarge(u32, Vec<u8>, LargeValue),
    Delete(u32, Vec<u8>),
    Loaded(u32),
    Renamed(u32, Vec<u8>, Vec<u8>),
}

/// What was replayed: each commit's sequence and changes.
pub type Commits = Vec<(u64, Vec<Change>)>;

pub fn change_of(operation: Operation<'_>) -> Change {
    match operation {
        Operation::Put { table, key, value } => Change::Put(table.0, key.to_vec(), value.to_vec()),
        Operation::PutLarge { table, key, large } => Change::PutLarge(table.0, key.to_vec(), large),
        Operation::Delete { table, key } => Change::Delete(table.0, key.to_vec()),
        Operation::Loaded { table } => Change::Loaded(table.0),
        Operation::Renamed { table, before, after } => Change::Renamed(table.0, before.to_vec(), after.to_vec()),
    }
}

pub fn encode(changes: &[Change]) -> RecordEncoder {
    let mut encoder = RecordEncoder::new();
    encoder.begin();
    for change in changes {
        match change {
            Change::Put(table, key, value) => encoder.put(TableId(*table), key, value),
            Change::PutLarge(table, key, large) => encoder.put_large(TableId(*table), key, large),
            Change::Delete(table, key) => encoder.delete(TableId(*table), key),
            Change::Loaded(table) => encoder.loaded(TableId(*table)),
            Change::Renamed(table, before, after) => encoder.renamed(TableId(*table), before, after),
        }
    }
    encoder.finish();
    encoder
}

/// The changes that the commit `sequence` makes in most tests: few, small, different each time.
pub fn changes(sequence: u64) -> Vec<Change> {
    random_changes(&mut Random(sequence), 3, 40)
}

pub fn random_changes(random: &mut Random, count_max: u64, length_max: u64) -> Vec<Change> {
    (0..1 + random.below(count_max))
        .map(|_| {
            let table = random.below(300) as u32;
            let key = random.bytes(length_max);
            match random.below(9) {
                0..=1 => Change::Delete(table, key),
                8 => Change::Loaded(table),
                2..=3 => {
                    let value = OverflowRef {
                        extent: ExtentId(random.below(1 << 32) as u32),
                        slot: random.below(1 << 24) as u32,
                        length: random.below(1 << 32) as u32,
                        checksum: random.next(),
                    };
                    let page_count = random.below(1 << 32) as u32;
                    Change::PutLarge(
                        table,
                        key,
                        LargeValue { value, first_page: PageNumber(random.next()), page_count },
                    )
                }
                _ => Change::Put(table, key, random.bytes(length_max)),
            }
        })
        .collect()
}

/// Splitmix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn bytes(&mut self, length_max: u64) -> Vec<u8> {
        (0..self.below(length_max + 1)).map(|_| self.next() as u8).collect()
    }
}

/// A log on an empty disk.
pub fn new_log(disk: &Arc<dyn Disk>) -> Log {
    open_log(disk, from_start()).1
}

/// Reads a log back and goes on with it, as if a checkpoint had not been made.
pub fn open_log(disk: &Arc<dyn Disk>, from: ReplayFrom) -> (Commits, Log) {
    let (commits, end) = replay(disk, from).expect("the log is intact");
    (commits, Log::create(disk, database(), UUID, end).expect("the disk works"))
}

/// Appends the commit `sequence` with its usual changes.
pub fn append(log: &mut Log, sequence: u64) {
    log.append(&mut encode(&changes(sequence)), Sequence(sequence)).expect("the disk works");
}

pub fn append_next(log: &mut Log) {
    let next = log.last_sequence().0 + 1;
    append(log, next);
}

/// Reads a log back, through a window and into memory, which must give the same result.
pub fn replay(disk: &Arc<dyn Disk>, from: ReplayFrom) -> Result<(Commits, LogEnd)> {
    replay_at(disk, database(), from)
}

/// As [`replay`], of the log of a database at another path.
pub fn replay_at(disk: &Arc<dyn Disk>, database: &Path, from: ReplayFrom) -> Result<(Commits, LogEnd)> {
    let keep = Keep { bytes_max: u64::MAX, map: true };
    let passing = read_back(disk, database, UUID, from).and_then(read_all_of);
    let keeping = read_back_keeping(disk, database, UUID, from, keep).and_then(read_all_of);
    match (&passing, &keeping) {
        (Ok((commits, end, _)), Ok((kept, kept_end, images))) => {
            assert!(commits.iter().zip(kept).all(|(one, other)| one.0 == other.0 && one.1.len() == other.1.len()));
            assert_eq!((commits.len(), format!("{end:?}")), (kept.len(), format!("{kept_end:?}")));
            for ((_, changes), (_, kept)) in commits.iter().zip(kept) {
                for ((change, _), (kept, place)) in changes.iter().zip(kept) {
                    assert!(change == kept);
                    assert!(change_of(images.operation(*place).expect("it was sound when it was read")) == *change);
                }
            }
        }
        (Err(error), Err(kept)) => assert_eq!(error.to_string(), kept.to_string()),
        _ => panic!("{:?} through a window, {:?} into memory", passing.is_ok(), keeping.is_ok()),
    }
    let (commits, end, _) = passing?;
    let changes = |placed: Vec<(Change, OperationPlace)>| placed.into_iter().map(|(change, _)| change).collect();
    Ok((commits.into_iter().map(|(sequence, placed)| (sequence, changes(placed))).collect(), end))
}

/// What was replayed, and where it stood.
type Placed = Vec<(u64, Vec<(Change, OperationPlace)>)>;

fn read_all_of(mut replay: Replay) -> Result<(Placed, LogEnd, Images)> {
    let mut commits = Vec::new();
    while let Some(commit) = replay.next_commit()? {
        let (mut operations, mut changes) = (commit.operations(), Vec::new());
        while let Some(operation) = operations.next() {
            changes.push((change_of(operation?), operations.place()));
        }
        commits.push((commit.sequence().0, changes));
    }
    let images = replay.take_images();
    Ok((commits, replay.finish(), images))
}

/// What a replay of the commits `first..=last` yields.
pub fn usual(first: u64, last: u64) -> Commits {
    (first..=last).map(|sequence| (sequence, changes(sequence))).collect()
}

pub fn read_file(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    read_all(&*disk.open(path, Access::Read).expect("the file exists"))
}

fn read_all(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().expect("the disk works") as usize];
    file.read_at(0, &mut bytes).expect("the disk works");
    bytes
}

/// Where the records of a segment end and the zeros begin that it was prepared with.
pub fn records_end(segment: &[u8]) -> usize {
    let last = segment.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    last.next_multiple_of(RECORD_ALIGNMENT)
}

/// Makes the file hold exactly `bytes`.
pub fn write_file(disk: &dyn Disk, path: &Path, bytes: &[u8]) {
    if !disk.exists(path).expect("the disk works") {
        disk.open(path, Access::CreateNew).expect("the disk works");
    }
    let file = disk.open(path, Access::Write).expect("the disk works");
    file.set_len(0).expect("the disk works");
    file.write_at(0, bytes).expect("the disk works");
}

/// Calls that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Open,
    Write,
    Sync,
    SetLength,
    SyncDirectory,
    Remove,
    Rename,
}

/// What [`FaultyDisk`] was told to do, and was asked.
#[derive(Debug, Default)]
pub struct Faults {
    /// These calls fail.
    pub failing: Vec<Call>,
    /// Of the bytes of a failing write, this many hundredths reach the file.
    pub written_percent: usize,
    /// All calls made.
    pub calls: Vec<Call>,
    /// What a power cut leaves of each file at least: its bytes at its last sync.
    synced: HashMap<PathBuf, Vec<u8>>,
    /// What was written to each file since, even where it was cut off again: the disk may have got it in between.
    passing: HashMap<PathBuf, Vec<u8>>,
    /// The files whose names a power cut leaves.
    named: BTreeSet<PathBuf>,
    /// The files that a power cut may bring back.
    removed: HashMap<PathBuf, Vec<u8>>,
    /// The names that a power cut may undo: old and new, in the order given.
    renamed: Vec<(PathBuf, PathBuf)>,
    /// By the name that each file has now: that name, for those who have it open.
    names: HashMap<PathBuf, Name>,
}

/// The name that a file has now.
type Name = Arc<Mutex<PathBuf>>;

impl Faults {
    /// What is known of a file goes with it to its other name.
    fn rename(&mut self, from: &Path, to: &Path) {
        for known in [&mut self.synced, &mut self.passing] {
            let bytes = known.remove(from);
            known.extend(bytes.map(|bytes| (to.to_path_buf(), bytes)));
        }
        if let Some(name) = self.names.remove(from) {
            *name.lock() = to.to_path_buf();
            self.names.insert(to.to_path_buf(), name);
        }
    }

    fn name(&mut self, path: &Path) -> Name {
        Arc::clone(self.names.entry(path.to_path_buf()).or_insert_with(|| Arc::new(Mutex::new(path.to_path_buf()))))
    }
}

/// A memory disk whose calls fail on demand.
#[derive(Clone, Debug, Default)]
pub struct FaultyDisk {
    pub memory: MemoryDisk,
    pub faults: Arc<Mutex<Faults>>,
}

impl FaultyDisk {
    pub fn new() -> (Self, Arc<dyn Disk>) {
        let disk = Self::default();
        (disk.clone(), Arc::new(disk))
    }

    /// From now on these calls fail, and no others.
    pub fn fail(&self, calls: &[Call]) {
        self.faults.lock().failing = calls.to_vec();
    }

    /// How much of a failing write reaches the file.
    pub fn write_percent_when_failing(&self, percent: usize) {
        self.faults.lock().written_percent = percent;
    }

    /// Cuts the power. Any sector that was written after its file's last sync may be lost, and so may any name that was
    /// created or removed after the directory's last sync. The medium keeps the rest.
    pub fn cut_power(&self, random: &mut Random) {
        let mut faults = self.faults.lock();
        for (path, bytes) in std::mem::take(&mut faults.removed) {
            if random.below(2) == 0 {
                write_file(&self.memory, &path, &bytes);
            }
        }
        for (from, to) in std::mem::take(&mut faults.renamed).into_iter().rev() {
            // What got another name or was removed since has nothing to go back to.
            if random.below(2) == 0 && self.memory.rename(&to, &from).is_ok() {
                faults.rename(&to, &from);
            } else {
                faults.named.remove(&from);
                faults.named.insert(to);
            }
        }
        for path in self.memory.list(Path::new("/data")).expect("the disk works") {
            if !faults.named.contains(&path) && random.below(2) == 0 {
                self.memory.remove(&path).expect("the file is there");
                continue;
            }
            let written = read_file(&self.memory, &path);
            let synced = faults.synced.remove(&path).unwrap_or_default();
            let passing = faults.passing.remove(&path).unwrap_or_else(|| written.clone());
            let left = mix_sectors(random, [&synced, &passing, &written]);
            write_file(&self.memory, &path, &left);
            faults.synced.insert(path.clone(), left);
            faults.named.insert(path);
        }
    }

    pub fn count(&self, call: Call) -> usize {
        self.faults.lock().calls.iter().filter(|&&made| made == call).count()
    }
}

/// Each sector as in one of the three, and the length of one or between theirs.
fn mix_sectors(random: &mut Random, images: [&[u8]; 3]) -> Vec<u8> {
    let lengths = images.map(<[u8]>::len);
    let (shortest, longest) = (lengths.into_iter().min().unwrap_or(0), lengths.into_iter().max().unwrap_or(0));
    let length = match random.below(4) {
        3 => shortest + random.below((longest - shortest) as u64 + 1) as usize,
        image => lengths[image as usize],
    };
    let mut mixed = vec![0; length];
    for (index, sector) in mixed.chunks_mut(512).enumerate() {
        let bytes = images[random.below(3) as usize].get(index * 512..).unwrap_or_default();
        let length = bytes.len().min(sector.len());
        sector[..length].copy_from_slice(&bytes[..length]);
    }
    mixed
}

fn call(faults: &Mutex<Faults>, call: Call) -> io::Result<()> {
    let mut faults = faults.lock();
    faults.calls.push(call);
    if faults.failing.contains(&call) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

impl ForwardDisk for FaultyDisk {
    fn inner(&self) -> &dyn Disk {
        &self.memory
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        call(&self.faults, Call::Open)?;
        let file = self.memory.open(path, access)?;
        let name = self.faults.lock().name(path);
        Ok(Arc::new(FaultyFile { name, file, faults: Arc::clone(&self.faults) }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        call(&self.faults, Call::Remove)?;
        let mut faults = self.faults.lock();
        faults.names.remove(path);
        if faults.named.remove(path) {
            let bytes = faults.synced.get(path).cloned().unwrap_or_default();
            faults.removed.insert(path.to_path_buf(), bytes);
        }
        self.memory.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        call(&self.faults, Call::Rename)?;
        let mut faults = self.faults.lock();
        faults.rename(from, to);
        faults.renamed.push((from.to_path_buf(), to.to_path_buf()));
        self.memory.rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        call(&self.faults, Call::SyncDirectory)?;
        let mut faults = self.faults.lock();
        faults.named = self.memory.list(directory)?.into_iter().collect();
        faults.removed.clear();
        faults.renamed.clear();
        Ok(())
    }
}

#[derive(Debug)]
struct FaultyFile {
    name: Name,
    file: Arc<dyn File>,
    faults: Arc<Mutex<Faults>>,
}

impl ForwardFile for FaultyFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let outcome = call(&self.faults, Call::Write);
        let mut faults = self.faults.lock();
        let percent = if outcome.is_ok() { 100 } else { faults.written_percent };
        let bytes = &bytes[..bytes.len() * percent / 100];
        let name = self.name.lock().clone();
        let passing = faults.passing.entry(name).or_insert_with(|| read_all(&*self.file));
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        passing.resize(passing.len().max(end), 0);
        passing[start..end].copy_from_slice(bytes);
        self.file.write_at(offset, bytes)?;
        outcome
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        call(&self.faults, Call::SetLength)?;
        self.file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        call(&self.faults, Call::Sync)?;
        let mut faults = self.faults.lock();
        let name = self.name.lock().clone();
        faults.passing.remove(&name);
        faults.synced.insert(name, read_all(&*self.file));
        Ok(())
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        ForwardFile::write_at(self, offset, bytes)?;
        call(&self.faults, Call::Sync)?;
        let mut faults = self.faults.lock();
        let name = self.name.lock().clone();
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        // These bytes and no others: what else was written may still be lost.
        let synced = faults.synced.entry(name).or_default();
        synced.resize(synced.len().max(end), 0);
        synced[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        ForwardFile::sync_data(self)
    }
}
