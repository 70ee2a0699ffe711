//! Every tunable of the engine, with its unit and its default.

use std::sync::OnceLock;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::format::{MergeOperator, Merging};
use crate::io::{Disk, RealDisk, memory_bytes};
use crate::merge_functions::{FUNCTION_NAME_BYTES_MAX, MergeFunctions, MergeOperands, MergeOutcome};
use crate::sync::Arc;

/// How far a commit must have got before `commit` returns.
///
/// Levels are prefixes: when a commit is safe at some level, so is every commit before it.
/// `docs/reference/durability.md` tells what each survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// Returns at once; the log is written behind. A crash of the process may lose the last commits.
    Memory,
    /// The commit is in the operating system's page cache: it survives the process, not a power cut.
    Log,
    /// The commit is on the disk: it survives a power cut.
    #[default]
    Disk,
}

/// What a write transaction is checked for when it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// Nothing that it read has changed since: values, absences and ranges. The transactions that commit could have run
    /// one after the other.
    #[default]
    Serializable,
    /// Nothing that it wrote has changed since; what it only read may have. Two transactions may each read what the
    /// other writes (write skew); fewer are in conflict. What it merged counts as neither: others may have changed it,
    /// even if it read it too. What it [guarded](crate::WriteTxn::guard) has not changed either.
    Snapshot,
}

/// How to open a database; begin with [`crate::Database::options`].
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) page_size_bytes: u32,
    pub(crate) cache_bytes: u64,
    pub(crate) delta_bytes: u64,
    pub(crate) write_set_bytes: u64,
    pub(crate) durability: Durability,
    pub(crate) isolation: Isolation,
    pub(crate) max_size_bytes: Option<u64>,
    pub(crate) map: bool,
    pub(crate) huge_pages: bool,
    pub(crate) background: bool,
    pub(crate) keep_log_bytes: u64,
    pub(crate) wait_for_lock: Duration,
    pub(crate) merge_functions: Arc<MergeFunctions>,
    pub(crate) disk: Arc<dyn Disk>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: false,
            read_only: false,
            page_size_bytes: PAGE_SIZE_BYTES_DEFAULT,
            cache_bytes: 64 << 20,
            delta_bytes: default_delta_bytes(),
            write_set_bytes: WRITE_SET_BYTES_DEFAULT,
            durability: Durability::Disk,
            isolation: Isolation::Serializable,
            max_size_bytes: None,
            map: true,
            huge_pages: true,
            background: true,
            keep_log_bytes: 0,
            wait_for_lock: Duration::ZERO,
            merge_functions: Arc::default(),
            disk: real_disk(),
        }
    }
}

impl Options {
    /// Creates the database if there is none. Default: off, so that a mistyped path is an error.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens for reading only: beside a live writer it shows the newest checkpoint, and without one the newest commit.
    /// Nothing is written, not even after a crash. Default: off.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Size of a page of a database that is to be created: 8,192 or 16,384 bytes (the default).
    #[must_use]
    pub fn page_size_bytes(mut self, bytes: u32) -> Self {
        self.page_size_bytes = bytes;
        self
    }

    /// Bound of the page cache where the file is not mapped. Default: 64 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Memory that commits may take before they are brought into the file. Default: a 64th of the machine's memory (or
    /// of what the process's control group may use), but at least 64 MiB and at most 384 MiB, which is about 2,000,000
    /// changes of 130 bytes.
    ///
    /// Where changes fall everywhere into a large table, they are written once as they are, and for every several times
    /// so much the table is written once: twice the memory halves that work. While a checkpoint runs, as much again may
    /// be in use, and twice as much before commits wait. While write transactions last longer than a checkpoint, twice
    /// as much again, to check them against.
    #[must_use]
    pub fn delta_bytes(mut self, bytes: u64) -> Self {
        self.delta_bytes = bytes;
        self
    }

    /// Memory that the changes of one write transaction may take before they are spilled: sorted, and written to free
    /// space of the data file, where nobody else sees them. Default: 64 MiB; at least 1 KiB.
    ///
    /// So a transaction may be of any size; it then needs room on the disk for its changes twice, until its commit has
    /// ended. Reading what was spilled is as fast as reading what is stored, but not without a map of the file
    /// ([`Options::map`]): filters are not used then, and each key is looked up in all that was spilled. To commit a
    /// transaction that has spilled is like a bulk load: others wait meanwhile, it is durable when that returns,
    /// whatever level was asked for, and one that others began before and that used the same tables is in conflict with
    /// it ([`crate::ConflictReason::BulkLoad`]).
    #[must_use]
    pub fn write_set_bytes(mut self, bytes: u64) -> Self {
        self.write_set_bytes = bytes;
        self
    }

