//! All options of the engine, with units and defaults.

use std::sync::OnceLock;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::format::{MergeOperator, Merging};
use crate::io::{Disk, RealDisk, memory_bytes};
use crate::merge_functions::{FUNCTION_NAME_BYTES_MAX, MergeFunctions, MergeOperands, MergeOutcome};
use crate::sync::Arc;

/// The failures that a commit survives once `commit` has returned.
///
/// If a commit is safe at some level, so is every commit before it. `docs/reference/durability.md` describes the levels
/// in detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// `commit` returns immediately, and the log is written later. A crash of the process can lose the newest commits.
    Memory,
    /// The commit is in the page cache of the operating system. It survives a crash of the process, but not a power
    /// cut.
    Log,
    /// The commit is on the disk. It survives a power cut.
    #[default]
    Disk,
}

/// The checks of a write transaction when it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// It commits only if no key, missing key or scanned range that it read has changed since its snapshot. The result
    /// is as if transactions ran one after the other.
    #[default]
    Serializable,
    /// It commits only if no key that it put, deleted or [guarded](crate::WriteTxn::guard) has changed since its
    /// snapshot. Keys that it only read or merged may have changed. Fewer transactions conflict, but two may each read
    /// what the other writes (write skew).
    Snapshot,
}

/// Options for opening a database. [`crate::Database::options`] returns the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) image: bool,
    pub(crate) salvage: bool,
    pub(crate) page_size_bytes: u32,
    pub(crate) cache_bytes: u64,
    pub(crate) delta_bytes: u64,
    write_set_bytes: Option<u64>,
    pub(crate) durability: Durability,
    pub(crate) isolation: Isolation,
    pub(crate) max_size_bytes: Option<u64>,
    pub(crate) map: bool,
    pub(crate) huge_pages: bool,
    pub(crate) background: bool,
    pub(crate) checkpoint_interval: Duration,
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
            image: false,
            salvage: false,
            page_size_bytes: PAGE_SIZE_BYTES_DEFAULT,
            cache_bytes: 64 << 20,
            delta_bytes: default_delta_bytes(),
            write_set_bytes: None,
            durability: Durability::Disk,
            isolation: Isolation::Serializable,
            max_size_bytes: None,
            map: true,
            huge_pages: true,
            background: true,
            checkpoint_interval: Duration::ZERO,
            keep_log_bytes: 0,
            wait_for_lock: Duration::ZERO,
            merge_functions: Arc::default(),
            disk: real_disk(),
        }
    }
}

impl Options {
    /// Creates the database if it does not exist. Default: `false`, so that a mistyped path is an error.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens the database for reading only. If another process has it open for writing, reads show that process's
    /// newest checkpoint; otherwise they show the newest commit. Nothing is written, not even after a crash. Default:
    /// `false`.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Whether [`Options::read_only`] is set.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Requires that the file is an image ([`crate::Database::write_image`]), and opens it for reading only. Default:
    /// `false`.
    ///
    /// [`Options::read_only`] alone opens images too. An image is decompressed where it is read, in parts of its block
    /// size. If the whole database would take at most half of the memory, and [`Options::map`] is set, each part is
    /// kept from its first read on, and later reads are as fast as those of a mapped file. Otherwise pages are kept in
    /// the cache of [`Options::cache_bytes`].
    #[must_use]
    pub fn image(mut self, image: bool) -> Self {
        self.image = image;
        self
    }

    /// Opens the database for reading only, even if its file was cut off, for example by an interrupted copy:
    /// [`crate::ReadTxn::salvage`] then reads the intact entries. Default: `false`.
    ///
    /// Reads of missing pages return [`crate::Error::Corrupt`], and so do backups. Opening returns it if the list of
    /// tables is missing, which is often near the end of the file: nothing can be read then. Images are not salvaged.
    #[must_use]
    pub fn salvage(mut self, salvage: bool) -> Self {
        self.salvage = salvage;
        self
    }

