//! What the explored files import from parts of the engine that are not explored: types as small as they may be, and
//! a log and pages that the models can inspect.
#![allow(dead_code, reason = "some of it is imported only")]

/// Stored bytes.
pub mod format {
    use crate::ids::{ExtentId, PageNumber, TableId};

    pub use crate::merge::{MergeOperator, MergeRule, Merging, Overflowed};

    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct OverflowRef {
        /// The extent.
        pub extent: ExtentId,
        /// Bytes of the value.
        pub length: u32,
    }

    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LargeValue {
        /// What tables store of the value.
        pub value: OverflowRef,
        /// Where its extent begins.
        pub first_page: PageNumber,
    }

    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ValueAlign {
        /// Anywhere.
        One,
    }

    impl ValueAlign {
        /// The alignment of this many bytes.
        pub fn from_bytes(bytes: usize) -> Option<Self> {
            (bytes == 1).then_some(Self::One)
        }

        /// The multiple, in bytes.
        pub fn bytes(self) -> usize {
            1
        }
    }

    /// As the engine's.
    #[derive(Clone, Copy, Debug)]
    pub enum LeafForm {
        /// With hash tags.
        Tagged(ValueAlign),
        /// Packed.
        Packed,
    }

    /// As the engine's.
    #[derive(Clone, Debug)]
    pub struct TableDescriptor {
        /// The table's number.
        pub id: TableId,
        /// Whether it is a multimap.
        pub multimap: bool,
        /// Whether counts of ranges are kept.
        pub counted: bool,
        /// Whether leaves are packed.
        pub packed: bool,
        /// Alignment of values.
        pub value_align: u8,
        /// Name of the key encoding.
        pub key_type: String,
        /// Name of the value encoding.
        pub value_type: String,
        /// How values are merged.
        pub merge: Option<Merging>,
        /// The tree.
        pub root: Option<()>,
        /// The ranges with runs.
        pub ranges: Vec<()>,
    }

    impl TableDescriptor {
        /// No byte is stored here.
        pub fn encode(&self) -> Vec<u8> {
            Vec::new()
        }
    }

    /// How keys are hashed.
    #[derive(Debug)]
    pub struct Identity;

    impl Identity {
        /// The first byte decides the places in the index, and keys that differ there never share one.
        pub fn hash(&self, key: &[u8]) -> u64 {
            key.iter().fold(0, |hash: u64, byte| hash.rotate_right(8) ^ u64::from(*byte) << 56 ^ u64::from(*byte))
        }
    }

    /// A commit for the log; only its size is used.
    #[derive(Debug, Default)]
    pub struct RecordEncoder(usize);

    impl RecordEncoder {
        /// Without a commit.
        pub const fn new() -> Self {
            Self(0)
        }

        /// Begins a commit.
        pub fn begin(&mut self) {
            self.0 = 0;
        }

        /// Adds a change.
        pub fn put(&mut self, _: TableId, key: &[u8], value: &[u8]) {
            self.0 += key.len() + value.len();
        }

        /// Adds a change.
        pub fn put_large(&mut self, _: TableId, key: &[u8], _: &LargeValue) {
            self.0 += key.len();
        }

        /// Adds a change.
        pub fn delete(&mut self, _: TableId, key: &[u8]) {
            self.0 += key.len();
        }

        /// Adds a change.
        pub fn renamed(&mut self, _: TableId, before: &[u8], after: &[u8]) {
            self.0 += before.len() + after.len();
        }

        /// Ends the commit.
        pub fn finish(&mut self) {}

        /// Its bytes are not used.
        pub fn bytes(&self) -> &[u8] {
            &[]
        }

        /// Its length.
        pub fn len_bytes(&self) -> usize {
            self.0
        }

        /// Memory that it takes.
        pub fn capacity_bytes(&self) -> usize {
            0
        }
    }
}