    /// What [`crate::WriteTxn::commit`] waits for. Default: [`Durability::Disk`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// What [`crate::Database::write`] checks transactions for. Default: [`Isolation::Serializable`].
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Quota of the data file. Writes that would pass it fail with [`Error::QuotaExceeded`]. Default: none.
    #[must_use]
    pub fn max_size_bytes(mut self, bytes: u64) -> Self {
        self.max_size_bytes = Some(bytes);
        self
    }

    /// Whether to map the file and the log into memory (the default) or to read the one through the cache of
    /// [`Options::cache_bytes`] and to write the other by calls, as on a medium whose faults must not become signals.
    #[must_use]
    pub fn map(mut self, map: bool) -> Self {
        self.map = map;
        self
    }

    /// Whether to ask the system for huge pages under the map. Default: on; gets cost about twice as much without.
    #[must_use]
    pub fn huge_pages(mut self, huge_pages: bool) -> Self {
        self.huge_pages = huge_pages;
        self
    }

    /// Whether checkpoints run on a thread of their own (the default), or only when [`crate::Database::checkpoint`] is
    /// called or a commit finds the delta full. Without that thread runs are merged at checkpoints, as far as it takes
    /// for them not to become too many.
    #[must_use]
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// How long to wait, when opening for writing, for another process or handle that has the database open for
    /// writing. Default: not at all; [`Error::Locked`] is returned at once then.
    #[must_use]
    pub fn wait_for_lock(mut self, at_most: Duration) -> Self {
        self.wait_for_lock = at_most;
        self
    }

    /// Bytes of log that are kept beyond what recovery needs, for [`crate::Database::changes`]. Default: 0, and then
    /// nothing is kept.
    ///
    /// The engine retains log segments that no checkpoint needs, also after closing, until they have more than `bytes`;
    /// then it removes the oldest. A segment holds about as much as is committed between two checkpoints (see
    /// [`Options::delta_bytes`]), so choose several times that.
    ///
    /// Set it each time that the database is opened for writing. Opening without it removes all retained segments, and
    /// opening with fewer bytes removes those over the bound at once, which makes room on a full disk. While it is set,
    /// a checkpoint syncs the log before it publishes new trees, bulk loads write a note to the log, and both may fail
    /// as commits do.
    #[must_use]
    pub fn keep_log(mut self, bytes: u64) -> Self {
        self.keep_log_bytes = bytes;
        self
    }

    /// Registers a function of the program by which tables merge values: those created with
    /// [`TableOptions::merge_function`] and this name. Needed by transactions that call [`crate::WriteTxn::merge`] for
    /// such a table, and by nothing else. A second function with the same name takes the place of the first.
    ///
    /// The function gets the key, the value that the key has (`None` if it has none), and the operands that the
    /// transaction merges into the key, in the order of the calls. It returns the new value. The commit stores that
    /// value as an ordinary put: readers, recovery, backups and change feeds never call the function.
    ///
    /// - The engine calls the function in [`crate::WriteTxn::commit`], when the transaction reads a key that it merged
    ///   into, and in [`crate::WriteTxn::merge`] if the transaction itself put or deleted the key before.
    /// - If other transactions change the key while one commits, the engine calls the function again with the newer
    ///   value, and drops the older result. So the function has no effects, and decides by its arguments alone.
    /// - Other commits may wait while it runs: it is quick, and does not wait for other threads. It must not call the
    ///   database: beginning or committing a write transaction in it returns [`Error::Invalid`], as do calls that wait
    ///   for commits.
    /// - An error that it returns fails the call or the commit with [`Error::Unmergeable`], whose source is
    ///   [`Error::MergeFunction`]. So does a panic, which is caught. Nothing is changed then.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let path = directory.path().join("a.ful");
    /// use fulgurite::{Database, TableOptions};
    ///
    /// // Values are lists of words, in order, each once.
    /// let db = Database::options()
    ///     .create(true)
    ///     .merge_function("words", |_key, value, operands| {
    ///         let mut words: Vec<&str> = std::str::from_utf8(value.unwrap_or_default())?.split_whitespace().collect();
    ///         for operand in operands {
    ///             words.push(std::str::from_utf8(operand)?);
    ///         }
    ///         words.sort_unstable();
    ///         words.dedup();
    ///         Ok(words.join(" ").into_bytes())
    ///     })
    ///     .open(path)?;
    /// let tags = db.create_table("tags", TableOptions::new().merge_function("words"))?;
    /// db.update(|txn| {
    ///     txn.merge(&tags, "photo", "sea")?;
    ///     txn.merge(&tags, "photo", "island")
    /// })?;
    /// db.update(|txn| txn.merge(&tags, "photo", "sea"))?;
    /// assert_eq!(db.read()?.get(&tags, "photo")?.as_deref(), Some(&b"island sea"[..]));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn merge_function<F>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(&[u8], Option<&[u8]>, MergeOperands<'_>) -> MergeOutcome + Send + Sync + 'static,
    {
        Arc::make_mut(&mut self.merge_functions).register(name.into(), function);
        self
    }