    /// Sets the page size of a new database: 8,192 or 16,384 bytes. Default: 16,384.
    #[must_use]
    pub fn page_size_bytes(mut self, bytes: u32) -> Self {
        self.page_size_bytes = bytes;
        self
    }

    /// Sets the size of the page cache, in bytes. It is used only if the file is not [mapped](Options::map), and for
    /// large [images](Options::image). Default: 64 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the memory that commits use before a checkpoint writes them to the trees of the file, in bytes. Default: a
    /// 64th of the memory of the machine or of the process's control group, but at least 64 MiB and at most 384 MiB.
    /// 384 MiB are about 2,000,000 changes of 130 bytes. At least 64 KiB; at most 8 GiB.
    ///
    /// Scattered changes to a large table are first written as runs, and the table is rewritten once for every few
    /// deltas. Doubling this memory halves that work.
    ///
    /// While a checkpoint runs, the same amount may be in use again, and twice the amount before commits wait. If write
    /// transactions last longer than a checkpoint, twice the amount more is kept to check them.
    #[must_use]
    pub fn delta_bytes(mut self, bytes: u64) -> Self {
        self.delta_bytes = bytes;
        self
    }

    /// Sets the memory for the changes of one write transaction, in bytes. Above it, changes are spilled: they are
    /// sorted and written to free space of the data file, where no other transaction sees them. Default: half of
    /// [`Options::delta_bytes`], but at least 64 MiB and at most 192 MiB. It is at least 1 KiB.
    ///
    /// So a transaction may have any size. Until its commit ends, a spilled transaction needs disk space for its
    /// changes twice. Reading spilled changes is as fast as reading stored entries, unless the file is not
    /// [mapped](Options::map): then filters are not used, and each key is looked up in all spilled parts.
    ///
    /// A transaction is also spilled when it commits, if the results of its merges take more memory than this.
    ///
    /// Committing a spilled transaction is like a bulk load. Other commits wait meanwhile. It is durable on disk when
    /// the commit returns, at every durability level. Transactions that began before it and used the same tables
    /// conflict with it ([`crate::ConflictReason::BulkLoad`]).
    #[must_use]
    pub fn write_set_bytes(mut self, bytes: u64) -> Self {
        self.write_set_bytes = Some(bytes);
        self
    }

    /// See [`Options::write_set_bytes`]. A commit of what fits costs less than a spill, and goes to the deltas.
    pub(crate) fn write_set_bytes_or_default(&self) -> u64 {
        self.write_set_bytes.unwrap_or_else(|| (self.delta_bytes / 2).clamp(64 << 20, 192 << 20))
    }

    /// Sets the durability of [`crate::WriteTxn::commit`]. Default: [`Durability::Disk`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the isolation of [`crate::Database::write`]. Default: [`Isolation::Serializable`].
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Limits the size of the data file, in bytes. Writes above the limit fail with [`Error::QuotaExceeded`]. Default:
    /// no limit.
    #[must_use]
    pub fn max_size_bytes(mut self, bytes: u64) -> Self {
        self.max_size_bytes = Some(bytes);
        self
    }

    /// Maps the file and the log into memory. Default: `true`.
    ///
    /// Without maps, the file is read through the cache of [`Options::cache_bytes`], and the log is written by system
    /// calls. Use this on media whose read errors must not become signals (`SIGBUS`).
    #[must_use]
    pub fn map(mut self, map: bool) -> Self {
        self.map = map;
        self
    }

    /// Requests huge pages for the map. Default: `true`. Without them, gets take about twice as long.
    #[must_use]
    pub fn huge_pages(mut self, huge_pages: bool) -> Self {
        self.huge_pages = huge_pages;
        self
    }