/// Pages: here one for each checkpoint; loom checks every write and read of it.
pub mod pager {
    use std::borrow::Cow;
    use std::ops::Deref;

    use super::format::Identity;

    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Room {
        /// Bytes for all.
        pub bytes: u64,
        /// Bytes of these for the log.
        pub log_bytes: u64,
    }

    /// The error of what would take the last of a disk, which has no end here.
    pub fn no_room(path: &std::path::Path) -> crate::error::Error {
        crate::error::Error::Closed { path: path.to_path_buf() }
    }

    /// A page that is written while no one can read it, and read while no one may write it.
    pub type Page = std::sync::Arc<loom::cell::UnsafeCell<()>>;

    /// The pages of a checkpoint.
    #[derive(Clone, Debug)]
    pub struct Pages {
        /// The only one.
        pub page: Page,
    }

    impl Pages {
        /// How keys are hashed.
        pub fn identity(&self) -> &Identity {
            &Identity
        }
    }

    /// As the engine's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Value<'a>(Cow<'a, [u8]>);

    /// As the engine's: nothing is spilled.
    #[derive(Debug)]
    pub struct Space;

    impl<'a> From<&'a [u8]> for Value<'a> {
        fn from(bytes: &'a [u8]) -> Self {
            Self(Cow::Borrowed(bytes))
        }
    }

    impl Deref for Value<'_> {
        type Target = [u8];

        fn deref(&self) -> &[u8] {
            &self.0
        }
    }
}

/// Trees of a checkpoint.
pub mod tree {
    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Root;

    /// As the engine's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Base;

    /// As the engine's.
    #[derive(Debug)]
    pub struct Stack;

    /// As the engine's.
    #[derive(Clone, Copy, Debug)]
    pub struct Change<'a> {
        /// The key.
        pub key: &'a [u8],
        /// Its hash.
        pub hash: Option<u64>,
        /// What becomes of it.
        pub action: Action<'a>,
    }

    /// As the engine's, as far as it is used.
    #[derive(Clone, Copy, Debug)]
    pub enum Action<'a> {
        /// It has this value from now on.
        Put(&'a [u8]),
    }

    /// As the engine's.
    pub trait Changes {
        /// The change at hand.
        ///
        /// # Errors
        /// None.
        fn peek(&mut self) -> crate::error::Result<Option<Change<'_>>>;

        /// Goes on to the next one.
        fn advance(&mut self);
    }
}

/// Options.
pub mod options {
    use super::format::Merging;
    use crate::error::Result;

    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Durability {
        /// In memory.
        Memory,
        /// In the log.
        Log,
        /// On the disk.
        Disk,
    }

    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Isolation {
        /// Reads are checked.
        Serializable,
        /// Writes are.
        Snapshot,
    }

    /// As the engine's.
    #[derive(Clone, Debug)]
    pub struct TableOptions {
        /// Whether it is a multimap.
        pub multimap: bool,
        /// Whether counts of ranges are kept.
        pub counted: bool,
        /// Whether leaves are packed.
        pub packed: bool,
        /// Alignment of values.
        pub value_align: u8,
        /// Name of the key encoding.
        pub key_type: String,
        /// Name of the value encoding.
        pub value_type: String,
        /// How values are merged.
        pub merge: Option<Merging>,
    }

    impl TableOptions {
        /// All options are valid.
        ///
        /// # Errors
        /// None.
        pub fn validate(&self) -> Result<()> {
            Ok(())
        }
    }

    /// As the engine's.
    pub const TABLE_NAME_BYTES_MAX: usize = 255;
    /// As the engine's.
    pub const LARGE_VALUE_BYTES: usize = 1 << 10;
    /// As the engine's.
    pub const LARGE_VALUE_BYTES_UNSYNCED: usize = 1 << 20;
    /// As the engine's.
    pub const VALUE_BYTES_MAX: usize = u32::MAX as usize;
}

/// What is kept of the log: nothing.
pub mod log {
    /// As the engine's.
    #[derive(Debug)]
    pub struct Retention;
}