    /// The disk to live on. Default: the operating system's.
    #[must_use]
    pub fn disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = disk;
        self
    }

    /// Whether a handle opened with `other` may stand for one opened with these.
    pub(crate) fn promises_same(&self, other: &Self) -> bool {
        self.read_only == other.read_only
            && self.durability == other.durability
            && self.isolation == other.isolation
            && self.max_size_bytes == other.max_size_bytes
            && self.map == other.map
            && self.keep_log_bytes == other.keep_log_bytes
            && self.write_set_bytes == other.write_set_bytes
            && (self.read_only || self.merge_functions.include(&other.merge_functions))
    }

    pub(crate) fn validate(&self) -> Result<()> {
        if !matches!(self.page_size_bytes, 8192 | 16384) {
            let message = format!("page_size_bytes is 8192 or 16384, not {}", self.page_size_bytes);
            return Err(Error::Invalid { message });
        }
        if self.delta_bytes < DELTA_BYTES_MIN {
            let message = format!("delta_bytes is at least {DELTA_BYTES_MIN}, not {}", self.delta_bytes);
            return Err(Error::Invalid { message });
        }
        if self.write_set_bytes < WRITE_SET_BYTES_MIN {
            let message = format!("write_set_bytes is at least {WRITE_SET_BYTES_MIN}, not {}", self.write_set_bytes);
            return Err(Error::Invalid { message });
        }
        self.merge_functions.names().try_for_each(validate_function_name)?;
        if self.create && self.read_only {
            let message = "a database cannot be created read-only; drop create or read_only".into();
            return Err(Error::Invalid { message });
        }
        Ok(())
    }
}

/// What a table is, fixed when it is created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    pub(crate) counted: bool,
    pub(crate) packed: bool,
    pub(crate) value_align: u8,
    pub(crate) key_type: String,
    pub(crate) value_type: String,
    pub(crate) multimap: bool,
    pub(crate) merge: Option<Merging>,
}

impl TableOptions {
    /// Plain byte strings, unaligned.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps exact counts of ranges cheap while commits wait to be merged: checkpoints look whether each key that
    /// changed was there. Default: off.
    #[must_use]
    pub fn counted(mut self, counted: bool) -> Self {
        self.counted = counted;
        self
    }

    /// Stores keys by what they have beyond the key before them: several times denser where keys that follow each other
    /// begin alike, as compound keys and lists do. A get goes a longer way, and a scan puts keys together. Values
    /// cannot be aligned then. Default: off.
    #[must_use]
    pub fn packed(mut self, packed: bool) -> Self {
        self.packed = packed;
        self
    }

    /// Aligns every value's address to 1 (the default), 4, 8 or 16 bytes, so that it can be read in place as a
    /// structure. Only values that lie in the map or the delta as they were put are aligned.
    #[must_use]
    pub fn value_align(mut self, bytes: u8) -> Self {
        self.value_align = bytes;
        self
    }

    /// Names the encoding of keys, for tools: a type of `fulgurite-keys`, such as `u64` or `(u32,string)`.
    #[must_use]
    pub fn key_type(mut self, name: impl Into<String>) -> Self {
        self.key_type = name.into();
        self
    }

    /// Names the encoding of values, for tools.
    #[must_use]
    pub fn value_type(mut self, name: impl Into<String>) -> Self {
        self.value_type = name.into();
        self
    }

    /// Makes the table a multimap, for tools that know its types at run time only; programs call
    /// [`crate::Database::multimap_table`].
    #[must_use]
    pub fn multimap(mut self) -> Self {
        self.multimap = true;
        self
    }

    /// Lets [`crate::WriteTxn::merge`] change values in this way. Transactions that merge into the same keys are never
    /// in conflict with each other. Where values are numbers, other lengths than theirs are refused. The operator is
    /// fixed when the table is created.
    #[must_use]
    pub fn merge(mut self, operator: MergeOperator) -> Self {
        self.merge = Some(Merging::Operator(operator));
        self
    }