    /// Runs checkpoints on a background thread. Default: `true`.
    ///
    /// Without the thread, a checkpoint runs when [`crate::Database::checkpoint`] is called, or when a commit finds the
    /// delta full. Checkpoints then also merge runs, as far as needed to limit their number.
    #[must_use]
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// Limits the age of commits that no checkpoint has: when the oldest of them is older than `interval`, the
    /// background thread runs a checkpoint. Default: zero, which sets no limit.
    ///
    /// Another process sees only the newest checkpoint: a reader, a backup or an image that it makes. Without a limit,
    /// commits wait until they fill [`Options::delta_bytes`], which may take days. Readers in this process always see
    /// the newest commit, so the limit is off by default: a checkpoint costs several syncs of the disk and rewrites the
    /// pages that have changed.
    ///
    /// While nothing is committed, nothing is written, and the thread sleeps. If a checkpoint fails, it is tried again
    /// later. The option has no effect without [`Options::background`]. With [`Options::keep_log`], each checkpoint
    /// begins a segment of the log, which takes at least 16 KiB. If the process has the
    /// database open for writing already, the interval must be the same, or zero.
    #[must_use]
    pub fn checkpoint_interval(mut self, interval: Duration) -> Self {
        self.checkpoint_interval = interval;
        self
    }

    /// Sets how long opening for writing waits for another process or handle that has the database open for writing.
    /// Default: zero, so that opening returns [`Error::Locked`] at once. An opening always waits while another thread
    /// of this process drops the last handle of the database.
    #[must_use]
    pub fn wait_for_lock(mut self, at_most: Duration) -> Self {
        self.wait_for_lock = at_most;
        self
    }

    /// Retains this many bytes of log beyond what recovery needs, for [`crate::Database::changes`]. Default: 0, which
    /// retains nothing.
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
    /// [`TableOptions::merge_function`] and this name. Only transactions that call [`crate::WriteTxn::merge`] for such
    /// a table need it. A second function with the same name replaces the first.
    ///
    /// The function gets the key, the value that the key has (`None` if it has none), and the operands that the
    /// transaction merges into the key, in the order of the calls. It returns the new value. The commit stores that
    /// value as an ordinary put: readers, recovery, backups and change feeds never call the function.
    ///
    /// - The engine calls the function in [`crate::WriteTxn::commit`], when the transaction reads a key that it merged
    ///   into, and in [`crate::WriteTxn::merge`] if the transaction itself put or deleted the key before.
    /// - If other transactions change the key while one commits, the engine calls the function again with the newer
    ///   value, and drops the older result. So the function must have no side effects, and its result must depend only
    ///   on its arguments.
    /// - Other commits may wait while it runs, so it must be fast and must not wait for other threads. It must not call
    ///   the database: beginning or committing a write transaction in it returns [`Error::Invalid`], as do calls that
    ///   wait for commits.
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

    /// Sets the disk on which the files are. Default: the file systems of the operating system.
    #[must_use]
    pub fn disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = disk;
        self
    }

    /// Returns the disk on which the files are. Stores that keep files beside a database use it too.
    pub fn used_disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Whether a handle that was opened with `other` may be shared with one that is opened with these options.
    pub(crate) fn promises_same(&self, other: &Self) -> bool {
        self.read_only == other.read_only
            && self.salvage == other.salvage
            && self.durability == other.durability
            && self.isolation == other.isolation
            && self.max_size_bytes == other.max_size_bytes
            && self.map == other.map
            && self.keep_log_bytes == other.keep_log_bytes
            && (self.read_only
                || other.checkpoint_interval.is_zero()
                || self.checkpoint_interval == other.checkpoint_interval)
            && (self.write_set_bytes == other.write_set_bytes
                || self.write_set_bytes_or_default() == other.write_set_bytes_or_default())
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
        if self.delta_bytes > DELTA_BYTES_MAX {
            let message = format!("delta_bytes is at most {DELTA_BYTES_MAX}, not {}", self.delta_bytes);
            return Err(Error::Invalid { message });
        }
        let write_set_bytes = self.write_set_bytes_or_default();
        if write_set_bytes < WRITE_SET_BYTES_MIN {
            let message = format!("write_set_bytes is at least {WRITE_SET_BYTES_MIN}, not {write_set_bytes}");
            return Err(Error::Invalid { message });
        }
        self.merge_functions.names().try_for_each(validate_function_name)?;
        if self.create && (self.read_only || self.image || self.salvage) {
            let message = "a database cannot be created read-only; drop create or read_only".into();
            return Err(Error::Invalid { message });
        }
        Ok(())
    }
}