/// The log.
pub mod journal {
    use crate::error::Result;
    use crate::format::RecordEncoder;
    use crate::ids::{SegmentNumber, Sequence};
    use crate::options::Durability;

    /// A log; the disk of the model has as much of it as was flushed.
    #[derive(Debug)]
    pub struct Journal {
        /// The last commit in it.
        last: Sequence,
        /// The last commit on the disk.
        flushed: Sequence,
        segment: SegmentNumber,
        file: File,
        disk: Disk,
    }

    /// A place in the file for each commit, which is written under the log's lock or by the commit's own thread.
    type File = std::sync::Arc<[loom::cell::UnsafeCell<()>; 8]>;

    /// The place of one commit.
    #[derive(Debug)]
    pub struct PreparedPlace(File, usize);

    #[allow(unsafe_code, reason = "the engine's has this signature")]
    impl PreparedPlace {
        /// Nothing is asked for.
        pub fn approach(&self) {}

        /// Writes the commit.
        ///
        /// # Safety
        /// None: loom finds reads of the place that come too early.
        pub unsafe fn write(self, _: &[u8]) {
            self.0[self.1].with_mut(|_| ());
        }
    }

    /// A place on the disk for each commit, which the flush writes that makes the commit durable.
    pub type Disk = std::sync::Arc<[loom::cell::UnsafeCell<()>; 8]>;

    /// As the engine's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LogStart {
        /// The first segment that recovery needs.
        pub segment: SegmentNumber,
        /// Whether it exists.
        pub exists: bool,
    }

    /// A flush that can go on without the lock.
    #[derive(Debug)]
    pub struct PendingSync {
        after: Sequence,
        through: Sequence,
        file: File,
        disk: Disk,
    }

    impl Journal {
        /// An empty log.
        pub fn new(disk: Disk) -> Self {
            let file = File::default();
            Self { last: Sequence(0), flushed: Sequence(0), segment: SegmentNumber(1), file, disk }
        }

        /// Appends a commit.
        ///
        /// # Errors
        /// None.
        pub fn append(&mut self, _: &mut RecordEncoder, sequence: Sequence, _: Durability) -> Result<bool> {
            self.take(sequence).0[sequence.0 as usize - 1].with_mut(|_| ());
            Ok(false)
        }

        /// Gives a commit its place, unless it may be lost with the process.
        ///
        /// # Errors
        /// None.
        pub fn place(
            &mut self,
            _: &mut RecordEncoder,
            sequence: Sequence,
            durability: Durability,
        ) -> Result<Option<PreparedPlace>> {
            Ok((durability != Durability::Memory).then(|| self.take(sequence)))
        }

        fn take(&mut self, sequence: Sequence) -> PreparedPlace {
            assert_eq!(sequence.0, self.last.0 + 1, "the log has commits in their order");
            self.last = sequence;
            PreparedPlace(File::clone(&self.file), sequence.0 as usize - 1)
        }

        /// Whether the log has a commit with this number.
        pub fn has_taken(&self, sequence: Sequence) -> bool {
            self.last >= sequence
        }

        /// Nothing waits to be written.
        ///
        /// # Errors
        /// None.
        pub fn write(&mut self) -> Result<()> {
            Ok(())
        }

        /// Begins a flush.
        ///
        /// # Errors
        /// None.
        pub fn begin_sync(&mut self, _: Sequence) -> Result<Option<PendingSync>> {
            let (file, disk) = (File::clone(&self.file), Disk::clone(&self.disk));
            Ok(Some(PendingSync { after: self.flushed, through: self.last, file, disk }))
        }

        /// Ends a flush.
        ///
        /// # Errors
        /// That of the flush.
        pub fn finish_sync(&mut self, pending: PendingSync, outcome: Result<()>) -> Result<Sequence> {
            outcome?;
            self.flushed = pending.through;
            Ok(pending.through)
        }

        /// Turns to a new segment.
        ///
        /// # Errors
        /// None.
        pub fn rotate(&mut self) -> Result<SegmentNumber> {
            self.segment.0 += 1;
            Ok(self.segment)
        }

        /// No file is moved here.
        pub fn is_moved(&self) -> bool {
            false
        }

        /// No flush fails here.
        pub fn is_poisoned(&self) -> bool {
            false
        }
    }

    impl PendingSync {
        /// Flushes.
        ///
        /// # Errors
        /// None.
        pub fn run(&self) -> Result<()> {
            let written = self.after.0 as usize..self.through.0 as usize;
            self.file[written.clone()].iter().for_each(|place| place.with(|_| ()));
            self.disk[written].iter().for_each(|place| place.with_mut(|_| ()));
            Ok(())
        }
    }
}