    /// Lets [`crate::WriteTxn::merge`] change values by a function of the program: the one that the options with which
    /// the database is opened register under this name ([`Options::merge_function`], which has an example). As for
    /// [`TableOptions::merge`], which this replaces, transactions that merge into the same keys are never in conflict
    /// with each other.
    ///
    /// The table stores the name, which is fixed when the table is created: of at least 1 and at most 255 bytes. The
    /// values may have any type. Where no function of this name is registered, all but merging works as before; merging
    /// is [`Error::MergeFunctionMissing`]. Builds from before merge functions refuse a database that has such a table.
    #[must_use]
    pub fn merge_function(mut self, name: impl Into<String>) -> Self {
        self.merge = Some(Merging::Function(name.into()));
        self
    }

    pub(crate) fn validate(&self) -> Result<()> {
        if !matches!(self.value_align, 0 | 1 | 4 | 8 | 16) {
            let message = format!("value_align is 1, 4, 8 or 16 bytes, not {}", self.value_align);
            return Err(Error::Invalid { message });
        }
        if self.packed && self.value_align > 1 {
            let message = "values of a packed table cannot be aligned; leave packed or value_align away".into();
            return Err(Error::Invalid { message });
        }
        if self.key_type.len() > TYPE_NAME_BYTES_MAX || self.value_type.len() > TYPE_NAME_BYTES_MAX {
            let message = format!("a type name is at most {TYPE_NAME_BYTES_MAX} bytes");
            return Err(Error::Invalid { message });
        }
        self.merge.as_ref().map_or(Ok(()), |merging| self.validate_merge(merging))
    }

    fn validate_merge(&self, merging: &Merging) -> Result<()> {
        if self.multimap {
            let message = "a multimap has no values to merge; leave the merge operator away".into();
            return Err(Error::Invalid { message });
        }
        match merging {
            Merging::Operator(operator) if !merging.fits(&self.value_type) => {
                let (needs, given) = (operator.needs(), &self.value_type);
                let message = format!("the merge operator `{operator}` needs values that are {needs}, not `{given}`");
                Err(Error::Invalid { message })
            }
            Merging::Operator(_) => Ok(()),
            Merging::Function(name) => validate_function_name(name),
        }
    }
}

fn validate_function_name(name: &str) -> Result<()> {
    if !(1..=FUNCTION_NAME_BYTES_MAX).contains(&name.len()) {
        let message =
            format!("the name of a merge function has 1 to {FUNCTION_NAME_BYTES_MAX} bytes, not {}", name.len());
        return Err(Error::Invalid { message });
    }
    Ok(())
}

/// One for all databases of the process, so that the registry sees that they share a disk.
fn real_disk() -> Arc<dyn Disk> {
    static DISK: OnceLock<Arc<RealDisk>> = OnceLock::new();
    Arc::clone(DISK.get_or_init(|| Arc::new(RealDisk))) as Arc<dyn Disk>
}

fn default_delta_bytes() -> u64 {
    (memory_bytes() / 64).clamp(64 << 20, 384 << 20)
}

/// Page size of a new database.
pub(crate) const PAGE_SIZE_BYTES_DEFAULT: u32 = 16384;
/// Below this a delta could not hold one commit of moderate size.
const DELTA_BYTES_MIN: u64 = 64 << 10;
/// Memory of a transaction's changes before they are spilled.
const WRITE_SET_BYTES_DEFAULT: u64 = 64 << 20;
/// Less would spill almost each change by itself.
const WRITE_SET_BYTES_MIN: u64 = 1 << 10;
/// Longest name of a key or value type.
pub(crate) const TYPE_NAME_BYTES_MAX: usize = 1024;
/// Longest key: 64 MiB.
pub(crate) const KEY_BYTES_MAX: usize = 64 << 20;
/// Longest value: 4 GiB − 1.
pub(crate) const VALUE_BYTES_MAX: usize = u32::MAX as usize;
/// A value at least this long is written once, to an extent of its own; the log and the delta hold a reference.
pub(crate) const LARGE_VALUE_BYTES: usize = 64 << 10;
/// As [`LARGE_VALUE_BYTES`], where commits are not synced one by one.
pub(crate) const LARGE_VALUE_BYTES_UNSYNCED: usize = 8 << 20;
/// Longest name of a table.
pub(crate) const TABLE_NAME_BYTES_MAX: usize = 512;