/// Options of a table, fixed when it is created.
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
    /// Returns the defaults: keys and values are byte strings, and values are not aligned.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps exact counts of ranges fast while runs wait to be merged. For that, checkpoints look up every changed key.
    /// Default: `false`.
    #[must_use]
    pub fn counted(mut self, counted: bool) -> Self {
        self.counted = counted;
        self
    }

    /// Stores only the part of each key that differs from the previous key. Keys with common prefixes, such as compound
    /// keys, take a fraction of the space. Gets and scans are slower, and values cannot be aligned. Default: `false`.
    #[must_use]
    pub fn packed(mut self, packed: bool) -> Self {
        self.packed = packed;
        self
    }

    /// Aligns the address of every value to 1, 4, 8 or 16 bytes, so that it can be read in place as a structure. The
    /// default is 1. Copied values, such as decoded ones and merge results, are not aligned.
    #[must_use]
    pub fn value_align(mut self, bytes: u8) -> Self {
        self.value_align = bytes;
        self
    }

    /// Sets the name of the keys' type, for tools: a type of `fulgurite-keys`, such as `u64` or `(u32,string)`.
    #[must_use]
    pub fn key_type(mut self, name: impl Into<String>) -> Self {
        self.key_type = name.into();
        self
    }

    /// Sets the name of the values' type, for tools.
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

    /// Sets the merge operator of [`crate::WriteTxn::merge`]. Transactions that merge into the same keys do not
    /// conflict with each other. If the values are numbers, operands of another length are errors.
    #[must_use]
    pub fn merge(mut self, operator: MergeOperator) -> Self {
        self.merge = Some(Merging::Operator(operator));
        self
    }

    /// Sets a function of the program as the merge operator of [`crate::WriteTxn::merge`]. [`Options::merge_function`]
    /// registers the function under this name each time that the database is opened, and has an example. It replaces
    /// [`TableOptions::merge`]. Transactions that merge into the same keys do not conflict with each other.
    ///
    /// The table stores the name (1 to 255 bytes), which is fixed when the table is created. The values may have any
    /// type. If no function with this name is registered, merges return [`Error::MergeFunctionMissing`], and everything
    /// else works. Versions without merge functions refuse to open a database with such a table.
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
            let message = "values of a packed table cannot be aligned; remove packed or value_align".into();
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
            let message = "a multimap has no values to merge; remove the merge operator".into();
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

/// The same for all databases of the process, so that the registry knows that they share a disk.
fn real_disk() -> Arc<dyn Disk> {
    static DISK: OnceLock<Arc<RealDisk>> = OnceLock::new();
    Arc::clone(DISK.get_or_init(|| Arc::new(RealDisk))) as Arc<dyn Disk>
}

fn default_delta_bytes() -> u64 {
    (memory_bytes() / 64).clamp(64 << 20, 384 << 20)
}

/// Page size of a new database.
pub(crate) const PAGE_SIZE_BYTES_DEFAULT: u32 = 16384;
/// Enough for a commit of moderate size.
const DELTA_BYTES_MIN: u64 = 64 << 10;
/// A delta may become twice as large before commits wait, and its references reach 32 GiB.
const DELTA_BYTES_MAX: u64 = 8 << 30;
/// Less would spill almost every change.
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