/// Processes: always one.
pub mod process {
    /// As the engine's.
    #[derive(Clone, Copy, Debug)]
    pub struct Stamp;

    impl Stamp {
        /// No process is forked.
        pub const fn is_inherited(&self) -> bool {
            false
        }
    }
}

/// Large values: there are none.
pub mod large {
    use crate::error::Result;
    use crate::format::LargeValue;

    /// As the engine's.
    #[derive(Debug)]
    pub struct LargeStore;

    /// As the engine's.
    #[derive(Debug, Default)]
    pub struct Recent(());

    impl LargeStore {
        /// Nothing to release.
        pub fn sync(&self) -> Result<()> {
            Ok(())
        }

        /// There is nothing to distrust.
        pub fn distrust(&self) {}

        /// Nothing is large.
        ///
        /// # Errors
        /// None.
        pub fn write(&self, value: &[u8]) -> Result<LargeValue> {
            unreachable!("{} bytes are not large", value.len())
        }

        /// Nothing to release.
        pub fn discard(&self, _: &[LargeValue]) {}
    }

    impl Recent {
        /// There is nothing to note.
        pub fn note(&self, _: &LargeValue) {}
    }
}

/// What reads of one table go through.
pub mod layers {
    use crate::delta::Change;
    use crate::error::Result;
    use crate::ids::Sequence;
    use crate::txn::reads::read_set::ReadSet;
    use crate::txn::snapshot::state::{State, TableView};
    use crate::txn::writes::write_set::WriteSet;

    /// As the engine's.
    #[derive(Clone, Copy, Debug)]
    pub struct Layers<'a> {
        /// The moment.
        pub state: &'a State,
        /// The table in it.
        pub view: &'a TableView,
        /// Commits above this one are not seen.
        pub at: Sequence,
        /// The transaction's own changes.
        pub set: Option<&'a WriteSet>,
        /// Where it is noted what is read.
        pub reads: Option<&'a ReadSet>,
    }

    impl Layers<'_> {
        /// The value of a key in the deltas: pages hold none.
        ///
        /// # Errors
        /// None.
        pub fn get(self, key: &[u8]) -> Result<Option<Vec<u8>>> {
            let hash = self.state.pages.identity().hash(key);
            let deltas = [Some(&self.view.active), self.view.frozen.as_ref()].into_iter().flatten();
            let change = deltas.filter(|delta| !delta.is_empty()).find_map(|delta| delta.get(key, hash, self.at));
            self.state.pages.page.with(|_| ());
            Ok(match change {
                Some(Change::Put(value)) => Some(value.to_vec()),
                Some(_) => panic!("only puts are committed"),
                None => None,
            })
        }
    }
}

/// Ranges of dropped tables: no table is dropped.
pub mod range {
    use std::ops::Bound;

    use super::layers::Layers;
    use crate::error::Result;

    /// As the engine's.
    #[derive(Debug)]
    pub struct Range;

    impl Range {
        /// As the engine's.
        pub fn new(_: Layers<'_>, _: Bound<Vec<u8>>, _: Bound<Vec<u8>>) -> Self {
            panic!("no table is dropped")
        }
    }

    impl Iterator for Range {
        type Item = Result<(Vec<u8>, Vec<u8>)>;

        fn next(&mut self) -> Option<Self::Item> {
            None
        }
    }
}

/// What transactions have spilled: nothing.
pub mod spilled {
    use std::iter;

    use crate::error::Result;
    use crate::ids::TableId;
    use crate::pager::{Pages, Space};
    use crate::sync::{Arc, Mutex};
    use crate::txn::writes::spill_source::SpillSource;
    use crate::txn::writes::versions::OwnChange;

    /// As the engine's; there is none.
    #[derive(Debug)]
    pub struct Spilled;

    impl Spilled {
        /// Nothing is spilled.
        pub fn new(_: &Pages, _: &Arc<Mutex<Space>>, _: usize) -> Self {
            unreachable!("transactions are small here")
        }

        /// As the engine's; so are the others.
        ///
        /// # Errors
        /// None.
        pub fn push(&mut self, _: &Pages, _: Vec<Layer>) -> Result<u64> {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        ///
        /// # Errors
        /// None.
        pub fn join_layers(&mut self, _: &Pages, _: &[u64]) -> Result<()> {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        pub fn undo(&mut self, _: u64, _: u64) {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        pub fn is_empty(&self) -> bool {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        ///
        /// # Errors
        /// None.
        pub fn get(&self, _: TableId, _: &[u8]) -> Result<Option<OwnChange<'_>>> {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        pub fn tables(&self) -> impl Iterator<Item = TableId> {
            iter::empty()
        }

        /// See [`Spilled::push`].
        pub fn touches(&self, _: TableId) -> bool {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        pub fn entries_of(&self, _: TableId) -> u64 {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        pub fn overwrites(&self, _: TableId) -> bool {
            unreachable!("there is none")
        }

        /// See [`Spilled::push`].
        pub fn overwrites_any(&self) -> bool {
            unreachable!("there is none")
        }
    }

    /// As the engine's; there is none.
    #[derive(Debug)]
    pub struct Layer;

    impl Layer {
        /// Nothing is spilled.
        ///
        /// # Errors
        /// None.
        pub fn write(_: &Pages, _: &Arc<Mutex<Space>>, _: &SpillSource<'_>) -> Result<Vec<Self>> {
            unreachable!("transactions are small here")
        }
    }
}

/// What transactions did, wherever that is.
pub mod versions {
    use crate::format::LargeValue;
    use crate::pager::Value;
    use crate::txn::writes::pending::Pending;

    /// As the engine's.
    #[derive(Clone, Debug)]
    pub enum OwnChange<'a> {
        /// The key has this value.
        Put(Value<'a>),
        /// The key has a large value.
        PutLarge(LargeValue),
        /// The key is gone.
        Delete,
        /// The key is merged.
        Merge(Value<'a>),
    }

    impl<'a> OwnChange<'a> {
        /// A change that is in memory.
        pub fn of(pending: &'a Pending) -> Self {
            match pending {
                Pending::Put(value) => Self::Put(Value::from(&**value)),
                Pending::PutLarge(large) => Self::PutLarge(**large),
                Pending::Delete => Self::Delete,
                Pending::Merge(operand) => Self::Merge(Value::from(&**operand)),
            }
        }
    }

    /// Nothing is spilled.
    pub fn push_version(_: &mut Vec<u8>, _: u64, _: &Pending) {
        unreachable!("transactions are small here")
    }

    /// See [`push_version`].
    pub fn version_bytes(_: &Pending) -> usize {
        unreachable!("transactions are small here")
    }
}

/// Commits of what was spilled: there are none.
pub mod spilled_proposal {
    use std::marker::PhantomData;

    /// As the engine's.
    #[derive(Debug)]
    pub struct SpilledProposal<'t>(PhantomData<&'t ()>);
}
